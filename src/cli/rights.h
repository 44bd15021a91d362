// `capstan rights SERVICE`: what a service may do on the API server, as the rules of its chart.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace capstan::cli {

struct RightsFlags {
  std::string service;
};

void AddRightsFlags(CLI::App& command, RightsFlags& flags);

// Prints the Helm templates; the program's exit status.
int RunRights(const RightsFlags& flags);

}  // namespace capstan::cli
