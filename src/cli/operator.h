// `capstan operator`.
#pragma once

#include <string>
#include <vector>

namespace capstan::cli {

struct OperatorFlags {
  std::string kubeconfig;
  std::vector<std::string> namespaces;
  bool leader_elect = false;
  std::string lease_namespace;
  std::string health_address = ":8081";
  std::string metrics_address = ":8080";
  bool metrics_secure = false;
  std::string log_level = "info";
  std::string image_prefix = "capstan";
  std::string image_tag = "26.05";
  std::vector<std::string> propagated_node_conditions;
  std::string cluster_domain;  // empty: as /etc/resolv.conf has it
};

// Runs until SIGTERM or SIGINT (0), or until the lease is lost or something is wrong with what it was given (1).
int RunOperator(const OperatorFlags& flags);

}  // namespace capstan::cli
