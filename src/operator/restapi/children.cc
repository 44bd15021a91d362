#include "operator/restapi/children.h"

#include "operator/names.h"
#include "operator/render/cluster.h"
#include "operator/render/merge.h"
#include "operator/render/own_words.h"
#include "operator/render/parts.h"
#include "operator/render/workload.h"

namespace capstan::op::restapi {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kOwnerOnly = 0600;
// What a slurmrestd may take at once. Each thread that puts a list together holds all of it, and each arena of the C library
// keeps what was freed in it. Slurm starts two threads for each processor of the machine, and the library has an arena for
// each: one reader of 3,000 nodes, asking again and again, took 500 MiB on two processors, and takes 140 so
// (docs/restapi.md).
constexpr std::string_view kThreads = "4";
constexpr std::string_view kMostConnections = "64";

// Status 1 while the container waits for a slurmrestd that does not start (entry/waiting.h), and unless a slurmctld of slurm.conf
// says that it is ready, as it tells the kubelet. All are asked at once: one on a lost machine would take all the time. One that
// closes the connection without a word is older than this question.
constexpr std::string_view kAskSlurmctld = R"sh(port=6817 hosts=()
while IFS== read -r key value; do
  value=${value%%[[:blank:]]*}
  case ${key,,} in
    slurmctldport) port=${value%%-*} ;;
    slurmctldhost) value=${value%)} hosts+=("${value#*(}") ;;
  esac
done < /etc/slurm/slurm.conf
waits() {
  exec 3<> /dev/tcp/127.0.0.1/6815 || return 1
  printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
  read -r -t 3 answer <&3
  [[ $answer == HTTP/*' 503 '* ]]
}
waits 2> /dev/null && echo "slurmrestd does not start" && exit 1
ask() {
  exec 3<> "/dev/tcp/$1/$port" || return 1
  printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3
  read -r -t 3 answer <&3 || return $(($? != 1))
  [[ $answer == HTTP/*' 2'??' '* ]]
}
for host in "${hosts[@]}"; do ask "$host" 2> /dev/null & done
for host in "${hosts[@]}"; do wait -n && exit 0; done
echo "no slurmctld is ready: ${hosts[*]}"
exit 1
)sh";

// In an image without bash it is ready when its port is open.
JsonObject ReadinessProbe() {
  JsonArray command{"sh", "-c", "command -v bash > /dev/null || exit 0; exec bash -c \"$0\"", kAskSlurmctld};
  return {{"exec", JsonObject{{"command", std::move(command)}}}, {"periodSeconds", 5}, {"timeoutSeconds", 5}};
}

Result<JsonObject> Slurmrestd(const api::RestApi& rest_api, const api::Controller& controller,
                              const Settings& settings) {
  JsonObject container{{"name", kRestApi.app}};
  container["env"] = JsonArray{Variable("MALLOC_ARENA_MAX", "1"), Variable("SLURM_JWT", "daemon"),
                               Variable("SLURMRESTD_SECURITY", "disable_unshare_files,disable_unshare_sysv")};
  container["ports"] = JsonArray{ContainerPort(kRestApi.app, kSlurmrestdPort)};
  container["startupProbe"] = Patient(TcpProbe(kSlurmrestdPort));
  container["livenessProbe"] = Patient(TcpProbe(kSlurmrestdPort));
  container["readinessProbe"] = ReadinessProbe();
  container["securityContext"] = RunAs(kNobodyUser);
  container["volumeMounts"] = JsonArray{Mount("slurm-etc", "/etc/slurm", true)};
  JsonArray first{"-t", kThreads, "--max-connections", kMostConnections};
  // Without accounting, the calls that need slurmdbd would only fail.
  if (!controller.spec.accounting_ref) first.insert(first.end(), {"-s", "openapi/slurmctld"});
  container["args"] = std::move(first);
  CAPSTAN_TRY(const json::Raw users, WithoutOwnWords(rest_api.spec.slurmrestd, kSlurmrestdOwnWords));
  CAPSTAN_TRY(JsonObject merged, MergeContainer(std::move(container), users, "spec.slurmrestd"));
  Json& args = merged["args"];
  if (!args.is_array()) args.emplace_array();
  args.get_array().push_back(Json("0.0.0.0:" + std::to_string(kSlurmrestdPort)));
  DefaultImage(merged, settings.Image(kRestApi.app));
  return merged;
}

Result<JsonObject> PodSpec(const api::RestApi& rest_api, const api::Controller& controller, const Settings& settings) {
  CAPSTAN_TRY(JsonObject slurmrestd, Slurmrestd(rest_api, controller, settings));
  JsonArray sources{ConfigMapFile(ConfigName(controller.metadata.name), "slurm.conf", "slurm.conf")};
  if (const auto& key = controller.spec.slurm_key_ref) sources.push_back(SlurmKeyFile(*key));
  JsonObject pod{{"automountServiceAccountToken", false}};
  pod["securityContext"] = PodRunAs(kNobodyUser);
  pod["containers"] = JsonArray{std::move(slurmrestd)};
  pod["volumes"] = JsonArray{ProjectedVolume("slurm-etc", kOwnerOnly, std::move(sources))};
  return pod;
}

}  // namespace

Result<plan::Child> ServiceObject(const api::RestApi& rest_api) {
  const api::ServiceSpec& user = rest_api.spec.service;
  const std::string& name = rest_api.metadata.name;
  const std::string app(kRestApi.app);
  return Render({.owner = OwnerOf(rest_api),
                 .name = RestApiName(name),
                 .labels = ComponentLabels(kRestApi, name),
                 .ports = {{app, RestApiPort(rest_api), user.node_port.value_or(0), app}},
                 .selector = SelectorLabels(kRestApi, name),
                 .user = &user},
                "clients reach slurmrestd through it");
}

Result<plan::Child> DeploymentObject(const api::RestApi& rest_api, const api::Controller& controller,
                                     const PodHashes& hashes, const Settings& settings) {
  CAPSTAN_TRY(JsonObject pod, PodSpec(rest_api, controller, settings));
  api::PodTemplate user = rest_api.spec.pod_template;
  CAPSTAN_TRY(user.spec, PodWithoutOwnWords(user.spec, kSlurmrestdOwnWords));
  CAPSTAN_TRY(JsonObject deployment, ObjectOf({.resource = kube::kDeployments,
                                               .owner = OwnerOf(rest_api),
                                               .component = kRestApi,
                                               .name = RestApiName(rest_api.metadata.name),
                                               .replicas = *rest_api.spec.replicas,
                                               .user = user,
                                               .pod = std::move(pod),
                                               .hashes = {{std::string(kHashSlurmConfig), hashes.config},
                                                          {std::string(kHashSlurmKey), hashes.slurm_key}}}));
  RememberOptions(deployment, hashes.restart_options);
  return AsChild(kube::kDeployments, std::move(deployment), "slurmrestd runs in it");
}

}  // namespace capstan::op::restapi
