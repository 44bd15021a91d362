#include "operator/render/cluster.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "operator/names.h"
#include "operator/render/metadata.h"
#include "operator/render/parts.h"
#include "slurm/conf.h"

namespace capstan::op::render {

namespace {

// Absent and 0 ask for the daemon's own.
int PortOr(int port, int own) { return port == 0 ? own : port; }

}  // namespace

int ControllerPort(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  const bool external = spec.external.value_or(false) && spec.external_config;
  return PortOr(external ? spec.external_config->port : spec.service.port.value_or(0), kSlurmctldPort);
}

std::string ConfServer(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  if (spec.external.value_or(false) && spec.external_config) {
    return spec.external_config->host + ":" + std::to_string(ControllerPort(controller));
  }
  return ControllerName(controller.metadata.name) + "." + controller.metadata.namespace_ + ":" +
         std::to_string(ControllerPort(controller));
}

bool KeepsState(const api::ControllerSpec& spec) {
  return !spec.persistence || spec.persistence->enabled.value_or(true);
}

int AccountingPort(const api::Accounting& accounting) {
  const api::AccountingSpec& spec = accounting.spec;
  const bool external = spec.external.value_or(false) && spec.external_config;
  return PortOr(external ? spec.external_config->port : spec.service.port.value_or(0), kSlurmdbdPort);
}

std::string TablesOf(const api::Accounting& accounting) {
  const api::AccountingSpec& spec = accounting.spec;
  const auto at = [&](std::string_view host, int port) {
    std::string name = ToLower(host);
    if (name.ends_with('.')) name.pop_back();
    for (const std::string_view end : {".svc", ".svc.cluster.local"}) {
      if (name.ends_with(end)) name.resize(name.size() - end.size());
    }
    if (!name.contains('.') && !name.contains(':')) name += "." + accounting.metadata.namespace_;
    return " at " + name + ":" + std::to_string(port);
  };
  if (spec.external.value_or(false))
    return spec.external_config ? "slurmdbd" + at(spec.external_config->host, AccountingPort(accounting)) : "";
  if (!spec.storage_config) return "";
  const api::StorageConfig& storage = *spec.storage_config;
  return "database " + storage.database.value_or("slurm_acct_db") +
         at(storage.host, PortOr(storage.port.value_or(0), kDatabasePort));
}

int RestApiPort(const api::RestApi& rest_api) {
  return PortOr(rest_api.spec.service.port.value_or(0), kSlurmrestdPort);
}

std::string RestApiUrl(const api::RestApi& rest_api, const Settings& settings) {
  return "http://" + settings.Fqdn(RestApiName(rest_api.metadata.name), rest_api.metadata.namespace_) +
         ".:" + std::to_string(RestApiPort(rest_api));
}

bool LeadsToItsPods(const Service& service, const api::RestApi& rest_api) {
  const json::OwnerReference* owner = service.metadata.ControllerOwner();
  if (owner == nullptr || owner->uid != rest_api.metadata.uid || service.spec.type == "ExternalName") return false;
  return std::ranges::all_of(SelectorLabels(kRestApi, rest_api.metadata.name), [&](const auto& label) {
    const auto found = service.spec.selector.find(label.first);
    return found != service.spec.selector.end() && found->second == label.second;
  });
}

Result<std::string> SlurmNameOf(const api::NodeSet& set) {
  CAPSTAN_TRY(const Json spec, json::ParseObject(set.spec.pod_template.spec, "spec.template.spec"));
  const auto words = Words(json::FindText(spec, {"hostname"}));
  std::string_view name = words.empty() ? std::string_view() : words.front();
  while (name.starts_with('-')) name.remove_prefix(1);
  while (name.ends_with('-')) name.remove_suffix(1);
  return name.empty() ? set.metadata.name : std::string(name);
}

namespace {

// What a NodeSet and its workers are called in Slurm.
struct Names {
  std::string set;
  std::string prefix;  // of its workers; their ordinals follow
};

// nullopt: its template cannot be read, so that it has no workers.
std::optional<Names> NamesOf(const api::NodeSet& set) {
  Names plain{set.metadata.name, set.metadata.name + "-"};
  if (set.spec.pod_template.spec.text.find("\"hostname\"") == std::string::npos) return plain;  // most; not parsed
  const auto spec = json::ParseObject(set.spec.pod_template.spec, "");
  const auto name = SlurmNameOf(set);
  if (!spec || !name) return std::nullopt;
  const std::string_view hostname = json::FindText(*spec, {"hostname"});
  return Names{*name, hostname.empty() ? plain.prefix : std::string(hostname)};
}

// "w-" and "w-1": the workers w-10 of both are one.
bool MayMeet(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && b.substr(a.size()).find_first_not_of("0123456789") == b.npos;
}

}  // namespace

std::optional<std::string> HostPrefixOf(const api::NodeSet& set) {
  const auto names = NamesOf(set);
  return names ? std::optional(names->prefix) : std::nullopt;
}

std::optional<int> OrdinalOfHost(const api::NodeSet& set, std::string_view host) {
  const auto names = NamesOf(set);
  if (set.spec.IsDaemonSet() || !names || !host.starts_with(names->prefix)) return std::nullopt;
  const auto spec = json::ParseObject(set.spec.pod_template.spec, "");
  const Json* by_machine = spec ? json::Find(*spec, {"hostNetwork"}) : nullptr;
  if (by_machine != nullptr && *by_machine == Json(true)) return std::nullopt;
  const std::string_view digits = host.substr(names->prefix.size());
  constexpr size_t kMost = 9;
  if (digits.empty() || digits.size() > kMost || digits.find_first_not_of("0123456789") != digits.npos)
    return std::nullopt;
  const int ordinal = int(*ParseInt(digits));
  const size_t length = std::max(std::to_string(ordinal).size(), size_t(set.spec.ordinal_padding.value_or(0)));
  return digits.size() == length ? std::optional(ordinal) : std::nullopt;
}

bool MakesNodeSet(std::string_view slurm_conf, std::string_view name) {
  bool makes = false;
  (void)slurm::ForEachConfLine(slurm_conf, [&](const slurm::ConfLine& line) {
    makes = !line.items.empty() && EqualsIgnoreCase(line.items[0].key, "NodeSet") && line.items[0].value == name;
    return !makes;
  });
  return makes;
}

const api::NodeSet* ElderNamesake(const kube::ObjectList<api::NodeSet>& sets, const api::NodeSet& set) {
  const auto age = [](const api::NodeSet& one) { return std::tie(one.metadata.creation_timestamp, one.metadata.name); };
  const auto own = NamesOf(set);
  if (!own) return nullptr;
  for (const api::NodeSet& other : sets) {
    if (!(age(other) < age(set))) continue;
    const auto names = NamesOf(other);
    if (names && (names->set == own->set || MayMeet(names->prefix, own->prefix))) return &other;
  }
  return nullptr;
}

JsonObject SlurmKeyFile(const api::SecretKeySelector& key) {
  return SecretFile(key.name, key.key, key.key.ends_with(".jwks") ? "slurm.jwks" : "slurm.key");
}

}  // namespace capstan::op::render
