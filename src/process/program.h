// The process around an engine: all that an operator needs besides its reconcilers.
//
//   int main(int argc, char** argv) {
//     process::ProgramOptions options{.name = "website-operator", .set_up = &SetUp};
//     ...                                              // what the command line says
//     return process::RunProgram(std::move(options));
//   }
//
// It finds the API server (kube/config/config.h); serves /healthz and /readyz (health.h) and /metrics; keeps every
// watched kind up to date from the start; and, once it leads, decides and acts, and tells users by Events. Of several
// processes that elect a leader one acts; a fence (kube/fence.h) sees to it that no write of one that has lost its Lease
// leaves. SIGTERM and SIGINT: what has begun may end within three seconds, then the Lease is given up, so that the next
// one acts within a second.
//
// What else a process needs, such as webhooks or discovery, runs beside the engine on its loop:
//
//   Result<void> SetUp(const plan::ProgramParts& parts) {
//     ...                                              // parts.engine: stores and reconcilers
//     auto identity = std::make_shared<net::ServingIdentity>();
//     auto keeper = std::make_shared<kube::WebhookKeeper>(parts.loop, parts.client, identity, ...);
//     parts.group.Spawn("webhook certificates", Keep(keeper));  // a coroutine that awaits keeper->Run()
//     parts.ready_when("the webhook's certificate", [keeper] { return keeper->ready(); });
//     CAPSTAN_TRY(auto server, net::HttpServer::Start({.port = 9443, .identity = identity}, handlers));
//     parts.group.Spawn("webhooks", ServeUntilCancelled(std::move(server)));
//     return {};
//   }
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::async {
class Loop;
class TaskGroup;
}  // namespace capstan::async
namespace capstan::kube {
class Client;
}
namespace capstan::net {
class Metrics;
}

namespace capstan::plan {
class Engine;
}

namespace capstan::process {

// What a program is made of, for set_up. All of it outlives every task of `group`; everything belongs to the thread of
// `loop`.
struct ProgramParts {
  plan::Engine& engine;  // to be given stores and reconcilers (engine.h)
  async::Loop& loop;
  // Not behind the fence: its writes leave whether this process leads or not. Every replica keeps its webhook's
  // certificate; what only the leader may do is an Effect, and the client that an Effect gets is fenced.
  kube::Client& client;
  net::Metrics& metrics;  // served at /metrics
  // Tasks that run from the start, leading or not. After SIGTERM or SIGINT they are cancelled when the engine has
  // stopped; the Lease is given up when they have ended, three seconds later at the latest. When the Lease is lost they
  // end with the process.
  async::TaskGroup& group;
  // /readyz waits until `ready` says true as well, and meanwhile names it as `what`. It is asked on the loop's thread,
  // again and again, once a second when nothing is waited for; it must not block.
  std::function<void(std::string what, std::function<bool()> ready)> ready_when;
};

struct ProgramOptions {
  std::string name;  // field manager, reporter of Events, and name of the Lease
  // Adds stores and reconcilers, and what else there is to run. Called once, before the loop runs; an error ends the
  // process before it has begun.
  std::function<Result<void>(const ProgramParts& parts)> set_up;
  // Programs that this one replaces: the fields that they set on children become its own (plan/ownership.h).
  std::vector<std::string> former_managers = {};
  const void* settings = nullptr;  // for World::Settings; outlives the call

  std::string kubeconfig = {};               // a path; empty: where everybody looks
  std::string context = {};                  // of the kubeconfig; empty: its current-context
  std::vector<std::string> namespaces = {};  // custom resources are looked for in these only; empty: everywhere
  bool leader_elect = false;                 // false: the only one of its kind, by whatever the deployment does
  std::string lease_name = {};               // empty: `name`
  std::string lease_namespace = {};          // empty: the process's own
  std::string health_address = ":8081";      // "[address]:port"; "0": not served
  std::string metrics_address = ":8080";     // the same
  // Metrics over HTTPS, to whom the API server lets `get` the path /metrics (kube/access_reviews.h); the process needs the
  // right to ask it. false: over HTTP, to everybody.
  bool metrics_secure = false;
  std::string log_level = "info";  // debug, info, warn, error, panic (as error), or a number above 0 (as debug)
};

// Returns 1, after a line in the log, when it cannot begin. Otherwise it does not return: the process ends with 0 after
// SIGTERM or SIGINT, with 1 when the Lease is lost. REQUIRES: called by the thread that main() began with, once.
int RunProgram(ProgramOptions options);

}  // namespace capstan::process
