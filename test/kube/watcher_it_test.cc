// Watcher, Client and Store as a service uses them, against the real API server: whatever happens to the server, to the
// wire or to our rights, what the store shows in the end is what there is.
#include <gmock/gmock.h>

#include "api_test.h"
#include "kube/discovery.h"
#include "kube/testing/counted.h"
#include "kube/watch.h"
#include "net/testing/faulty_link.h"

namespace capstan::kube {
namespace {

using testing::Apiserver;
using testing::ApiTest;
using testing::ConfigMapJson;
using testing::Counted;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RealApiserver;
using Phase = WatchStatus::Phase;
using Names = std::vector<std::string>;

// An object with data, or the little that is left of one.
struct Item {
  json::ObjectMeta metadata;
  std::map<std::string, std::string> data;
  Counted counted;

  friend bool operator==(const Item&, const Item&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Item>({json::Field<&Item::metadata>("metadata"), json::Field<&Item::data>("data")});
    return schema;
  }
};

// A store of a resource, and what keeps it.
class Followed {
 public:
  Followed(async::Loop& loop, Client& client, Resource resource, Names namespaces, Watcher::Selection selection)
      : store(std::string(resource.plural)), group_(loop) {
    for (const std::string& ns : namespaces) {
      watchers_.push_back(
          std::make_unique<Watcher>(loop, client, resource, store.AddFeed(ns), selection, 1 + watchers_.size()));
      group_.Spawn("watch", watchers_.back()->Run());
    }
  }
  async::Task<bool> Stop() {
    group_.Cancel();
    co_await group_.Join();
    co_return true;
  }
  const WatchStatus& status() const { return watchers_[0]->status(); }
  bool Is(Phase phase) const { return status().phase == phase; }
  // "name" or "name=value of k", in order.
  Names Seen() const {
    Names seen;
    for (const Item& item : store.All()) {
      const auto value = item.data.find("k");
      seen.push_back(item.metadata.name + (value == item.data.end() ? "" : "=" + value->second));
    }
    return seen;
  }

  Store<Item> store;

 private:
  std::vector<std::unique_ptr<Watcher>> watchers_;
  async::TaskGroup group_;
};

// The order in which objects of one name were shown, by UID.
class Shown final : public StoreListener {
 public:
  void OnChange(const AnyStore&, const Change& change) override {
    uids.emplace_back(change.what == Change::What::kRemoved ? "" : change.uid);
  }
  void OnListed(const AnyStore&) override {}
  void OnSuspect(const AnyStore&) override { ADD_FAILURE() << "nothing was rewritten"; }
  Names uids;
};

class WatcherItTest : public ApiTest {
 protected:
  WatcherItTest() { user_ = Connected(Through(Apiserver().Admin())); }
  void TearDown() override {
    for (const auto& followed : followed_) Run(followed->Stop());
  }

  // The same server, over the link.
  Config Through(Config config) const {
    config.server.port = link_.port();
    return config;
  }
  Followed& Follow(Client& client, Resource resource, Names namespaces, Watcher::Selection selection = {}) {
    return *followed_.emplace_back(
        std::make_unique<Followed>(loop_, client, resource, std::move(namespaces), std::move(selection)));
  }
  // The test's ConfigMaps, over the link.
  Followed& FollowOwn() { return Follow(user_->client, kConfigMaps, {ns_}, {.label_selector = "part=it"}); }
  bool UntilIs(Followed& followed, Phase phase) {
    return Until([&] { return followed.Is(phase); }) || Explain(followed);
  }
  bool UntilSeen(Followed& followed, Names names) {
    return Until([&] { return followed.Seen() == names; }) || Explain(followed);
  }
  static bool Explain(const Followed& followed) {
    ADD_FAILURE() << "phase " << Name(followed.status().phase) << ", seen " << ::testing::PrintToString(followed.Seen())
                  << ", last error "
                  << (followed.status().last_error ? followed.status().last_error->message() : "none");
    return false;
  }
  // The plural of the resource that this kind is; "" when it is not served, the code of the error when nobody knows.
  async::Task<std::string> Found(std::string group, std::string kind) {
    const auto found = co_await FindResource(user_->client, std::move(group), std::move(kind), Soon());
    if (!found) co_return std::string(Name(found.error().code()));
    co_return *found ? (*found)->plural : "";
  }
  bool UntilFound(const Resource& resource, std::string_view wanted) {
    return UntilSaid(std::string(wanted),
                     [&] { return Found(std::string(resource.group), std::string(resource.kind)); });
  }
  void Change(const std::string& name, const std::string& value) {
    const Result<std::string> done = Run(
        client().Patch(kConfigMaps, KeyOf(name), PatchType::kMerge, R"({"data":{"k":")" + value + "\"}}", {}, Soon()));
    EXPECT_TRUE(done) << done.error().message();
  }
  void Break() {
    link_.Refuse(true);
    link_.Cut();
  }

  net::testing::FaultyLink link_{Apiserver().endpoint().port};
  std::unique_ptr<Connection> user_;
  Shown shown_;
  std::vector<std::unique_ptr<Followed>> followed_;
};

TEST_F(WatcherItTest, ShowsWhatHappens) {
  Created("a");
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilSeen(own, {"a"}));
  EXPECT_TRUE(own.Is(Phase::kLive));
  Created("b", R"({"k":"1"})");
  ASSERT_TRUE(UntilSeen(own, {"a", "b=1"}));
  Change("a", "2");
  Delete(kConfigMaps, KeyOf("b"));
  ASSERT_TRUE(UntilSeen(own, {"a=2"}));
  EXPECT_EQ(own.status().lists, 1u);
  EXPECT_EQ(own.status().failures, 0u);
}

TEST_F(WatcherItTest, SeveralNamespacesFeedOneStore) {
  const std::string second = ns_ + "-2", foreign = ns_ + "-3";
  CreateNamespace(second);
  CreateNamespace(foreign);
  Created("a");
  Followed& both = Follow(user_->client, kConfigMaps, {second, ns_}, {.label_selector = "part=it"});
  Create(kConfigMaps, {foreign, ""}, ConfigMapJson("x"));
  Create(kConfigMaps, {second, ""}, ConfigMapJson("b"));
  ASSERT_TRUE(UntilSeen(both, {"a", "b"}));
  EXPECT_TRUE(both.store.Synced());
  EXPECT_EQ(both.store.InNamespace(second).size(), 1u);
}

TEST_F(WatcherItTest, AMetadataOnlyStoreNeverHoldsTheRest) {
  Created("a", R"({"k":"secret"})");
  Followed& heads = Follow(user_->client, kConfigMaps, {ns_}, {.label_selector = "part=it", .metadata_only = true});
  ASSERT_TRUE(UntilSeen(heads, {"a"}));
  EXPECT_EQ(heads.store.All()[0].metadata.Label("part"), "it");
  Created("b", R"({"k":"secret"})");
  ASSERT_TRUE(UntilSeen(heads, {"a", "b"}));
}

TEST_F(WatcherItTest, ABrokenConnectionResumesWhereItWas) {
  Created("a");
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilSeen(own, {"a"}));
  Break();
  ASSERT_TRUE(UntilIs(own, Phase::kRetrying));
  Created("b");
  Delete(kConfigMaps, KeyOf("a"));
  EXPECT_EQ(own.Seen(), Names{"a"}) << "what was known stays until more is known";
  link_.Heal();
  ASSERT_TRUE(UntilSeen(own, {"b"}));
  EXPECT_EQ(own.status().lists, 1u);
}

TEST_F(WatcherItTest, ACutAtAnyByteLosesNothing) {
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilIs(own, Phase::kLive));
  Names all;
  for (const size_t bytes : {1u, 400u, 1500u, 3000u, 3300u}) {  // in an event, in the handshake, in the answer's header
    const uint64_t failures = own.status().failures;
    link_.CutAfter(bytes);
    all.push_back("after-" + std::to_string(10'000 + bytes));
    Created(all.back());
    link_.Cut();  // what was open had less to say than that
    ASSERT_TRUE(Until([&] { return own.status().failures > failures; })) << bytes;
  }
  link_.Heal();
  ASSERT_TRUE(UntilSeen(own, all));
  EXPECT_FALSE(own.store.Suspect());
}

TEST_F(WatcherItTest, ARestartedServerIsFollowedOn) {
  Created("a");
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilSeen(own, {"a"}));
  Apiserver().StopApiserver(true);
  ASSERT_TRUE(UntilIs(own, Phase::kRetrying));
  const Result<void> back = Apiserver().StartApiserver();
  ASSERT_TRUE(back) << back.error().message();
  Delete(kConfigMaps, KeyOf("a"));
  Created("b");
  ASSERT_TRUE(UntilSeen(own, {"b"}));
  EXPECT_TRUE(own.Is(Phase::kLive));
}

TEST_F(WatcherItTest, ACompactionLosesNothing) {
  Created("changed", R"({"k":"1"})");
  Created("deleted");
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilSeen(own, {"changed=1", "deleted"}));
  Break();
  ASSERT_TRUE(UntilIs(own, Phase::kRetrying));
  Change("changed", "2");
  Delete(kConfigMaps, KeyOf("deleted"));
  Created("created");
  ASSERT_TRUE(Apiserver().CompactEtcd());
  Apiserver().StopApiserver();  // its cache would still know
  ASSERT_TRUE(Apiserver().StartApiserver());
  link_.Heal();
  ASSERT_TRUE(UntilSeen(own, {"changed=2", "created"}));
  EXPECT_EQ(own.status().lists, 2u);
  ASSERT_TRUE(own.status().last_error);
  EXPECT_EQ(Name(own.status().last_error->code()), Name(Code::kGone));
  EXPECT_FALSE(own.store.Suspect()) << "history was forgotten, not rewritten";
}

// --- Rights ----------------------------------------------------------------------------------------------------------

constexpr Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role", true};
constexpr Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true};

TEST_F(WatcherItTest, WithoutTheRightItWaitsForIt) {
  Created("a");
  user_ = Connected(Through(Apiserver().User("reader-" + ns_)));
  Followed& own = Follow(user_->client, kConfigMaps, {ns_}, {.label_selector = "part=it"});
  ASSERT_TRUE(UntilIs(own, Phase::kForbidden));
  EXPECT_THAT(own.status().error->message(), HasSubstr("cannot watch resource \"configmaps\""));
  EXPECT_FALSE(own.store.Synced());

  const std::string api = R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":)";
  Create(kRoles, {ns_, ""},
         api + R"("Role","metadata":{"name":"read"},"rules":[{"apiGroups":[""],"resources":["configmaps"],)" +
             R"("verbs":["get","list","watch"]}]})");
  const std::string binding =
      api + R"("RoleBinding","metadata":{"name":"read"},"roleRef":{"apiGroup":)" +
      R"("rbac.authorization.k8s.io","kind":"Role","name":"read"},"subjects":[{"kind":"User",)" +
      R"("apiGroup":"rbac.authorization.k8s.io","name":"reader-)" + ns_ + R"("}]})";
  Create(kRoleBindings, {ns_, ""}, binding);
  ASSERT_TRUE(UntilSeen(own, {"a"}));

  // Rights are looked at when a watch is opened: taken away, they are missed at the next one.
  Delete(kRoleBindings, KeyOf("read"));
  ASSERT_TRUE(UntilSaid(false, [this] { return MayList(user_->client, kConfigMaps, ns_, Soon()); }));
  link_.Cut();
  ASSERT_TRUE(UntilIs(own, Phase::kForbidden));
  Created("b");
  EXPECT_EQ(own.Seen(), Names{"a"}) << "not being told is no proof of absence";
  Create(kRoleBindings, {ns_, ""}, binding);
  ASSERT_TRUE(UntilSeen(own, {"a", "b"}));
  EXPECT_TRUE(own.Is(Phase::kLive));
}

// --- Kinds that come and go ------------------------------------------------------------------------------------------

constexpr Resource kGadgets{"watched.capstan.test", "v1", "gadgets", "Gadget", true};
constexpr std::string_view kGadgetCrd = R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
  "metadata":{"name":"gadgets.watched.capstan.test"},"spec":{"group":"watched.capstan.test","scope":"Namespaced",
  "names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},
  "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
    "x-kubernetes-preserve-unknown-fields":true}}}]}})";

std::string Gadget(const std::string& name) {
  return R"({"apiVersion":"watched.capstan.test/v1","kind":"Gadget","metadata":{"name":")" + name + "\"}}";
}

TEST_F(WatcherItTest, ACrdThatComesAndGoesIsFollowedThroughAllOfIt) {
  Followed& gadgets = Follow(user_->client, kGadgets, {ns_});
  EXPECT_TRUE(UntilFound(kGadgets, ""));
  ASSERT_TRUE(UntilIs(gadgets, Phase::kNotServed));
  EXPECT_FALSE(gadgets.store.Synced());
  for (const std::string name : {"first", "second"}) {
    Create(kCustomResourceDefinitions, {}, std::string(kGadgetCrd));
    ASSERT_TRUE(UntilIs(gadgets, Phase::kLive));
    EXPECT_TRUE(UntilFound(kGadgets, "gadgets"));
    EXPECT_THAT(gadgets.Seen(), IsEmpty());
    Create(kGadgets, {ns_, ""}, Gadget(name));
    ASSERT_TRUE(UntilSeen(gadgets, {name}));
    Delete(kCustomResourceDefinitions, {"", "gadgets.watched.capstan.test"});
    ASSERT_TRUE(UntilIs(gadgets, Phase::kNotServed));
    EXPECT_THAT(gadgets.Seen(), IsEmpty()) << "objects are deleted with their kind";
    ASSERT_TRUE(UntilFound(kGadgets, ""));
  }
}

constexpr Resource kApiServices{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false};
constexpr Resource kFars{"far.capstan.test", "v1", "fars", "Far", true};

TEST_F(WatcherItTest, AnAggregatedApiThatIsDownHarmsNothingElse) {
  Create(kServices, {ns_, ""},
         R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"nobody"},"spec":)"
         R"({"ports":[{"port":443}]}})");
  Create(kApiServices, {},
         R"({"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":)"
         R"({"name":"v1.far.capstan.test"},"spec":{"group":"far.capstan.test","version":"v1",)"
         R"("groupPriorityMinimum":1000,"versionPriority":10,"insecureSkipTLSVerify":true,)"
         R"("service":{"name":"nobody","namespace":")" +
             ns_ + R"("}}})");
  Followed& fars = Follow(user_->client, kFars, {ns_});
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilFound(kFars, Name(Code::kUnavailable))) << "not absent: nobody knows";
  EXPECT_EQ(Run(Found("", "ConfigMap")), "configmaps");
  EXPECT_EQ(Run(Found("apps", "Deployment")), "deployments");
  ASSERT_TRUE(UntilIs(fars, Phase::kRetrying));
  EXPECT_FALSE(fars.store.Synced());
  Created("a");
  ASSERT_TRUE(UntilSeen(own, {"a"}));
  EXPECT_EQ(own.status().failures, 0u);

  Delete(kApiServices, {"", "v1.far.capstan.test"});
  ASSERT_TRUE(UntilFound(kFars, ""));
  ASSERT_TRUE(UntilIs(fars, Phase::kNotServed));
}

// --- Our own writes --------------------------------------------------------------------------------------------------

TEST_F(WatcherItTest, LateEventsAndAnswersNeverShowAnOlderNamesake) {
  Followed& own = FollowOwn();
  ASSERT_TRUE(UntilIs(own, Phase::kLive));
  own.store.SetListener(&shown_);
  link_.Hold(true);  // what the watch says comes late; our own calls go another way

  const std::string first = Create(kConfigMaps, {ns_, ""}, ConfigMapJson("a"));
  const std::string first_uid = json::Decode<Item>(first)->metadata.uid;
  ASSERT_TRUE(own.store.Answered(first, loop_.Now()).value_or(false));
  Delete(kConfigMaps, KeyOf("a"));
  own.store.Deleted(KeyOf("a"), first_uid, loop_.Now());
  EXPECT_THAT(own.Seen(), IsEmpty());
  const std::string second = Create(kConfigMaps, {ns_, ""}, ConfigMapJson("a"));
  const json::ObjectMeta second_meta = json::Decode<Item>(second)->metadata;
  ASSERT_TRUE(own.store.Answered(second, loop_.Now()).value_or(false));
  EXPECT_FALSE(own.store.Answered(first, loop_.Now()).value_or(true)) << "an answer that comes after all";

  link_.Hold(false);
  Feed& feed = *own.store.FeedFor(ns_);
  ASSERT_TRUE(Until([&] { return feed.frontier() >= second_meta.resource_version; }));
  EXPECT_THAT(shown_.uids, ElementsAre(first_uid, "", second_meta.uid));
  EXPECT_EQ(own.store.counts().provisional, 0u);
  EXPECT_EQ(own.store.counts().tombstones, 0u);
}

// --- Many ------------------------------------------------------------------------------------------------------------

TEST_F(WatcherItTest, TenThousandObjectsAreListedFollowedAndHeldOnce) {
  constexpr int kCount = 10'000, kWriters = 8;
  const auto write = [](Client& client, std::string ns, int from, async::Loop& loop) -> async::Task<void> {
    for (int i = from; i < kCount; i += kWriters) {
      const std::string object = ConfigMapJson("m" + std::to_string(10'000 + i), R"({"k":"v"})");
      const auto done = co_await client.Create(kConfigMaps, {ns, ""}, object, {}, loop.After(60s));
      EXPECT_TRUE(done) << done.error().message();
    }
  };
  const auto join = [](async::TaskGroup& group) -> async::Task<bool> {
    co_await group.Join();
    co_return true;
  };
  async::TaskGroup writers(loop_);
  for (int i = 0; i < kWriters; ++i) writers.Spawn("write", write(client(), ns_, i, loop_));
  Run(join(writers));

  Followed& own = FollowOwn();
  ASSERT_TRUE(Until([&] { return own.store.Synced(); }));
  EXPECT_EQ(own.store.size(), size_t(kCount));
  EXPECT_LT(own.store.counts().bytes / kCount, 1500u) << "of an object with a name, a label and one value";
  Counted::most = Counted::now;
  own.store.AskRelist();
  ASSERT_TRUE(Until([&] { return own.status().lists == 2 && own.Is(Phase::kLive); }));
  EXPECT_EQ(own.store.size(), size_t(kCount));
  EXPECT_LT(Counted::most, size_t(kCount) + 100) << "a list that replaces one is never held beside it";

  for (int i = 0; i < 100; ++i) Change("m" + std::to_string(10'000 + 97 * i), "changed");
  ASSERT_TRUE(Until([&] {
    size_t changed = 0;
    for (const Item& item : own.store.All()) changed += item.data.at("k") == "changed";
    return changed == 100;
  }));
  EXPECT_EQ(own.status().failures, 0u);
}

}  // namespace
}  // namespace capstan::kube
