#include "operator/controller/contract.h"

#include <algorithm>
#include <array>

#include "api/controller.h"
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
    {"ServiceMonitor", "", "-controller"},
    {"StatefulSet", "", "-controller"},
});

std::string NameOf(const Value& controller) { return std::string(FindText(controller, {"metadata", "name"})); }

bool IsOneOf(const Value& controller, const Call& call) {
  return std::ranges::any_of(kApplied, [&](const Name& name) {
    return call.kind == name.kind &&
           call.key.name == std::string(name.before) + NameOf(controller) + std::string(name.after);
  });
}

bool IsSlurmctldPod(const Value& controller, const Call& call) {
  return call.kind == "Pod" && call.key.name.starts_with(NameOf(controller) + "-controller-");
}

Broken ApplyBreach(const Value& controller, const Call& call) {
  if (IsOwnStatus(controller, call)) return std::nullopt;
  if (!IsOneOf(controller, call)) return "no Controller has a " + call.kind + " called " + call.key.name;
  const auto body = json::Parse(call.body);
  if (!body) return "what is applied to " + call.key.name + " is not JSON";
  if (!Owned(*body, FindText(controller, {"metadata", "uid"})))
    return call.kind + " " + call.key.name + " would outlive its Controller";
  if (json::Find(*body, {"status"}) != nullptr)
    return "the status of " + call.key.name + " is not a Controller's to write";
  if (call.kind == "ConfigMap" &&
      FindText(*body, {"data", "slurm.conf"}).find("ClusterName=") == std::string_view::npos) {
    return "a slurm.conf without ClusterName would take slurmctld down";
  }
  return std::nullopt;
}

Broken CreateBreach(const Value& controller, const Call& call) {
  if (call.kind != "Secret") return "a Controller creates nothing but keys; " + call.kind + " " + call.key.name;
  const std::string_view wish = FindText(controller, {"metadata", "annotations", "capstan.dev/generate-keys"});
  const auto names = [&](std::string_view ref) { return FindText(controller, {"spec", ref, "name"}) == call.key.name; };
  const bool slurm = names("slurmKeyRef") && (wish == "true" || wish == "slurm");
  const bool jwt = (names("jwtKeyRef") || names("jwtHs256KeyRef")) && (wish == "true" || wish == "jwt");
  if (slurm || jwt) return std::nullopt;
  return "nobody asked for a key in Secret " + call.key.name;
}

Broken Breach(const Value& controller, const Call& call, const Around&) {
  if (call.key.ns != KeyOf(controller).ns) return "namespace " + call.key.ns + " is not the Controller's";
  if (call.verb == "apply") return ApplyBreach(controller, call);
  if (call.verb == "create") return CreateBreach(controller, call);
  if (call.verb == "patch") {
    if (IsSlurmctldPod(controller, call)) return std::nullopt;
    return "a Controller patches nothing but the labels of its slurmctld pods; " + call.kind + " " + call.key.name;
  }
  if (call.verb == "delete" && IsOneOf(controller, call)) return std::nullopt;
  if (call.verb == "delete" && IsSlurmctldPod(controller, call)) return PodDeletionBreach(call);
  return "a Controller never sends " + call.verb + " " + call.kind + " " + call.key.name;
}

// --- What done means -------------------------------------------------------------------------------------------------

class Matching {
 public:
  Matching(const Value& controller, const Around& around)
      : controller_(controller),
        around_(around),
        ns_(FindText(controller, {"metadata", "namespace"})),
        name_(FindText(controller, {"metadata", "name"})) {}

  Broken Run() {
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
    if (!wrong_) wrong_ = SaysReady(controller_);
    return wrong_;
  }

 private:
  void Wrong(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }

  const Value* Get(std::string_view kind, const std::string& name) const { return around_.Find(kind, {ns_, name}); }

  // It is there, belongs to this very Controller and is not going away.
  void Need(std::string_view kind, const std::string& name) {
    const Value* object = Get(kind, name);
    if (object == nullptr) return Wrong(std::string(kind) + " " + name + " is missing");
    if (json::Find(*object, {"metadata", "deletionTimestamp"}) != nullptr)
      Wrong(std::string(kind) + " " + name + " is going away");
    if (!Owned(*object, FindText(controller_, {"metadata", "uid"})))
      Wrong(std::string(kind) + " " + name + " does not belong to the Controller");
  }

  void ClusterNameStands() {
    const Value* config = Get("ConfigMap", name_ + "-config");
    if (config == nullptr) return;
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
      const Value* secret = Get("Secret", std::string(FindText(controller_, {"spec", ref, "name"})));
      const std::string_view key = FindText(controller_, {"spec", ref, "key"});
      if (secret == nullptr || FindText(*secret, {"data", key}).empty())
        Wrong("the key of spec." + ref + " is missing");
    }
  }

  const Value& controller_;
  const Around& around_;
  const std::string ns_, name_;
  Broken wrong_;
};

Broken Unmatched(const Value& controller, const Around& around) { return Matching(controller, around).Run(); }

}  // namespace

constinit const Contract kContract{.resource = &api::Controller::kResource, .breach = &Breach, .unmatched = &Unmatched};

}  // namespace capstan::op::controller
