#include "cli/rights.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "operator/kind.h"

namespace capstan::cli {

void AddRightsFlags(CLI::App& command, RightsFlags& flags) {
  command.add_option("service", flags.service, "operator")->required()->check(CLI::IsMember({"operator"}));
}

int RunRights(const RightsFlags&) {
  std::fputs(op::RulesTemplate().c_str(), stdout);
  return 0;
}

}  // namespace capstan::cli
