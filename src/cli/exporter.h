// `capstan exporter`: Slurm's figures for Prometheus (docs/metrics.md).
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace capstan::cli {

struct ExporterFlags {
  std::string server = "http://localhost:6820";
  std::string token_file;  // empty: the token is in SLURM_JWT
  std::string interval = "5s", keep = "5m";
  std::string cluster;
  std::string metrics_address = ":8080", health_address = ":8081";
  bool metrics_secure = false;
  std::string kubeconfig;
  std::string log_level = "info";
};

void AddExporterFlags(CLI::App& command, ExporterFlags& flags);

// Runs until SIGTERM or SIGINT (0), or until something is wrong with what it was given (1).
int RunExporter(const ExporterFlags& flags);

}  // namespace capstan::cli
