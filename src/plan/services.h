// What effects, guards and questions may use: the clients, our own records, entropy. Owned by the engine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/loop.h"
#include "base/secret.h"
#include "kube/client.h"
#include "plan/memo.h"
#include "plan/ownership.h"
#include "plan/slurm/clusters.h"
#include "plan/stores.h"

namespace capstan::plan {

class Services {
 public:
  async::Loop& loop;
  kube::Client& client;
  Stores& stores;  // answers to our writes go in here at once
  AppliedMemo& memo;
  SlurmClusters& slurm;
  std::string field_manager;                      // of every server-side apply
  std::function<Secret(size_t bytes)> entropy;    // random bytes fit for keys
  std::vector<std::string> former_managers = {};  // whose fields become ours (ownership.h)

  Successor successor() const { return {field_manager, former_managers}; }
};

}  // namespace capstan::plan
