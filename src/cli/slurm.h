// capstan slurm: what Slurm says of itself, by any slurmrestd.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace capstan::cli {

struct SlurmFlags {
  std::string server = "http://localhost:6820";
  std::string token_file, ca_file;
  std::string output = "table";
  bool watch = false;
  std::string every = "2s";
  std::string patience = "30s";
  std::vector<std::string> names;
};

void AddSlurm(CLI::App& command, SlurmFlags& flags);

// REQUIRES: one of the commands that AddSlurm added was parsed.
int RunSlurm(const CLI::App& command, const SlurmFlags& flags);

}  // namespace capstan::cli
