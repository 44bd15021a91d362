#include "cli/operator.h"

#include <fstream>
#include <iterator>

#include "net/client.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/settings.h"
#include "process/program.h"

namespace capstan::cli {
namespace {

constexpr std::string_view kLeaseName = "slurm-operator";

std::string ClusterDomain(const OperatorFlags& flags) {
  if (!flags.cluster_domain.empty()) return flags.cluster_domain;
  std::ifstream file("/etc/resolv.conf");
  return op::ClusterDomainOf(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

int RunOperator(const OperatorFlags& flags) {
  const op::Settings settings{.cluster_domain = ClusterDomain(flags),
                              .image_prefix = flags.image_prefix,
                              .image_tag = flags.image_tag,
                              .own_tag = std::string(net::UserAgent().substr(net::UserAgent().find('/') + 1)),
                              .propagated_node_conditions = flags.propagated_node_conditions};
  const auto set_up = [](const process::ProgramParts& parts) {
    op::AddKinds(parts.engine);
    return Result<void>();
  };
  return process::RunProgram({.name = std::string(op::kFieldManager),
                              .set_up = set_up,
                              .former_managers = {std::string(op::kFormerFieldManager)},
                              .settings = &settings,
                              .kubeconfig = flags.kubeconfig,
                              .namespaces = flags.namespaces,
                              .leader_elect = flags.leader_elect,
                              .lease_name = std::string(kLeaseName),
                              .lease_namespace = flags.lease_namespace,
                              .health_address = flags.health_address,
                              .metrics_address = flags.metrics_address,
                              .metrics_secure = flags.metrics_secure,
                              .log_level = flags.log_level});
}

}  // namespace capstan::cli
