// A second API server of the same cluster whose watch cache has fallen behind: for tests of what must not be believed.
//
//   LaggingServer second(loop, server, {kThings});   // shows `server` as it is now, whatever happens to that
//   second.OnlyOf({"things"});                       // the other kinds are up to date
//   kube::Client client(loop, second, {});           // a process that was started anew finds this one
//   second.CatchUp();
//
// Lists and watches tell of the past. Writes, and reads of a single object, are the server's own: a real API server
// answers those from etcd.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kube/testing/fake_api_server.h"

namespace capstan::kube::testing {

class LaggingServer final : public net::Transport {
 public:
  // `kinds`: those that `server` serves beyond resource.h. REQUIRES: the server outlives it.
  LaggingServer(async::Loop& loop, FakeApiServer& server, const std::vector<Resource>& kinds);

  // By plural; at first every kind lags.
  void OnlyOf(std::set<std::string> plurals) { lagging_ = std::move(plurals); }

  // Knows from now on what has happened until now. Open watches break.
  void CatchUp() { past_.Restore(server_.objects().MakeBackup()); }

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override {
    return ToldBy(request).Send(std::move(request), deadline);
  }
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override {
    return ToldBy(request).Open(std::move(request), deadline);
  }

 private:
  FakeApiServer& ToldBy(const net::Request& request);

  FakeApiServer& server_;
  FakeApiServer past_;
  std::set<std::string> lagging_;
};

}  // namespace capstan::kube::testing
