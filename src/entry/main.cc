// capstan-entry ROLE [ARGUMENT...]: the first process of a container that runs a Slurm daemon. See supervisor.h.
// capstan-entry drain-logins SECONDS: what a login pod runs before it is stopped. See drain.h.
#include <stdlib.h>
#include <sysexits.h>

#include <string>
#include <vector>

#include "entry/drain.h"
#include "entry/launch.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

Result<int> Run(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "drain-logins")
    return DrainLogins({arguments.begin() + 1, arguments.end()});
  HoldStopSignals();  // until the supervisor takes them
  if (arguments.empty()) return Fail(Code::kInvalid, "usage: capstan-entry ROLE [ARGUMENT...]");
  CAPSTAN_TRY(const Role* role, FindRole(arguments[0]));
  CAPSTAN_TRY(const Container container, PrepareContainer(*role, {arguments.begin() + 1, arguments.end()}));
  return Supervise(container);
}

}  // namespace
}  // namespace capstan::entry

int main(int argc, char** argv) {
  const capstan::Result<int> status = capstan::entry::Run({argv + 1, argv + argc});
  if (status) return *status;
  if (const auto stopped = capstan::entry::PendingStopSignal()) return 128 + *stopped;
  capstan::entry::Say(status.error().message());
  return status.error().code() == capstan::Code::kInvalid ? EX_USAGE : EXIT_FAILURE;
}
