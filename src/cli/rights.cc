#include "cli/rights.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bridge/reconcilers.h"
#include "operator/kind.h"

namespace capstan::cli {

void AddRightsFlags(CLI::App& command, RightsFlags& flags) {
  command.add_option("service", flags.service, "operator or bridge")
      ->required()
      ->check(CLI::IsMember({"operator", "bridge"}));
}

int RunRights(const RightsFlags& flags) {
  std::fputs((flags.service == "bridge" ? bridge::RulesTemplate() : op::RulesTemplate()).c_str(), stdout);
  return 0;
}

}  // namespace capstan::cli
