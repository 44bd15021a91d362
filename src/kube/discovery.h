// Keeps up to date what an API server serves (served_apis.h).
//
//   Discovery discovery(loop, client, {});
//   discovery.OnChange([&] { ... });
//   group.Spawn("discovery", discovery.Run());
//   if (discovery.served().Has(kServiceMonitors) == Served::kYes) ...
//
// For kinds that may come and go: the CRDs of other projects, aggregated APIs, versions of an older or newer server.
// (A Watcher needs none of this: it waits by itself for a kind that is not served.)
//
// A look is two requests, which a server that has not changed answers with 304; one from before 1.27 is asked for each
// group version by itself. Thread: the loop's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/served_apis.h"

namespace capstan::kube {

class Discovery {
 public:
  struct Options {
    Duration every = 60s;          // between looks; one that finds nothing new costs the server a comparison
    Duration while_partial = 15s;  // while some group version cannot be asked, or no look has succeeded
    uint64_t seed = 1;
  };
  // REQUIRES: loop and client outlive it.
  Discovery(async::Loop& loop, Client& client, Options options);

  // Looks now, and then again and again until cancelled. What fails is logged once each time it begins; what was known
  // stays.
  async::Task<void> Run();

  // Looks once; for programs that need it once, or now. One at a time, and not while Run runs (AskSoon is for that). An
  // error, when not even the list of groups could be read; what was known stays.
  async::Task<Result<void>> Look(async::Deadline deadline);

  // Run looks without waiting for its time.
  void AskSoon() { asked_.Set(); }

  // What the last look that succeeded found.
  const ServedApis& served() const { return served_; }

  // `tell` is called after each look that found something else than the one before.
  void OnChange(std::function<void()> tell) { tell_ = std::move(tell); }

 private:
  // One of the two documents that make a look, "/api" and "/apis", as last read.
  struct Part {
    std::string path;
    std::string etag;
    std::vector<ServedGroup> groups;
  };
  async::Task<Result<void>> Read(Part& part, async::Deadline deadline);
  async::Task<void> ReadVersions(std::vector<ServedGroup>& groups, async::Deadline deadline);
  void Take(ServedApis found);

  async::Loop& loop_;
  Client& client_;
  Options options_;
  Random random_;
  Part core_{"/api", {}, {}};
  Part named_{"/apis", {}, {}};
  ServedApis served_;
  std::function<void()> tell_;
  async::Event asked_;
  bool failing_ = false;
};

}  // namespace capstan::kube
