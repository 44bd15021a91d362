// `capstan doctor`: what is wrong with a cluster. `capstan doctor sharedroot`: what with a volume.
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

  // Of `capstan doctor sharedroot`.
  std::string claim, storage_class, size = "1Gi", image;
};

void AddDoctorFlags(CLI::App& command, DoctorFlags& flags);

// The exit status, as the help says. `command`: that of AddDoctorFlags.
int RunDoctor(const CLI::App& command, const DoctorFlags& flags);

}  // namespace capstan::cli
