// capstan-entry ROLE [ARGUMENT...]: the first process of a container that runs a Slurm daemon. See supervisor.h.
// capstan-entry drain-logins SECONDS: what a login pod runs before it is stopped. See drain.h.
// capstan-entry root fill|switch ...: what Jobs run for a shared root; capstan-entry enter COMMAND: into it. See root/jobs.h.
// srun, sbatch, ...: Slurm's commands in a shared root that has none. See root/commands.h.
#include <stdlib.h>
#include <sysexits.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "entry/drain.h"
#include "entry/launch.h"
#include "entry/process.h"
#include "entry/root/commands.h"
#include "entry/root/jobs.h"

namespace capstan::entry {
namespace {

Result<int> Run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Fail(Code::kInvalid, "usage: capstan-entry ROLE [ARGUMENT...]");
  const std::vector<std::string> others(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "drain-logins") return DrainLogins(others);
  if (arguments[0] == "root") return RunRootJob(others);
  if (arguments[0] == "enter") return EnterRoot(others);
  HoldStopSignals();  // until the supervisor takes them
  CAPSTAN_TRY(const Role* role, FindRole(arguments[0]));
  CAPSTAN_TRY(const Container container, PrepareContainer(*role, others));
  return Supervise(container);
}

}  // namespace
}  // namespace capstan::entry

int main(int argc, char** argv) {
  const std::string_view command = argc > 0 ? capstan::entry::CommandOf(argv[0]) : "";
  const std::vector<std::string> arguments(argv + std::min(1, argc), argv + argc);
  const capstan::Result<int> status =
      command.empty() ? capstan::entry::Run(arguments) : capstan::entry::RunCommand(command, arguments);
  if (status) return *status;
  if (const auto stopped = capstan::entry::PendingStopSignal()) return 128 + *stopped;
  capstan::entry::Say(status.error().message());
  return status.error().code() == capstan::Code::kInvalid ? EX_USAGE : EXIT_FAILURE;
}
