#include "doctor/look.h"

#include <algorithm>
#include <array>
#include <set>

#include "api/controller.h"
#include "api/kinds.h"
#include "api/restapi.h"
#include "base/hash.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/subresources.h"
#include "net/client.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/render/cluster.h"
#include "plan/objects/secrets.h"
#include "slurm/jwt.h"
#include "slurm/rest_client.h"

namespace capstan::doctor {
namespace {

using async::Task;

constexpr Duration kCallTimeout = 10s;
constexpr size_t kMostLogs = 5;      // of containers that end again and again
constexpr size_t kMostKubelets = 5;  // that are asked for their cgroup version
constexpr size_t kLogBytes = 4096;
constexpr Duration kTokenLifetime = 1min;

constexpr std::string_view kLeaseName = "slurm-operator";
constexpr std::string_view kSlurmUser = "slurm";

// Names alone are kept of what a Secret holds.
struct SecretKeys {
  std::map<std::string, json::Digest> data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<SecretKeys>({json::Field<&SecretKeys::data>("data")});
    return schema;
  }
};

struct ConfigFiles {
  std::map<std::string, std::string> data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ConfigFiles>({json::Field<&ConfigFiles::data>("data")});
    return schema;
  }
};

std::string SlurmSelector() {
  std::vector<std::string> apps;
  for (const op::Component* component :
       {&op::kController, &op::kRestApi, &op::kAccounting, &op::kDatabase, &op::kWorker, &op::kLogin})
    apps.emplace_back(component->app);
  return std::string(op::kLabelName) + " in (" + Join(apps, ",") + ")";
}

// "Mon, 23 Nov 2026 05:10:01 GMT", as HTTP has it.
std::optional<Time> ParseHttpDate(std::string_view text) {
  constexpr auto kMonths = std::to_array<std::string_view>(
      {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"});
  const std::vector<std::string_view> words = Words(text);
  if (words.size() != 6) return std::nullopt;
  const auto month = std::ranges::find(kMonths, words[2]);
  if (month == kMonths.end()) return std::nullopt;
  const std::string number = std::to_string(month - kMonths.begin() + 1);
  return ParseRfc3339(std::string(words[3]) + "-" + (number.size() == 1 ? "0" : "") + number + "-" +
                      std::string(words[1]) + "T" + std::string(words[4]) + "Z");
}

class Looking {
 public:
  Looking(async::Loop& loop, net::Transport& http, LookOptions options)
      : loop_(loop), http_(http), options_(std::move(options)), client_(loop, http, {.tries = 2}) {}

  Task<Result<Cluster>> Run() {
    if (!options_.ns.empty()) cluster_.scope = {options_.ns};
    CAPSTAN_CO_CHECK_OK(co_await AskTime());
    co_await ReadDefinitions();
    CAPSTAN_CO_CHECK_OK(co_await ListResources());
    co_await List(cluster_.operators, kube::kDeployments, {.label_selector = std::string(kOperatorSelector)});
    co_await List(cluster_.operator_pods, kube::kPods, {.label_selector = std::string(kOperatorSelector)});
    co_await List(cluster_.leases, kube::kLeases, {.field_selector = "metadata.name=" + std::string(kLeaseName)});
    co_await List(cluster_.pods, kube::kPods, {.ns = options_.ns, .label_selector = SlurmSelector()});
    co_await List(cluster_.nodes, kube::kNodes, {});
    co_await ListClaims();
    co_await ReadSecrets();
    co_await ReadConfigs();
    co_await AskKubelets();
    co_await ReadLogs();
    co_await AskRestApis();
    co_return std::move(cluster_);
  }

 private:
  // A sentence for each, once.
  void NotSeen(const std::string& what, const std::string& needs, const Error& error) {
    std::string sentence = "could not look at " + what + ": ";
    sentence += error.code() == Code::kForbidden ? "needs the right to " + needs : OneLine(error.message(), 300);
    if (told_.insert(sentence).second) cluster_.not_seen.push_back(std::move(sentence));
  }

  std::string Where() const { return options_.ns.empty() ? " in all namespaces" : " in namespace " + options_.ns; }

  static std::string PluralOf(const kube::Resource& resource) {
    return std::string(resource.plural) + (resource.group.empty() ? "" : "." + std::string(resource.group));
  }

  template <class T>
  Task<void> List(Seen<T>& seen, kube::Resource resource, kube::ListOptions options) {
    const auto listed = co_await ListInto(seen.items, resource, options);
    seen.error = listed ? "" : listed.error().message();
    if (listed) co_return;
    std::string what = PluralOf(resource);
    if (resource.namespaced) what += options.ns.empty() ? " in all namespaces" : " in namespace " + options.ns;
    NotSeen(what, "list " + PluralOf(resource), listed.error());
  }

  template <class T>
  Task<Result<void>> ListInto(std::vector<T>& items, kube::Resource resource, kube::ListOptions options) {
    do {
      CAPSTAN_CO_TRY(auto page, co_await client_.List<T>(resource, options, loop_.After(kCallTimeout)));
      std::ranges::move(page.items, std::back_inserter(items));
      options.continue_token = page.metadata.continue_token;
    } while (!options.continue_token.empty());
    co_return Result<void>();
  }

  Task<Result<void>> AskTime() {
    const Time before = loop_.WallNow();
    cluster_.now = before;
    CAPSTAN_CO_TRY(
        const net::Response answer,
        co_await http_.Send({.method = "GET", .target = "/version", .repeatable = true}, loop_.After(kCallTimeout)));
    if (answer.status == 401) co_return Fail(Code::kUnauthenticated, "the API server does not know who asks (401)");
    const auto server = ParseHttpDate(net::Find(answer.headers, "Date"));
    if (!server) co_return Result<void>();
    // The server tells whole seconds, of some moment between the question and its answer.
    const Time after = loop_.WallNow();
    if (before > *server + 1s)
      cluster_.skew = before - (*server + 1s);
    else if (after < *server)
      cluster_.skew = after - *server;
    else
      cluster_.skew = Duration(0);
    cluster_.now = *server;
    co_return Result<void>();
  }

  Task<void> ReadDefinitions() {
    cluster_.definitions.error.clear();
    for (const api::KindInfo& kind : api::Kinds()) {
      const std::string name = std::string(kind.plural) + "." + std::string(kind.group);
      const auto text =
          co_await client_.Get(kube::kCustomResourceDefinitions, {"", name}, {}, loop_.After(kCallTimeout));
      if (text) {
        if (auto definition = json::Parse(*text)) cluster_.definitions.items.push_back(*std::move(definition));
      } else if (text.error().code() != Code::kNotFound) {
        cluster_.definitions.error = text.error().message();
        NotSeen("custom resource definitions", "get customresourcedefinitions", text.error());
      }
    }
  }

  // Without these there is nothing to judge.
  Task<Result<void>> ListResources() {
    size_t failed = 0;
    cluster_.resources.error.clear();
    Error last(Code::kInternal, "");
    for (const api::KindInfo& kind : api::Kinds()) {
      const kube::Resource resource{kind.group, kind.version, kind.plural, kind.kind, true};
      std::vector<CustomResource> items;
      const auto listed = co_await ListInto(items, resource, {.ns = options_.ns});
      for (CustomResource& item : items) {
        item.kind = kind.kind;
        cluster_.resources.items.push_back(std::move(item));
      }
      if (listed || listed.error().code() == Code::kNotFound) continue;  // CrdsMissing
      ++failed;
      last = listed.error();
      cluster_.resources.error = last.message();
      NotSeen(PluralOf(resource) + Where(), "list " + PluralOf(resource), last);
    }
    if (failed == api::Kinds().size()) co_return Fail(last);
    co_return Result<void>();
  }

  std::set<std::string> Namespaces() const {
    std::set<std::string> namespaces;
    for (const CustomResource& resource : cluster_.resources.items) namespaces.insert(resource.metadata.namespace_);
    return namespaces;
  }

  Task<void> ListClaims() {
    cluster_.claims.error.clear();
    cluster_.events.error.clear();
    for (const std::string& ns : Namespaces()) {
      Seen<Claim> claims;
      co_await List(claims, kube::kPersistentVolumeClaims, {.ns = ns});
      std::ranges::move(claims.items, std::back_inserter(cluster_.claims.items));
      if (!claims.known()) cluster_.claims.error = claims.error;
      const bool pending = std::ranges::any_of(cluster_.claims.items,
                                               [&](const Claim& claim) { return claim.status.phase == "Pending"; });
      if (!pending) continue;
      Seen<Event> events;
      co_await List(events, kube::kEvents, {.ns = ns, .field_selector = "regarding.kind=PersistentVolumeClaim"});
      std::ranges::move(events.items, std::back_inserter(cluster_.events.items));
      if (!events.known()) cluster_.events.error = events.error;
    }
  }

  // --- Secrets and files -----------------------------------------------------------------------------------------------

  void FindNamedSecrets(const CustomResource& resource, const json::Value& spec) {
    constexpr auto kFields =
        std::to_array<std::string_view>({"slurmKeyRef", "jwtKeyRef", "jwtHs256KeyRef", "sssdConfRef"});
    const std::string wish = resource.metadata.Annotation(std::string(op::kAnnotationGenerateKeys));
    for (const std::string_view field : kFields) {
      Name(resource, spec, field, std::string(field), !wish.empty());
    }
    if (const json::Value* storage = json::Find(spec, {"storageConfig"}))
      Name(resource, *storage, "passwordKeyRef", "storageConfig.passwordKeyRef", false);
    if (const json::Value* ssh = json::Find(spec, {"ssh"}))
      Name(resource, *ssh, "sssdConfRef", "ssh.sssdConfRef", false);
  }

  void Name(const CustomResource& resource, const json::Value& part, std::string_view member, std::string field,
            bool made) {
    const std::string name(json::FindText(part, {member, "name"})), key(json::FindText(part, {member, "key"}));
    if (name.empty() || key.empty()) return;
    cluster_.secrets.push_back({.by = resource.ToString(),
                                .field = std::move(field),
                                .secret = {resource.metadata.namespace_, name},
                                .key = key,
                                .made_when_missing = made});
  }

  Task<void> ReadSecrets() {
    for (const CustomResource& resource : cluster_.resources.items) {
      if (const auto spec = json::ParseObject(resource.spec, "spec")) FindNamedSecrets(resource, *spec);
    }
    // What a Controller has made for it is made for whoever else names it.
    for (NamedSecret& named : cluster_.secrets) {
      named.made_when_missing |= std::ranges::any_of(cluster_.secrets, [&](const NamedSecret& other) {
        return other.made_when_missing && other.secret == named.secret;
      });
    }
    std::map<kube::Key, Result<SecretKeys>> read;
    for (NamedSecret& named : cluster_.secrets) {
      auto found = read.find(named.secret);
      if (found == read.end()) {
        auto keys = co_await client_.Get<SecretKeys>(kube::kSecrets, named.secret, {}, loop_.After(kCallTimeout));
        found = read.emplace(named.secret, std::move(keys)).first;
      }
      const Result<SecretKeys>& keys = found->second;
      if (keys)
        named.state = keys->data.contains(named.key) ? NamedSecret::State::kThere : NamedSecret::State::kNoKey;
      else if (keys.error().code() == Code::kNotFound)
        named.state = NamedSecret::State::kNoSecret;
      else
        NotSeen("whether keys are there in namespace " + named.secret.ns, "get secrets", keys.error());
    }
  }

  // The cgroup.conf of each cluster: the operator's, or a file of the user's.
  Task<void> ReadConfigs() {
    for (const CustomResource& resource : cluster_.resources.items) {
      if (resource.kind != "Controller") continue;
      std::vector<std::string> names{op::ConfigName(resource.metadata.name)};
      if (const auto spec = json::ParseObject(resource.spec, "spec")) {
        const json::Value* refs = json::Find(*spec, {"configFileRefs"});
        if (refs != nullptr && refs->is_array()) {
          for (const json::Value& ref : refs->get_array()) names.emplace_back(json::FindText(ref, {"name"}));
        }
      }
      for (const std::string& name : names) {
        const kube::Key key{resource.metadata.namespace_, name};
        const auto files = co_await client_.Get<ConfigFiles>(kube::kConfigMaps, key, {}, loop_.After(kCallTimeout));
        if (files && files->data.contains("cgroup.conf"))
          cluster_.cgroup_confs[resource.key().ToString()] += files->data.at("cgroup.conf");
        else if (!files && files.error().code() != Code::kNotFound)
          NotSeen("cgroup.conf in namespace " + key.ns, "get configmaps", files.error());
      }
    }
  }

  // --- Machines ----------------------------------------------------------------------------------------------------------

  Task<void> AskKubelets() {
    std::set<std::string> nodes;
    for (const op::Pod& pod : cluster_.pods.items) {
      if (pod.metadata.Label(std::string(op::kLabelName)) == op::kWorker.app && !pod.spec.node_name.empty())
        nodes.insert(pod.spec.node_name);
    }
    for (const std::string& node : nodes) {
      if (cluster_.cgroup_versions.size() >= kMostKubelets) co_return;
      const auto text = co_await client_.GetPath("/api/v1/nodes/" + PercentEncoded(node) + "/proxy/metrics",
                                                 loop_.After(kCallTimeout));
      if (!text) {
        NotSeen("the cgroup version of Kubernetes nodes", "get nodes/proxy", text.error());
        co_return;
      }
      constexpr std::string_view kMetric = "\nkubelet_cgroup_version ";
      const size_t at = text->find(kMetric);
      if (at == text->npos) continue;
      const std::string_view rest = std::string_view(*text).substr(at + kMetric.size());
      if (const auto version = ParseInt(rest.substr(0, rest.find_first_of(".\n")))) {
        cluster_.cgroup_versions[node] = int(*version);
      }
    }
  }

  Task<void> ReadLogs() {
    size_t read = 0;
    for (const op::Pod& pod : cluster_.pods.items) {
      for (const op::ContainerStatus& status : pod.status.container_statuses) {
        if (!status.state.waiting || status.state.waiting->reason != "CrashLoopBackOff") continue;
        if (status.last_state.terminated && !status.last_state.terminated->message.empty()) continue;
        if (++read > kMostLogs) co_return;
        const kube::Key key{pod.metadata.namespace_, pod.metadata.name};
        cluster_.last_lines[key.ToString() + "/" + status.name] = co_await LastLine(key, status.name);
      }
    }
  }

  Task<std::string> LastLine(kube::Key pod, std::string container) {
    auto log = co_await kube::OpenLog(
        client_, pod, {.container = container, .previous = true, .tail_lines = 3, .limit_bytes = int64_t(kLogBytes)},
        loop_.After(kCallTimeout));
    if (!log) {
      if (log.error().code() == Code::kForbidden)
        NotSeen("the last line of pod " + pod.ToString(), "get pods/log", log.error());
      co_return "";
    }
    std::string text;
    std::array<char, kLogBytes> buffer{};
    while (text.size() < kLogBytes) {
      const auto bytes = co_await (*log)->Read(buffer, loop_.After(kCallTimeout));
      if (!bytes || *bytes == 0) break;
      text.append(buffer.data(), *bytes);
    }
    const std::string_view all = Trim(text);
    co_return std::string(all.substr(all.rfind('\n') + 1));
  }

  // --- Slurm -------------------------------------------------------------------------------------------------------------

  Task<void> AskRestApis() {
    for (const CustomResource& resource : cluster_.resources.items) {
      if (resource.kind != "RestApi" || resource.metadata.deleting()) continue;
      api::RestApi rest_api;
      rest_api.metadata = resource.metadata;
      if (auto spec = json::Decode<api::RestApiSpec>(resource.spec.text.empty() ? "{}" : resource.spec.text))
        rest_api.spec = api::WithDefaults(*std::move(spec));
      const std::string path = "/api/v1/namespaces/" + PercentEncoded(resource.metadata.namespace_) +
                               "/services/http:" + PercentEncoded(op::RestApiName(resource.metadata.name)) + ":" +
                               std::to_string(op::render::RestApiPort(rest_api)) + "/proxy";
      if (co_await AskRestApi(resource.key(), path) && co_await IsBehindItsService(rest_api))
        co_await AskSlurm(rest_api, path);
    }
  }

  // True: slurmrestd itself has answered, whatever it was.
  Task<bool> AskRestApi(kube::Key key, std::string path) {
    const auto answer = co_await http_.Send({.method = "GET", .target = path + "/openapi/v3", .repeatable = true},
                                            loop_.After(kCallTimeout));
    if (!answer) {
      NotSeen("RestApi " + key.ToString(), "get services/proxy", answer.error());
      co_return false;
    }
    const bool of_server = answer->status >= 400 && answer->body.contains(R"("kind":"Status")");
    if (of_server && answer->status == 403) {
      NotSeen("whether slurmrestd answers, and Slurm's nodes", "get services/proxy", Error(Code::kForbidden, ""));
      co_return false;
    }
    std::string error;
    if (of_server) {
      const Error why = kube::ErrorFromResponse(*answer, kube::Effect::kRead);
      error = why.message();
      NotSeen("Slurm's nodes by RestApi " + key.ToString(), "", why);
    }
    cluster_.rest_apis.push_back({.rest_api = key, .answers = !of_server, .error = std::move(error)});
    co_return !of_server;
  }

  // Only there a token is sent.
  Task<bool> IsBehindItsService(const api::RestApi& rest_api) {
    const kube::Key key{rest_api.metadata.namespace_, op::RestApiName(rest_api.metadata.name)};
    const std::string what = "Slurm's nodes by RestApi " + rest_api.metadata.namespace_ + "/" + rest_api.metadata.name;
    const auto service = co_await client_.Get<op::Service>(kube::kServices, key, {}, loop_.After(kCallTimeout));
    const bool leads = service && op::render::LeadsToItsPods(*service, rest_api);
    if (!service) NotSeen(what, "get services", service.error());
    if (service && !leads)
      NotSeen(what, "",
              Error(Code::kConflict, "Service " + key.ToString() + " does not belong to it, or leads elsewhere"));
    co_return leads;
  }

  Task<void> AskSlurm(const api::RestApi& rest_api, std::string path) {
    const kube::Key key{rest_api.metadata.namespace_, rest_api.spec.controller_ref.name};
    const CustomResource* controller = cluster_.Find("Controller", key);
    if (controller == nullptr || options_.below == nullptr) co_return;
    const auto spec = json::Decode<api::ControllerSpec>(controller->spec.text.empty() ? "{}" : controller->spec.text);
    const api::SecretKeySelector* jwt = spec ? api::JwtKey(*spec) : nullptr;
    if (jwt == nullptr) co_return;
    const auto signing =
        co_await plan::ReadSecretKey(client_, {key.ns, jwt->name}, jwt->key, loop_.After(kCallTimeout));
    if (!signing) {
      NotSeen("Slurm's nodes in namespace " + key.ns, "get secrets", signing.error());
      co_return;
    }
    const auto sign = [&](Duration) {
      const Time issued = cluster_.now - 10s;
      return slurm::SignToken({.user = std::string(kSlurmUser),
                               .issuer = "capstan doctor",
                               .id = "",
                               .issued_at = issued,
                               .expires_at = cluster_.now + kTokenLifetime},
                              *signing);
    };
    const std::unique_ptr<net::Transport> way = options_.below(path);
    slurm::RestClient slurmrestd(loop_, *way, sign);
    const auto nodes = co_await slurmrestd.Nodes(0, loop_.After(kCallTimeout));
    SlurmSeen seen{.controller = key, .nodes = {}, .error = {}};
    if (nodes)
      seen.nodes = nodes->records;
    else
      seen.error = nodes.error().message();
    if (!nodes) NotSeen("the nodes of Slurm of Controller " + key.ToString(), "", nodes.error());
    cluster_.slurm.push_back(std::move(seen));
  }

  async::Loop& loop_;
  net::Transport& http_;
  LookOptions options_;
  kube::Client client_;
  Cluster cluster_;
  std::set<std::string> told_;
};

}  // namespace

Task<Result<Cluster>> Look(async::Loop& loop, net::Transport& http, LookOptions options) {
  Looking looking(loop, http, std::move(options));
  co_return co_await looking.Run();
}

}  // namespace capstan::doctor
