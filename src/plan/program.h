// The process around an engine: all that an operator needs besides its reconcilers.
//
//   int main(int argc, char** argv) {
//     plan::ProgramOptions options{.name = "website-operator", .set_up = &website::SetUp};
//     ...                                              // what the command line says
//     return plan::RunProgram(std::move(options));
//   }
//
// It finds the API server (kube/config/config.h); serves /healthz and /readyz (kube/health.h) and /metrics; keeps every watched
// kind up to date from the start; and, once it leads, decides and acts, and tells users by Events. Of several processes
// that elect a leader one acts; a fence (kube/fence.h) sees to it that no write of one that has lost its Lease leaves.
// SIGTERM and SIGINT: what has begun may end within three seconds, then the Lease is given up, so that the next one acts
// within a second.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace capstan::plan {

class Engine;

struct ProgramOptions {
  std::string name;                            // field manager, reporter of Events, and name of the Lease
  std::function<void(Engine& engine)> set_up;  // adds stores and reconcilers (engine.h)
  // Programs that this one replaces: the fields that they set on children become its own (ownership.h).
  std::vector<std::string> former_managers = {};
  const void* settings = nullptr;  // for World::Settings; outlives the call

  std::string kubeconfig = {};               // a path; empty: where everybody looks
  std::vector<std::string> namespaces = {};  // custom resources are looked for in these only; empty: everywhere
  bool leader_elect = false;                 // false: the only one of its kind, by whatever the deployment does
  std::string lease_name = {};               // empty: `name`
  std::string lease_namespace = {};          // empty: the process's own
  std::string health_address = ":8081";      // "[address]:port"; "0": not served
  std::string metrics_address = ":8080";     // the same
  std::string log_level = "info";            // debug, info, warn or error
};

// Returns 1, after a line in the log, when it cannot begin. Otherwise it does not return: the process ends with 0 after
// SIGTERM or SIGINT, with 1 when the Lease is lost. REQUIRES: called by the thread that main() began with, once.
int RunProgram(ProgramOptions options);

}  // namespace capstan::plan
