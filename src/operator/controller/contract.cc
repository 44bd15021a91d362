#include "operator/controller/contract.h"

#include <algorithm>
#include <array>

#include "json/value.h"

namespace capstan::op::controller {
namespace {

using json::FindText;
using json::Value;

struct Name {
  std::string_view kind;
  std::string_view before, after;  // around the Controller's name
};

constexpr auto kApplied = std::to_array<Name>({
    {"ConfigMap", "", "-config"},
    {"Service", "", "-controller"},
    {"Service", "", "-controller-internal"},
    {"Service", "slurm-workers-", ""},
    {"PodDisruptionBudget", "slurm-workers-pdb-", ""},
    {"StatefulSet", "", "-controller"},
});

bool IsOneOf(const api::Controller& controller, const Call& call) {
  return std::ranges::any_of(kApplied, [&](const Name& name) {
    return call.kind == name.kind &&
           call.key.name == std::string(name.before) + controller.metadata.name + std::string(name.after);
  });
}

std::optional<std::string> ApplyBreach(const api::Controller& controller, const Call& call) {
  if (call.kind == "Controller") {
    if (call.key.name == controller.metadata.name && call.subresource == "status") return std::nullopt;
    return "a Controller writes nothing of custom resources but its own status";
  }
  if (!IsOneOf(controller, call)) return "no Controller has a " + call.kind + " called " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body) return "what is applied to " + call.key.name + " is not JSON";
  const Value* owners = json::Find(*body, {"metadata", "ownerReferences"});
  const bool owned = owners != nullptr && owners->is_array() && owners->get_array().size() == 1 &&
                     FindText(owners->get_array()[0], {"uid"}) == controller.metadata.uid;
  if (!owned) return call.kind + " " + call.key.name + " would outlive its Controller";
  if (json::Find(*body, {"status"}) != nullptr)
    return "the status of " + call.key.name + " is not a Controller's to write";
  if (call.kind == "ConfigMap" &&
      FindText(*body, {"data", "slurm.conf"}).find("ClusterName=") == std::string_view::npos) {
    return "a slurm.conf without ClusterName would take slurmctld down";
  }
  return std::nullopt;
}

std::optional<std::string> CreateBreach(const api::Controller& controller, const Call& call) {
  if (call.kind == "Event") return std::nullopt;
  if (call.kind != "Secret") return "a Controller creates nothing but keys; " + call.kind + " " + call.key.name;
  const std::string& wish = controller.metadata.Annotation("capstan.dev/generate-keys");
  const auto names = [&](const std::optional<api::SecretKeySelector>& ref) {
    return ref && ref->name == call.key.name;
  };
  const bool slurm = names(controller.spec.slurm_key_ref) && (wish == "true" || wish == "slurm");
  const bool jwt = (names(controller.spec.jwt_key_ref) || names(controller.spec.jwt_hs256_key_ref)) &&
                   (wish == "true" || wish == "jwt");
  if (slurm || jwt) return std::nullopt;
  return "nobody asked for a key in Secret " + call.key.name;
}

std::optional<std::string> PodDeletionBreach(const Call& call) {
  const auto options = json::Parse(call.body);
  if (options && !FindText(*options, {"preconditions", "resourceVersion"}).empty()) return std::nullopt;
  return "pod " + call.key.name + " is deleted whatever has become of it";
}

}  // namespace

std::optional<std::string> Breach(const api::Controller& controller, const Call& call) {
  if (call.key.ns != controller.metadata.namespace_) return "namespace " + call.key.ns + " is not the Controller's";
  if (call.verb == "apply") return ApplyBreach(controller, call);
  if (call.verb == "create") return CreateBreach(controller, call);
  if (call.verb == "patch") {
    if (call.kind == "Pod" && call.key.name.starts_with(controller.metadata.name + "-controller-")) return std::nullopt;
    return "a Controller patches nothing but the labels of its slurmctld pods; " + call.kind + " " + call.key.name;
  }
  if (call.verb == "delete" && IsOneOf(controller, call)) return std::nullopt;
  if (call.verb == "delete" && call.kind == "Pod" &&
      call.key.name.starts_with(controller.metadata.name + "-controller-"))
    return PodDeletionBreach(call);
  return "a Controller never sends " + call.verb + " " + call.kind + " " + call.key.name;
}

// --- What done means -------------------------------------------------------------------------------------------------

namespace {

class Matching {
 public:
  Matching(const Value& controller, const Lookup& object)
      : controller_(controller),
        object_(object),
        ns_(FindText(controller, {"metadata", "namespace"})),
        name_(FindText(controller, {"metadata", "name"})) {}

  std::optional<std::string> Run() {
    const Value* external = json::Find(controller_, {"spec", "external"});
    Need("ConfigMap", name_ + "-config");
    ClusterNameStands();
    if (external == nullptr || !external->is_bool() || !external->get_bool()) {
      Need("Service", name_ + "-controller");
      Need("Service", name_ + "-controller-internal");
      Need("StatefulSet", name_ + "-controller");
      KeysExist();
    }
    Need("Service", "slurm-workers-" + name_);
    Need("PodDisruptionBudget", "slurm-workers-pdb-" + name_);
    ReadyIsSaid();
    return wrong_;
  }

 private:
  void Wrong(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }

  std::optional<Value> Get(std::string_view kind, const std::string& name) {
    const auto text = object_(kind, {ns_, name});
    if (!text) return std::nullopt;
    auto value = json::Parse(*text);
    return value ? std::optional(*std::move(value)) : std::nullopt;
  }

  // It is there, belongs to this very Controller and is not going away.
  void Need(std::string_view kind, const std::string& name) {
    const auto object = Get(kind, name);
    if (!object) return Wrong(std::string(kind) + " " + name + " is missing");
    if (json::Find(*object, {"metadata", "deletionTimestamp"}) != nullptr)
      Wrong(std::string(kind) + " " + name + " is going away");
    const Value* owners = json::Find(*object, {"metadata", "ownerReferences"});
    const bool owned = owners != nullptr && owners->is_array() && !owners->get_array().empty() &&
                       FindText(owners->get_array()[0], {"uid"}) == FindText(controller_, {"metadata", "uid"});
    if (!owned) Wrong(std::string(kind) + " " + name + " does not belong to the Controller");
  }

  void ClusterNameStands() {
    const auto config = Get("ConfigMap", name_ + "-config");
    if (!config) return;
    std::string cluster(FindText(controller_, {"spec", "clusterName"}));
    if (cluster.empty()) cluster = ns_ + "_" + name_;
    const std::string line = "ClusterName=" + cluster + "\n";
    if (FindText(*config, {"data", "slurm.conf"}).find(line) == std::string_view::npos)
      Wrong("slurm.conf has no line " + line);
  }

  void KeysExist() {
    std::string jwt = "jwtKeyRef";
    if (json::Find(controller_, {"spec", jwt}) == nullptr) jwt = "jwtHs256KeyRef";
    for (const std::string& ref : {std::string("slurmKeyRef"), jwt}) {
      const auto secret = Get("Secret", std::string(FindText(controller_, {"spec", ref, "name"})));
      const std::string_view key = FindText(controller_, {"spec", ref, "key"});
      if (!secret || FindText(*secret, {"data", key}).empty()) Wrong("the key of spec." + ref + " is missing");
    }
  }

  void ReadyIsSaid() {
    const Value* conditions = json::Find(controller_, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array()) return Wrong("the Controller has no conditions");
    for (const Value& condition : conditions->get_array()) {
      if (FindText(condition, {"type"}) == "Ready" && FindText(condition, {"status"}) == "True") return;
    }
    Wrong("the Controller does not say that it is ready");
  }

  const Value& controller_;
  const Lookup& object_;
  const std::string ns_, name_;
  std::optional<std::string> wrong_;
};

}  // namespace

std::optional<std::string> Unmatched(const std::string& controller, const Lookup& object) {
  const auto value = json::Parse(controller);
  if (!value) return "the Controller is not JSON";
  return Matching(*value, object).Run();
}

}  // namespace capstan::op::controller
