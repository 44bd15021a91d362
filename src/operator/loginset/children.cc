#include "operator/loginset/children.h"

#include <algorithm>

#include "operator/host_keys.h"
#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/merge.h"
#include "operator/render/parts.h"
#include "operator/render/scripts.h"
#include "operator/render/ssh.h"
#include "operator/render/workload.h"

namespace capstan::op::loginset {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kOwnerOnly = 0600;
constexpr Duration kAfterSessions = 30s;  // for the daemons to end, once no session is left

// Otherwise kube-proxy puts a machine's address in the place of a caller's.
bool KeepsAddresses(const api::ServiceSpec& service) {
  const auto spec = json::ParseObject(service.spec, "spec.service.spec");
  return spec && json::FindText(*spec, {"externalTrafficPolicy"}) == "Local";
}

std::string SshdConfigText(const api::LoginSet& login_set) {
  return SshdConfig("X11Forwarding yes\nSubsystem sftp internal-sftp\n", login_set.spec.extra_sshd_config,
                    KeepsAddresses(login_set.spec.service));
}

std::string AuthorizedKeysText(const api::LoginSet& login_set) {
  return "#\n### SLINKY ###\n" + login_set.spec.root_ssh_authorized_keys + "\n";
}

JsonArray Volumes(const api::LoginSet& login_set, const api::Controller& controller) {
  const std::string& name = login_set.metadata.name;
  JsonArray keys;
  if (const auto& key = controller.spec.slurm_key_ref) keys.push_back(SlurmKeyFile(*key));
  return JsonArray{
      MemoryDir("slurm-etc", kSmallSize),
      MemoryDir("sackd-dir", kConfigurationSize),
      ProjectedVolume("slurm-config", kOwnerOnly, std::move(keys)),
      HostKeysVolume(SshHostKeysName(name)),
      SshConfigVolume(SshConfigName(name), {"sshd_config", "authorized_keys"}),
      SssdVolume(login_set.spec.sssd_conf_ref),
  };
}

JsonArray Mounts(bool live) {
  JsonArray mounts{Mount("slurm-etc", "/etc/slurm", true), Mount("sackd-dir", "/run/slurm")};
  if (live) {
    AddLiveMounts(mounts);
    return mounts;
  }
  for (const std::string_view file : kHostKeyFiles)
    mounts.push_back(FileMount("ssh-host-keys", "/etc/ssh/" + std::string(file), file));
  mounts.push_back(FileMount("ssh-config", "/etc/ssh/sshd_config", "sshd_config"));
  mounts.push_back(FileMount("ssh-config", "/root/.ssh/authorized_keys", "authorized_keys"));
  mounts.push_back(FileMount("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf"));
  return mounts;
}

JsonObject Exec(JsonArray command) { return JsonObject{{"exec", JsonObject{{"command", std::move(command)}}}}; }

bool HasPort(const Json& container, std::string_view name) {
  const Json* ports = json::Find(container, {"ports"});
  return ports != nullptr && ports->is_array() && std::ranges::any_of(ports->get_array(), [name](const Json& port) {
           return json::FindText(port, {"name"}) == name;
         });
}

// A container port of this name that the user gives has another number; ours is then no longer wanted.
Result<JsonObject> Login(const api::LoginSet& login_set, const api::Controller& controller, bool live,
                         Duration drain_cap) {
  JsonObject container{{"name", kLogin.app}};
  container["env"] = JsonArray{Variable("SACKD_OPTIONS", "--conf-server " + ConfServer(controller))};
  CAPSTAN_TRY(const Json user, json::ParseObject(login_set.spec.login, "spec.login"));
  if (!HasPort(user, kLogin.app)) container["ports"] = JsonArray{ContainerPort(kLogin.app, kSshPort)};
  container["readinessProbe"] =
      Exec(live ? JsonArray{"test", "-e", "/run/capstan/ready"} : JsonArray{"test", "-S", "/run/slurm/sack.socket"});
  container["volumeMounts"] = Mounts(live);
  if (live) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(drain_cap).count();
    container["lifecycle"] = JsonObject{
        {"preStop", Exec(JsonArray{"/usr/local/bin/capstan-entry", "drain-logins", std::to_string(seconds)})}};
  }
  return MergeContainer(std::move(container), login_set.spec.login, "spec.login");
}

Result<JsonObject> Initconf(const api::LoginSet& login_set) {
  JsonObject container{{"name", "initconf"}};
  container["env"] = JsonArray{Variable("SLURM_USER", "slurm")};
  container["command"] = JsonArray{"sh", "-c", kInitconfScript};
  container["volumeMounts"] =
      JsonArray{Mount("slurm-etc", "/mnt/etc/slurm"), Mount("slurm-config", "/mnt/slurm", true)};
  return MergeContainer(std::move(container), login_set.spec.initconf, "spec.initconf");
}

Result<JsonObject> PodSpec(const api::LoginSet& login_set, const api::Controller& controller, Duration drain_cap,
                           const Settings& settings) {
  CAPSTAN_TRY(const bool live, ReadsFilesLive(login_set, settings));
  CAPSTAN_TRY(JsonObject login, Login(login_set, controller, live, drain_cap));
  DefaultImage(login, settings.Image(kLogin.app));
  CAPSTAN_TRY(JsonObject initconf, Initconf(login_set));
  DefaultImage(initconf, ImageOf(login));
  const std::string service = WorkerServiceName(controller.metadata.name);
  JsonObject pod{{"automountServiceAccountToken", false}, {"enableServiceLinks", false}};
  pod["dnsConfig"] = JsonObject{{"searches", JsonArray{settings.Fqdn(service, login_set.metadata.namespace_)}}};
  pod["initContainers"] = JsonArray{std::move(initconf)};
  pod["containers"] = JsonArray{std::move(login)};
  pod["volumes"] = Volumes(login_set, controller);
  if (live) {
    const auto grace = std::chrono::duration_cast<std::chrono::seconds>(drain_cap + kAfterSessions).count();
    pod["terminationGracePeriodSeconds"] = grace;
  }
  return pod;
}

Json Either(const json::IntOrString& value) { return value.is_number() ? Json(value.number()) : Json(value.text()); }

// A session is cut by no rollout: the next pod is there before one goes, which then waits for its sessions. Without a pod
// more, one must go first: the API server refuses 0 for both.
JsonObject Strategy(const api::LoginSet& login_set) {
  const auto& user = login_set.spec.strategy;
  const std::string type = user && !user->type.empty() ? user->type : "RollingUpdate";
  JsonObject strategy{{"type", type}};
  if (type != "RollingUpdate") return strategy;
  JsonObject rolling{{"maxSurge", 1}, {"maxUnavailable", 0}};
  if (user && user->rolling_update) {
    if (const auto& surge = user->rolling_update->max_surge) {
      rolling["maxSurge"] = Either(*surge);
      if (surge->Of(100, true).value_or(1) == 0) rolling["maxUnavailable"] = 1;
    }
    if (const auto& away = user->rolling_update->max_unavailable) rolling["maxUnavailable"] = Either(*away);
  }
  strategy["rollingUpdate"] = std::move(rolling);
  return strategy;
}

}  // namespace

Result<bool> ReadsFilesLive(const api::LoginSet& login_set, const Settings& settings) {
  return render::ReadsFilesLive(login_set.metadata, login_set.spec.login, "spec.login", kLogin, settings);
}

Result<plan::Child> ServiceObject(const api::LoginSet& login_set) {
  const api::ServiceSpec& user = login_set.spec.service;
  const std::string& name = login_set.metadata.name;
  const std::string app(kLogin.app);
  const int port = user.port.value_or(0) == 0 ? kSshPort : *user.port;
  return Render({.owner = OwnerOf(login_set),
                 .name = name,
                 .inherited = Inherited(login_set.metadata),
                 .labels = ComponentLabels(kLogin, name),
                 .ports = {{app, port, user.node_port.value_or(0), app}},
                 .selector = SelectorLabels(kLogin, name),
                 .user = &user},
                "people reach sshd through it");
}

plan::Child SshConfig(const api::LoginSet& login_set) {
  Metadata metadata = Inherited(login_set.metadata);
  metadata.Add(ComponentLabels(kLogin, login_set.metadata.name), {});
  JsonObject body =
      OwnedObject(kube::kConfigMaps, SshConfigName(login_set.metadata.name), metadata, OwnerOf(login_set));
  body["data"] =
      JsonObject{{"authorized_keys", AuthorizedKeysText(login_set)}, {"sshd_config", SshdConfigText(login_set)}};
  return AsChild(kube::kConfigMaps, std::move(body), "sshd reads its configuration there");
}

std::string SshTexts(const api::LoginSet& login_set) {
  return SshdConfigText(login_set) + "\n" + AuthorizedKeysText(login_set);
}

Result<plan::Child> LoginDeployment(const api::LoginSet& login_set, const api::Controller& controller,
                                    const PodHashes& hashes, Duration drain_cap, const Settings& settings) {
  CAPSTAN_TRY(JsonObject pod, PodSpec(login_set, controller, drain_cap, settings));
  return Render({.resource = kube::kDeployments,
                 .owner = OwnerOf(login_set),
                 .component = kLogin,
                 .name = login_set.metadata.name,
                 .replicas = *login_set.spec.replicas,
                 .user = login_set.spec.pod_template,
                 .pod = std::move(pod),
                 .hashes = {{std::string(kHashSlurmKey), hashes.slurm_key},
                            {std::string(kHashSshdConfig), hashes.sshd_config},
                            {std::string(kHashSssdConfig), hashes.sssd_config},
                            {std::string(kHashSshHostKeys), hashes.host_keys}},
                 .more = {{"strategy", Strategy(login_set)}}},
                "logins run in it");
}

}  // namespace capstan::op::loginset
