// `capstan bridge admission` and `capstan bridge controllers`: the two programs of the bridge (docs/bridge.md).
#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace capstan::cli {

struct BridgeFlags {
  std::string config = "/etc/slurm-bridge/config.yaml";
  std::string name =
      "slurm-bridge";        // the release's: of its webhook, Service and lease, and with `ns` of the bridge itself
  std::string ns = "slurm";  // where it runs
  std::string kubeconfig;
  std::string health_address = ":8081";
  std::string metrics_address = ":8080";
  bool metrics_secure = false;
  std::string log_level = "info";

  // Of admission.
  uint16_t webhook_port = 9443;
  std::string certificates;  // a folder with tls.crt and tls.key; empty: of a CA of our own

  // Of controllers.
  bool leader_elect = false;
  std::string token_file;
};

// Declares both as subcommands.
void AddBridge(CLI::App& command, BridgeFlags& flags);

// Runs the one that was named, until SIGTERM or SIGINT (0), or until the lease is lost or something is wrong with what it was
// given (1).
int RunBridge(const CLI::App& command, const BridgeFlags& flags);

}  // namespace capstan::cli
