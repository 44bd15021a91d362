#include "render/render.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "api/conditions.h"
#include "api/nodeset.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "kube/client.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/ssh_files.h"
#include "operator/token/questions.h"
#include "plan/engine.h"
#include "plan/services.h"
#include "render/offline_server.h"

namespace capstan::render {
namespace {

namespace bj = boost::json;
using async::Task;

constexpr int kMostRounds = 40;
constexpr int kQuietRounds = 3;         // of which the last decides that nothing more is wanted
constexpr Duration kRoundTime = 5s;     // longer than a Decide waits for a configuration to stand still
constexpr Duration kCallTimeout = 20s;  // of one read
constexpr std::string_view kUidPrefix = "in-a-file-";
constexpr std::string_view kStandIn = "not known";

// The uid of what comes from a file tells where it is from, so that it is never printed.
bool IsInvented(std::string_view uid) { return uid.starts_with(kUidPrefix); }

struct StatusConditions {
  json::Conditions conditions;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<StatusConditions>({json::Field<&StatusConditions::conditions>("conditions")});
    return schema;
  }
};

// What is decided, and what came of it.
struct Unit {
  const op::Kind* kind;
  kube::Key key;
  std::map<std::string, Tick> facts;
  plan::Plan plan;
  std::map<std::string, std::string> applied;  // bodies, by kind and key
  std::vector<json::Value> made;               // besides children, as they were sent; no Secrets
  bool has_worker = false;

  std::string ToString() const { return std::string(kind->resource->kind) + " " + key.ToString(); }
};

// The keys of each Secret and ConfigMap that a custom resource names: wherever it has a name and a key side by side.
void FindNamedKeys(const json::Value& value, std::map<std::string, std::set<std::string>>& keys) {
  if (const auto* list = value.if_array()) {
    for (const json::Value& element : *list) FindNamedKeys(element, keys);
  }
  const auto* object = value.if_object();
  if (object == nullptr) return;
  const std::string_view name = json::FindText(value, {"name"}), key = json::FindText(value, {"key"});
  if (!name.empty() && !key.empty()) keys[std::string(name)].insert(std::string(key));
  for (const auto& member : *object) FindNamedKeys(member.value(), keys);
}

class Rendering {
 public:
  Rendering(async::Loop& loop, Options options)
      : loop_(loop),
        options_(std::move(options)),
        server_(options_.cluster),
        client_(loop, server_, {.tries = 1}),
        clusters_(
            loop, client_, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1),
        services_{.loop = loop,
                  .client = client_,
                  .stores = stores_,
                  .memo = memo_,
                  .slurm = clusters_,
                  .field_manager = std::string(op::kFieldManager),
                  .entropy = [](size_t bytes) { return Secret(std::string(bytes, 'x')); }} {
    op::AddStores(stores_);
    for (const plan::Stores::Entry& entry : stores_.all()) entry.store->AddFeed("");
  }

  Task<Result<Rendered>> Run(std::vector<json::Value> files) {
    for (json::Value& file : files) CAPSTAN_CO_CHECK_OK(co_await Take(std::move(file)));
    if (units_.empty()) co_return Fail(Code::kInvalid, "there is no custom resource of Capstan to render");
    CAPSTAN_CO_CHECK_OK(co_await Settle());
    if (NameMissing()) CAPSTAN_CO_CHECK_OK(co_await Settle());
    for (const Unit& unit : units_) Collect(unit);
    NameMade();
    co_return std::move(rendered_);
  }

 private:
  // --- What is there -------------------------------------------------------------------------------------------------

  Task<Result<void>> Take(json::Value object) {
    const std::string_view version = json::FindText(object, {"apiVersion"}), kind = json::FindText(object, {"kind"});
    const op::Kind* own = nullptr;
    for (const op::Kind* candidate : op::Kinds()) {
      if (version.substr(0, version.find('/')) == candidate->resource->group && kind == candidate->resource->kind)
        own = candidate;
    }
    if (own == nullptr) {
      server_.Put(std::move(object), options_.ns);
      co_return Result<void>();
    }
    bj::object& metadata = json::MakeObject(object, {"metadata"});
    if (!metadata.contains("namespace")) metadata["namespace"] = options_.ns;
    const kube::Key key{std::string(metadata["namespace"].as_string()), std::string(metadata["name"].as_string())};
    Unit unit{.kind = own, .key = key, .facts = {}, .plan = {}, .applied = {}};
    if (version != own->resource->ApiVersion()) {
      rendered_.problems.push_back(unit.ToString() + " is of version " + std::string(version) +
                                   "; this program reads " + own->resource->ApiVersion());
      co_return Result<void>();
    }
    metadata["uid"] = std::string(kUidPrefix) + std::to_string(units_.size());
    metadata["generation"] = 1;
    if (options_.cluster != nullptr) CAPSTAN_CO_CHECK_OK(co_await AddWhatIsThere(*own->resource, key, object));
    if (!Show(*own->resource, object, rendered_.problems, unit.ToString())) co_return Result<void>();
    std::map<std::string, std::set<std::string>> keys;
    if (const json::Value* spec = json::Find(object, {"spec"})) FindNamedKeys(*spec, keys);
    for (auto& [name, named] : keys) named_keys_[{key.ns, name}].merge(named);
    units_.push_back(std::move(unit));
    co_return Result<void>();
  }

  // Whose children those on the cluster are, how far they are, and how many a person or an autoscaler wants where the file leaves it
  // open.
  Task<Result<void>> AddWhatIsThere(kube::Resource resource, kube::Key key, json::Value& object) {
    const auto text = co_await client_.Get(resource, key, {}, loop_.After(kCallTimeout));
    if (!text) co_return text.error().code() == Code::kNotFound ? Result<void>() : Fail(text.error());
    CAPSTAN_CO_TRY(const json::Value live, json::Parse(*text));
    json::MakeObject(object, {"metadata"})["uid"] = json::FindText(live, {"metadata", "uid"});
    if (const json::Value* status = json::Find(live, {"status"})) object.as_object()["status"] = *status;
    const json::Value* replicas = json::Find(live, {"spec", "replicas"});
    bj::object& spec = json::MakeObject(object, {"spec"});
    if (replicas != nullptr && !spec.contains("replicas")) spec["replicas"] = *replicas;
    co_return Result<void>();
  }

  bool Show(const kube::Resource& resource, const json::Value& object, std::vector<std::string>& problems,
            const std::string& what) {
    json::Value shown = object;
    bj::object& metadata = json::MakeObject(shown, {"metadata"});
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = std::string(kUidPrefix) + what;
    kube::AnyStore* store = stores_.Find(resource);
    if (store == nullptr) return false;
    const auto answered = store->Answered(bj::serialize(shown), tick_);
    if (!answered) problems.push_back(what + ": " + answered.error().message());
    return answered.has_value();
  }

  // --- Rounds --------------------------------------------------------------------------------------------------------

  Task<Result<void>> Settle() {
    int quiet = 0;
    for (int round = 0; round < kMostRounds && quiet < kQuietRounds; ++round) {
      bool changed = false;
      for (Unit& unit : units_) {
        CAPSTAN_CO_TRY(const bool changes, co_await Decide(unit));
        changed |= changes;
      }
      quiet = changed ? 0 : quiet + 1;
      tick_ += kRoundTime;
    }
    co_return Result<void>();
  }

  // True: something is there that was not before.
  Task<Result<bool>> Decide(Unit& unit) {
    const plan::World world({.now = loop_.WallNow(),
                             .tick = tick_,
                             .stores = &stores_,
                             .slurm = [](const std::string&) { return plan::SlurmLook(); },
                             .answers = &answers_,
                             .in_flight = {},
                             .failures = {},
                             .held_since = unit.facts,
                             .settings = &options_.settings});
    unit.plan = unit.kind->decide(world, unit.key);
    unit.facts = world.facts();
    bool changed = false;
    for (const plan::Child& child : unit.plan.children) changed |= Apply(unit, child);
    for (const plan::Action& action : unit.plan.actions) changed |= co_await Make(unit, action);
    for (const plan::Asked& asked : world.asked()) {
      CAPSTAN_CO_TRY(const bool news, co_await Answer(asked.question));
      changed |= news;
    }
    co_return changed;
  }

  bool Apply(Unit& unit, const plan::Child& child) {
    std::string& last = unit.applied[std::string(child.resource->kind) + " " + child.key.ToString()];
    if (last == child.body) return false;
    last = child.body;
    if (const auto body = json::Parse(child.body)) Show(*child.resource, *body, rendered_.problems, unit.ToString());
    return true;
  }

  // Creations alone, each once; of the workers of a NodeSet the first, which stands for all. A ControllerRevision says once
  // more what a NodeSet says.
  Task<bool> Make(Unit& unit, const plan::Action& action) {
    const std::string target = action.effect->target();
    const bool secret = target.starts_with("Secret ");
    const bool creates = action.effect->verb() == "create" || (secret && action.effect->verb() == "write");
    if (!creates || target.starts_with("ControllerRevision ") || made_.contains(target) || (unit.has_worker && !secret))
      co_return false;
    const size_t before = server_.created().size();
    if (!co_await action.effect->Run(services_, loop_.After(kCallTimeout))) co_return false;
    if (!secret && server_.created().size() > before) unit.made.push_back(server_.created().back());
    if (target.starts_with("Pod ")) unit.has_worker = true;
    made_.insert(target);
    co_return true;
  }

  Task<Result<bool>> Answer(std::shared_ptr<const plan::Question> question) {
    plan::Answers::Entry& entry = answers_.entries()[question->id()];
    const bool first = entry.state == plan::AnswerState::kPending;
    // A token that has been written is one of nobody's.
    if (!first && dynamic_cast<const op::token::IssuedToken*>(question.get()) != nullptr) co_return false;
    const plan::AnswerState before = entry.state;
    const uint64_t digest = entry.digest;
    if (IsOfStandIn(*question)) {
      entry.value = std::make_shared<const std::string>();
      entry.state = plan::AnswerState::kKnown;
      co_return before != entry.state;
    }
    auto fetched = co_await question->Fetch(services_, loop_.After(kCallTimeout));
    entry.fetched_at = tick_;
    if (!fetched) {
      if (options_.cluster != nullptr) co_return Fail(fetched.error());
      entry.state = plan::AnswerState::kFailed;
      entry.error = fetched.error().message();
    } else if (!*fetched) {
      entry.state = plan::AnswerState::kAbsent;
    } else {
      entry.state = plan::AnswerState::kKnown;
      entry.value = (*fetched)->value;
      entry.digest = (*fetched)->digest;
    }
    co_return before != entry.state || digest != entry.digest;
  }

  // What such a Secret holds is not what it will hold.
  bool IsOfStandIn(const plan::Question& question) const {
    const auto is_made = [&](const kube::Key& secret) {
      return server_.IsMade({std::string(kube::kSecrets.plural), secret});
    };
    if (const auto* sssd = dynamic_cast<const op::SssdFile*>(&question)) return is_made(sssd->secret);
    if (const auto* host_keys = dynamic_cast<const op::HostKeyFiles*>(&question)) return is_made(host_keys->secret);
    return false;
  }

  // --- What is told --------------------------------------------------------------------------------------------------

  // In their place stand-ins are put, so that what depends on them can be shown: true.
  bool NameMissing() {
    const auto missing = server_.missing();
    bool put = false;
    for (const auto& [name, error] : missing) {
      const kube::Resource* resource = NamedResource(name.plural);
      if (resource == nullptr) continue;
      const std::set<std::string>& keys = named_keys_[name.key];
      std::string sentence = std::string(resource->kind) + " " + name.key.ToString();
      if (!keys.empty()) sentence += " (" + Join(std::vector(keys.begin(), keys.end()), ", ") + ")";
      sentence += !error.empty()                ? " is not in the files, and cannot be read: " + error
                  : options_.cluster != nullptr ? " is neither in the files nor on the cluster"
                                                : " is not in the files";
      rendered_.missing.push_back(sentence);
      put = true;
      const bool is_claim = resource == &kube::kPersistentVolumeClaims;
      if (!is_claim) rendered_.stand_ins = true;
      if (!server_.IsMade(name)) server_.PutMade(name, is_claim ? StandInClaim() : StandIn(*resource, keys));
    }
    return put;
  }

  // What files name, and others make.
  static const kube::Resource* NamedResource(std::string_view plural) {
    for (const kube::Resource* resource : {&kube::kSecrets, &kube::kConfigMaps, &kube::kPersistentVolumeClaims}) {
      if (resource->plural == plural) return resource;
    }
    return nullptr;
  }

  static json::Value StandIn(const kube::Resource& resource, const std::set<std::string>& keys) {
    bj::object data;
    for (const std::string& key : keys) {
      if (&resource == &kube::kSecrets)
        data[key] = Base64(kStandIn);
      else
        data[key] = R"({"keys":[{}]})";  // the only files of a ConfigMap that are named by key are of JWKS
    }
    return bj::object{{"data", std::move(data)}};
  }

  static json::Value StandInClaim() {
    return bj::object{{"spec", bj::object{{"accessModes", bj::array{"ReadWriteMany"}}}}};
  }

  void NameMade() {
    for (const json::Value& object : server_.created()) {
      const kube::Key secret{std::string(json::FindText(object, {"metadata", "namespace"})),
                             std::string(json::FindText(object, {"metadata", "name"}))};
      const bool is_secret = json::FindText(object, {"kind"}) == kube::kSecrets.kind;
      if (!is_secret || server_.missing().contains({std::string(kube::kSecrets.plural), secret})) continue;
      rendered_.stand_ins = true;
      std::vector<std::string> keys;
      if (const json::Value* data = json::Find(object, {"data"})) {
        for (const auto& member : data->as_object()) keys.emplace_back(member.key());
      }
      rendered_.notes.push_back("Secret " + secret.ToString() + " (" + Join(keys, ", ") +
                                ") is made by the operator, with values that nobody knows before");
    }
  }

  void Collect(const Unit& unit) {
    for (const plan::Child& child : unit.plan.children) {
      if (auto body = json::Parse(child.body)) Add(*child.resource, child.key, *std::move(body));
    }
    CollectWorkers(unit);
    Explain(unit);
  }

  // One worker stands for all, which differ from it in their number.
  void CollectWorkers(const Unit& unit) {
    for (const json::Value& object : unit.made) {
      const bool pod = json::FindText(object, {"kind"}) == kube::kPods.kind;
      const std::string name(json::FindText(object, {"metadata", "name"}));
      Add(pod ? kube::kPods : kube::kPersistentVolumeClaims, {unit.key.ns, name}, object);
      const int workers = pod ? Workers(unit) : 1;
      if (workers > 1)
        rendered_.notes.push_back(unit.ToString() + " has " + std::to_string(workers) + " workers; Pod " + name +
                                  " stands for all of them");
    }
  }

  int Workers(const Unit& unit) const {
    const auto* set = stores_.Of<api::NodeSet>().Find(unit.key);
    return set == nullptr ? 0 : api::WithDefaults(set->spec).replicas.value_or(0);
  }

  void Add(const kube::Resource& resource, const kube::Key& key, json::Value body) {
    json::Value* owners = json::Find(body, {"metadata", "ownerReferences"});
    if (owners != nullptr && owners->is_array()) {
      bj::array known;
      for (const json::Value& owner : owners->get_array()) {
        if (!IsInvented(json::FindText(owner, {"uid"}))) known.push_back(owner);
      }
      if (known.empty())
        json::MakeObject(body, {"metadata"}).erase("ownerReferences");
      else
        *owners = std::move(known);
    }
    rendered_.objects.push_back({&resource, key, std::move(body)});
  }

  void Explain(const Unit& unit) {
    const auto status = json::Decode<StatusConditions>(unit.plan.status.value_or("{}"));
    if (!status) return;
    const json::Condition* degraded = json::FindCondition(status->conditions, api::kDegraded);
    const json::Condition* progressing = json::FindCondition(status->conditions, api::kProgressing);
    if (degraded != nullptr && degraded->status == "True")
      rendered_.problems.push_back(unit.ToString() + ": " + degraded->message + " (" + degraded->reason + ")");
    else if (!unit.plan.children_complete && progressing != nullptr)
      rendered_.problems.push_back(unit.ToString() + " is not complete: " + progressing->message);
  }

  async::Loop& loop_;
  Options options_;
  OfflineServer server_;
  kube::Client client_;
  plan::Stores stores_;
  plan::AppliedMemo memo_;
  plan::SlurmClusters clusters_;
  plan::Services services_;
  plan::Answers answers_;
  std::vector<Unit> units_;
  std::map<kube::Key, std::set<std::string>> named_keys_;
  std::set<std::string> made_;
  Tick tick_{};
  uint64_t version_ = 0;
  Rendered rendered_;
};

}  // namespace

Task<Result<Rendered>> Render(async::Loop& loop, std::vector<json::Value> files, Options options) {
  Rendering rendering(loop, std::move(options));
  co_return co_await rendering.Run(std::move(files));
}

}  // namespace capstan::render
