// What effects, guards and questions may use: the clients, our own records, entropy. Owned by the engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/secret.h"
#include "kube/client.h"
#include "net/http.h"
#include "plan/memo.h"
#include "plan/ownership.h"
#include "plan/slurm/clusters.h"
#include "plan/stores.h"

namespace capstan::plan {

class Services {
 public:
  using Ask = std::function<async::Task<Result<net::Response>>(std::string server, net::Request request,
                                                               async::Deadline deadline)>;

  async::Loop& loop;
  kube::Client& client;
  Stores& stores;  // answers to our writes go in here at once
  AppliedMemo& memo;
  SlurmClusters& slurm;
  std::string field_manager;                      // of every server-side apply
  std::function<Secret(size_t bytes)> entropy;    // random bytes fit for keys
  std::vector<std::string> former_managers = {};  // whose fields become ours (ownership.h)
  // One request to a server that is neither the API server nor a slurmrestd ("http://10.0.0.7:6815"). May be empty.
  Ask ask = {};

  Successor successor() const { return {field_manager, former_managers}; }
};

}  // namespace capstan::plan
