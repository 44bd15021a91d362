// The modelled API server and the real one, asked the same: what tests in virtual time and the simulator prove rests on
// their agreeing. Uids and versions are told by when they first appear and how they move, times not at all.
#include <gmock/gmock.h>

#include <algorithm>

#include "api_test.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run_virtual.h"

namespace capstan::kube {
namespace {

using json::FindText;
using testing::ApiTest;
using Answer = Result<std::string>;

constexpr Resource kGears{"twin.capstan.test", "v1", "gears", "Gear", true};
constexpr std::string_view kGearCrd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"gears.twin.capstan.test"},"spec":{"group":"twin.capstan.test","scope":"Namespaced",
  "names":{"plural":"gears","singular":"gear","kind":"Gear","listKind":"GearList"},
  "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
    "schema":{"openAPIV3Schema":{"type":"object","properties":{
      "spec":{"type":"object","properties":{"teeth":{"type":"integer"},"colour":{"type":"string"}}},
      "status":{"type":"object","properties":{"turns":{"type":"integer"},"way":{"type":"string"}}}}}}}]}})";

// `members` come behind the name in metadata, `rest` behind metadata; both begin with a comma or are empty.
std::string Body(const Resource& resource, const std::string& name, const std::string& members,
                 const std::string& rest) {
  return R"({"apiVersion":")" + resource.ApiVersion() + R"(","kind":")" + std::string(resource.kind) +
         R"(","metadata":{"name":")" + name + "\"" + members + "}" + rest + "}";
}

std::string Joined(std::vector<std::string> parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// Fields that hold others and are nothing without them: the model does not know who owns those.
bool HoldsOthers(const std::string& field) {
  const auto holders = {"f:data/", "f:spec/", "f:status/", "f:metadata/f:labels/", "f:metadata/f:finalizers/"};
  return std::ranges::find(holders, field) != holders.end();
}

// The owners of an object's fields, and which they own.
std::string OwnersShown(const json::Value& object) {
  const json::Value* managed = json::Find(object, {"metadata", "managedFields"});
  if (!managed) return "nobody";
  std::vector<std::string> owners;
  for (const auto& [manager, owned] : testing::OwnersOf(*managed)) {
    std::vector<std::string> fields;
    for (std::string field : owned.fields) {
      std::ranges::replace(field, '\x1f', '/');
      if (!HoldsOthers(field)) fields.push_back(field);
    }
    if (fields.empty()) continue;
    owners.push_back(manager.name + " " + manager.operation + " " + manager.subresource + "(" + Joined(fields, " ") +
                     ")");
  }
  return owners.empty() ? "nobody" : Joined(owners, ", ");
}

// Plays calls to one of the two servers, and keeps what it answers as far as both must agree.
class Player {
 public:
  using Wait = std::function<Answer(async::Task<Answer>)>;
  Player(async::Loop& loop, Client& client, std::string ns, Wait wait)
      : ns(std::move(ns)), loop_(loop), client_(client), wait_(std::move(wait)) {}

  void Create(const Resource& resource, const std::string& name, const std::string& members = "",
              const std::string& rest = "") {
    Tell("create " + name + members + rest,
         client_.Create(resource, {ns, ""}, Body(resource, name, members, rest), {}, Soon()));
  }
  void Get(const Resource& resource, const std::string& name) {
    Tell("get " + name, client_.Get(resource, {ns, name}, {}, Soon()));
  }
  void Replace(const Resource& resource, const std::string& name, const std::string& members, const std::string& rest) {
    Tell("replace " + name + rest,
         client_.Replace(resource, {ns, name}, Body(resource, name, members, rest), {}, Soon()));
  }
  void Patch(const Resource& resource, const std::string& name, PatchType type, const std::string& patch,
             const std::string& subresource = "") {
    Tell("patch " + name + " " + subresource + " " + patch,
         client_.Patch(resource, {ns, name}, type, patch, {.subresource = subresource}, Soon()));
  }
  void Merge(const Resource& resource, const std::string& name, const std::string& patch,
             const std::string& subresource = "") {
    Patch(resource, name, PatchType::kMerge, patch, subresource);
  }
  void Apply(const Resource& resource, const std::string& name, const std::string& rest, ApplyOptions options,
             const std::string& members = "") {
    const std::string as = options.field_manager + " " + options.subresource;
    Tell("apply " + name + members + rest + " as " + as,
         client_.Apply(resource, {ns, name}, Body(resource, name, members, rest), std::move(options), Soon()));
  }
  void Delete(const Resource& resource, const std::string& name, DeleteOptions options = {}) {
    Tell("delete " + name, client_.Delete(resource, {ns, name}, std::move(options), Soon()));
  }
  void DeleteCollection(const Resource& resource, const std::string& labels) {
    Tell("delete all of " + labels,
         client_.DeleteCollection(resource, {.ns = ns, .label_selector = labels}, {}, Soon()));
  }
  void List(const Resource& resource, const std::string& labels, const std::string& fields = "") {
    Tell("list " + labels + fields,
         client_.List(resource, {.ns = ns, .label_selector = labels, .field_selector = fields}, Soon()));
  }
  // All pages of two.
  void ListPages(const Resource& resource) {
    ListOptions options{.ns = ns, .limit = 2};
    do {
      const Answer page = Tell("page", client_.List(resource, options, Soon()));
      if (!page) return;
      options.continue_token = FindText(*json::Parse(*page), {"metadata", "continue"});
    } while (!options.continue_token.empty());
  }
  // What a watch tells of the objects that `labels` select from `version` on, up to an object called `last`.
  void Watch(const Resource& resource, const std::string& labels, const std::string& version, const std::string& last) {
    const auto read = [](Client& client, Resource kind, WatchOptions options, std::string end,
                         async::Deadline deadline) -> async::Task<Answer> {
      CAPSTAN_CO_TRY(const auto stream, co_await client.OpenWatch(kind, std::move(options), deadline));
      std::string text;
      std::string buffer(10'000, '\0');
      while (text.find("\"name\":\"" + end + "\"") == text.npos || !text.ends_with('\n')) {
        CAPSTAN_CO_TRY(const size_t got, co_await stream->Read(buffer, deadline));
        if (got == 0) break;
        text += buffer.substr(0, got);
      }
      co_return text;
    };
    const Answer told = wait_(
        read(client_, resource, {.ns = ns, .label_selector = labels, .resource_version = version, .bookmarks = false},
             last, Soon()));
    ASSERT_TRUE(told) << told.error().message();
    for (const std::string_view line : Split(*told, '\n')) {
      const auto event = json::Parse(line);
      if (!event) continue;
      lines.push_back("event " + std::string(FindText(*event, {"type"})) + " " +
                      Shown(*json::Find(*event, {"object"})));
    }
  }

  // Of the object as it was answered last.
  const std::string& uid(const std::string& name) { return known_[name].uid; }
  const std::string& version(const std::string& name) { return known_[name].version; }

  const std::string ns;
  std::vector<std::string> lines;

 private:
  struct Known {
    std::string uid, version;
  };

  async::Deadline Soon() { return loop_.After(20s); }

  Answer Tell(const std::string& what, async::Task<Answer> call) {
    Answer answer = wait_(std::move(call));
    lines.push_back(what + "\n    -> " + Shown(answer));
    return answer;
  }
  std::string Shown(const Answer& answer) {
    if (answer) return Shown(*json::Parse(*answer));
    const FailedCall* call = FailedCallOf(answer.error());
    const std::string status = call ? " " + std::to_string(call->status) + " " + call->reason : "";
    return std::string(Name(answer.error().code())) + status;
  }
  std::string Shown(const json::Value& value) {
    const std::string kind(FindText(value, {"kind"}));
    if (kind == "Status") return "Status " + std::string(FindText(value, {"status"}));
    if (const json::Value* items = json::Find(value, {"items"})) {
      std::string names;
      for (const json::Value& item : items->get_array())
        names += " " + std::string(FindText(item, {"metadata", "name"}));
      return kind + names + (FindText(value, {"metadata", "continue"}).empty() ? "" : " and more");
    }
    const std::string name(FindText(value, {"metadata", "name"}));
    const std::string uid(FindText(value, {"metadata", "uid"}));
    const std::string version(FindText(value, {"metadata", "resourceVersion"}));
    std::string text = kind + " " + name;
    Known& known = known_[name];
    if (known.uid != uid)
      text += " new";
    else if (known.version != version)
      text += std::stoull(known.version) < std::stoull(version) ? " later" : " earlier";
    known = {uid, version};
    for (const auto member : {"generation", "labels", "finalizers", "deletionGracePeriodSeconds"}) {
      if (const json::Value* found = json::Find(value, {"metadata", member}))
        text += std::string(" ") + member + "=" + json::SerializeCanonical(*found);
    }
    if (!FindText(value, {"metadata", "deletionTimestamp"}).empty()) text += " ending";
    for (const auto member : {"data", "spec", "status"}) {
      const json::Value* found = json::Find(value, {member});
      if (found && !found->get_object().empty())
        text += std::string(" ") + member + "=" + json::SerializeCanonical(*found);
    }
    return text + " owners: " + OwnersShown(value);
  }

  async::Loop& loop_;
  Client& client_;
  Wait wait_;
  std::map<std::string, Known> known_;
};

// One call of any kind to one of four objects. Each has a label from the start: fields of an object that began without
// any are tracked by nobody.
void PlayAtRandom(Player& player, Random& random) {
  const bool is_gear = random.Percent(50);
  const Resource& kind = is_gear ? kGears : kConfigMaps;
  const std::string name = std::string(is_gear ? "gear-" : "map-") + (random.Percent(50) ? "a" : "b");
  const std::string value = std::to_string(1 + random.Below(3));
  const std::string content =
      is_gear ? (random.Percent(50) ? R"("spec":{"teeth":)" + value + "}" : R"("spec":{"colour":"c)" + value + "\"}")
              : R"("data":{")" + std::string(random.Percent(50) ? "k" : "j") + R"(":")" + value + "\"}";
  const std::string label = R"("labels":{"l":")" + value + "\"}";
  const bool other = random.Percent(30);
  switch (random.Below(11)) {
    case 0:
    case 1:
      return player.Create(kind, name, "," + label + (other ? R"(,"finalizers":["capstan.test/hold"])" : ""),
                           "," + content);
    case 2:
      return player.Merge(kind, name, "{" + content + "}");
    case 3:
      return player.Merge(kind, name, R"({"metadata":{)" + label + "}}");
    case 4:
      return player.Merge(kind, name,
                          R"({"metadata":{"finalizers":[)" + std::string(other ? "\"capstan.test/hold\"" : "") + "]}}");
    case 5:
      return player.Apply(kind, name, "," + content, {.field_manager = "one"}, R"(,"labels":{"one":"x"})");
    case 6:
      return player.Apply(kind, name, "," + content, {.field_manager = "two", .force = other},
                          R"(,"labels":{"two":"x"})");
    case 7:
      return player.Replace(kind, name, "," + label + R"(,"resourceVersion":")" + player.version(name) + "\"",
                            "," + content);
    case 8:
      return player.Delete(kind, name, {.uid = other ? "another" : player.uid(name)});
    case 9:
      return player.Merge(kind, name, R"({"status":{"turns":)" + value + "}}", "status");
    default:
      return player.Patch(kind, name, PatchType::kJson,
                          R"([{"op":"test","path":"/metadata/labels/l","value":")" + value +
                              R"("},{"op":"add","path":"/metadata/labels/m","value":"x"}])");
  }
}

class TwinTest : public ApiTest {
 protected:
  // Both play the same, and what they answer is compared call by call.
  void Compare(const std::function<void(Player&)>& play) {
    Player real(loop_, client(), ns_, [this](async::Task<Answer> call) { return Run(std::move(call)); });
    async::VirtualLoop virtual_loop;
    testing::FakeApiServer server(virtual_loop, 1);
    server.objects().Serve(kGears);
    Client fake_client(virtual_loop, server, {});
    Player fake(virtual_loop, fake_client, ns_,
                [&](async::Task<Answer> call) { return testing::RunVirtual(virtual_loop, std::move(call)); });
    play(real);
    play(fake);
    ASSERT_EQ(real.lines.size(), fake.lines.size());
    for (size_t i = 0; i < real.lines.size(); ++i) EXPECT_EQ("real: " + real.lines[i], "real: " + fake.lines[i]);
  }
  void ServeGears() {
    const Result<std::string> made =
        Run(client().Create(kCustomResourceDefinitions, {}, std::string(kGearCrd), {}, Soon()));
    ASSERT_TRUE(made || made.error().code() == Code::kAlreadyExists) << made.error().message();
    ASSERT_TRUE(UntilSaid(true, [this] { return MayList(client(), kGears, ns_, Soon()); }));
  }
};

TEST_F(TwinTest, WritesMoveVersionsAndAreRefusedAlike) {
  Compare([](Player& player) {
    const Resource& kind = kConfigMaps;
    player.Get(kind, "a");
    player.Create(kind, "a", R"(,"labels":{"l":"x"})", R"(,"data":{"k":"1"})");
    player.Create(kind, "a");
    player.Create(kind, "b", R"(,"resourceVersion":"7")");
    player.Get(kind, "b");
    player.Merge(kind, "a", R"({"data":{"k":"2","j":"x"}})");
    player.Merge(kind, "a", R"({"data":{"k":"2"}})");
    player.Merge(kind, "b", R"({"data":{"k":"2"}})");
    player.Merge(kind, "a", R"({"metadata":{"resourceVersion":"1"},"data":{"k":"3"}})");
    player.Merge(kind, "a", R"({"metadata":{"uid":"another"},"data":{"k":"3"}})");
    player.Merge(kind, "a", R"({"metadata":{"labels":null},"data":{"j":null}})");
    player.Patch(kind, "a", PatchType::kJson, R"([{"op":"test","path":"/data/k","value":"1"}])");
    player.Patch(kind, "a", PatchType::kJson, R"([{"op":"remove","path":"/data/none"}])");
    player.Patch(kind, "a", PatchType::kJson, R"([{"op":"add","path":"/data/n","value":"new"}])");
    player.Merge(kind, "a", R"({"data":{"k":"2"}})", "status");
    player.Replace(kind, "a", R"(,"resourceVersion":"1")", R"(,"data":{"k":"4"})");
    player.Replace(kind, "a", R"(,"resourceVersion":")" + player.version("a") + "\"", R"(,"data":{"k":"4"})");
    player.Replace(kind, "a", R"(,"resourceVersion":")" + player.version("a") + "\"", R"(,"data":{"k":"4"})");
    player.Replace(kind, "a", "", R"(,"data":{"k":"5"})");
    player.Replace(kind, "a", R"(,"uid":"another")", R"(,"data":{"k":"6"})");
    player.Replace(kind, "b", R"(,"resourceVersion":"1")", R"(,"data":{"k":"4"})");
    player.Get(kind, "a");
  });
}

TEST_F(TwinTest, ApplyGivesAndTakesTheSameFields) {
  Compare([](Player& player) {
    const Resource& kind = kConfigMaps;
    const ApplyOptions one{.field_manager = "one"}, two{.field_manager = "two"};
    const ApplyOptions polite{.field_manager = "two", .force = false};
    player.Apply(kind, "a", R"(,"data":{"k":"1","mine":"x"})", one, R"(,"labels":{"l":"x"})");
    player.Apply(kind, "a", R"(,"data":{"k":"1","mine":"x"})", one, R"(,"labels":{"l":"x"})");
    player.Apply(kind, "a", R"(,"data":{"k":"1"})", polite);
    player.Apply(kind, "a", R"(,"data":{"k":"2"})", polite);
    player.Apply(kind, "a", R"(,"data":{"k":"2"})", two);
    player.Merge(kind, "a", R"({"data":{"mine":"theirs"}})");
    player.Apply(kind, "a", R"(,"data":{"mine":"x"})", one);
    player.Apply(kind, "a", "", one);
    player.Apply(kind, "a", "", two);
    player.Apply(kind, "a", "", one, R"(,"uid":"another")");
    player.Apply(kind, "b", "", one, R"(,"uid":"another")");
    player.Apply(kind, "a", "", one, R"(,"managedFields":[{"manager":"x"}])");
    player.Get(kind, "a");
  });
}

TEST_F(TwinTest, GenerationCountsTheSpecAndStatusIsApart) {
  ServeGears();
  Compare([](Player& player) {
    const ApplyOptions one{.field_manager = "one"};
    const ApplyOptions status{.subresource = "status", .field_manager = "one"};
    player.Create(kGears, "a", "", R"(,"spec":{"teeth":1},"status":{"turns":1})");
    player.Merge(kGears, "a", R"({"spec":{"teeth":9},"status":{"turns":2}})", "status");
    player.Merge(kGears, "a", R"({"spec":{"teeth":2},"status":{"turns":3}})");
    player.Merge(kGears, "a", R"({"metadata":{"labels":{"l":"x"}}})");
    player.Merge(kGears, "a", R"({"status":{"turns":4}})");
    player.Apply(kGears, "a", R"(,"spec":{"colour":"red"},"status":{"turns":5})", one);
    player.Apply(kGears, "a", R"(,"spec":{"colour":"blue"},"status":{"way":"left"})", status);
    player.Apply(kGears, "a", R"(,"status":{"way":"left"})", status);
    player.Apply(kGears, "b", R"(,"status":{"turns":6})", status);
    player.Merge(kGears, "a", R"({"metadata":{"finalizers":["capstan.test/hold"]}})");
    player.Delete(kGears, "a");
    player.Merge(kGears, "a", R"({"spec":{"teeth":3}})");
    player.Merge(kGears, "a", R"({"metadata":{"finalizers":null}})");
    player.Get(kGears, "a");
  });
}

TEST_F(TwinTest, DeletionsHeedWhatTheyAreToldAndWhoHoldsOn) {
  Compare([](Player& player) {
    const Resource& kind = kConfigMaps;
    player.Delete(kind, "a");
    const std::string label = R"(,"labels":{"part":"other"})";
    player.Create(kind, "a", label);
    const std::string stale = player.version("a");
    player.Merge(kind, "a", R"({"data":{"k":"1"}})");
    player.Delete(kind, "a", {.uid = "another"});
    player.Delete(kind, "a", {.resource_version = stale});
    player.Delete(kind, "a", {.uid = player.uid("a"), .resource_version = player.version("a")});
    player.Get(kind, "a");
    player.Create(kind, "a", R"(,"finalizers":["capstan.test/hold"])");
    player.Delete(kind, "a");
    player.Delete(kind, "a");
    player.Create(kind, "a", label);
    player.Merge(kind, "a", R"({"metadata":{"finalizers":["capstan.test/hold","capstan.test/more"]}})");
    player.Merge(kind, "a", R"({"data":{"k":"2"}})");
    player.Merge(kind, "a", R"({"metadata":{"finalizers":[]}})");
    player.Get(kind, "a");
    player.Create(kind, "a", label);
    player.Delete(kind, "a", {.propagation = Propagation::kForeground});
    for (const char* name : {"x", "y"}) player.Create(kind, name, R"(,"labels":{"part":"twin"})");
    player.Create(kind, "z", label);
    player.DeleteCollection(kind, "part=twin");
    player.List(kind, "part=twin");
    player.Get(kind, "z");
  });
}

TEST_F(TwinTest, ListsSelectAndComeInPages) {
  Compare([](Player& player) {
    const Resource& kind = kConfigMaps;
    for (const char* name : {"e", "b", "d", "a", "c"}) {
      const std::string label = name < std::string("c") ? "low" : "high";
      player.Create(kind, name, R"(,"labels":{"l":")" + label + "\"}");
    }
    player.List(kind, "");
    player.List(kind, "l=low");
    player.List(kind, "l!=low");
    player.List(kind, "l in (low,none)");
    player.List(kind, "l notin (low)");
    player.List(kind, "!l");
    player.List(kind, "l");
    player.List(kind, "", "metadata.name=c");
    player.List(kind, "((");
    player.ListPages(kind);
  });
}

// What nobody thought of.
TEST_F(TwinTest, RandomCallsAreAnsweredAlike) {
  ServeGears();
  Compare([](Player& player) {
    Random random(1);
    for (int i = 0; i < 500; ++i) PlayAtRandom(player, random);
    player.List(kGears, "l in (1,2)");
    player.List(kConfigMaps, "one");
  });
}

TEST_F(TwinTest, ASelectiveWatchTellsTheSameEvents) {
  Compare([](Player& player) {
    const Resource& kind = kConfigMaps;
    player.Create(kind, "begin", R"(,"labels":{"l":"none"})");
    const std::string begin = player.version("begin");
    player.Create(kind, "out", R"(,"labels":{"l":"none"})");
    player.Create(kind, "in", R"(,"labels":{"l":"x"})");
    player.Merge(kind, "in", R"({"data":{"k":"1"}})");
    player.Merge(kind, "in", R"({"data":{"k":"1"}})");
    player.Merge(kind, "out", R"({"metadata":{"labels":{"l":"x"}}})");
    player.Merge(kind, "in", R"({"metadata":{"labels":{"l":"y"}},"data":{"k":"2"}})");
    player.Merge(kind, "in", R"({"data":{"k":"3"}})");
    player.Merge(kind, "out", R"({"metadata":{"finalizers":["capstan.test/hold"]}})");
    player.Delete(kind, "out");
    player.Merge(kind, "out", R"({"metadata":{"finalizers":null}})");
    player.Create(kind, "last", R"(,"labels":{"l":"x"})");
    player.Watch(kind, "l=x", begin, "last");
  });
}

}  // namespace
}  // namespace capstan::kube
