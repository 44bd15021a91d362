// `capstan doctor`: what is wrong with a cluster.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace capstan::cli {

struct DoctorFlags {
  std::string ns;  // empty: the kubeconfig's
  bool all_namespaces = false;
  std::string output = "text";
  std::string kubeconfig;
  std::string context;
};

void AddDoctorFlags(CLI::App& command, DoctorFlags& flags);

// The exit status, as the help says.
int RunDoctor(const DoctorFlags& flags);

}  // namespace capstan::cli
