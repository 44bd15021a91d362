// One life of the operator: its real client, engine and reconcilers, on the wires of Machines and Sites.
#pragma once

#include <memory>

#include "async/task_group.h"
#include "kube/client.h"
#include "machines.h"
#include "operator/settings.h"
#include "plan/engine.h"
#include "rules.h"

namespace capstan::sim {

class Operator {
 public:
  // Begins to run, with the machines connected; `rules` are told what it has in flight. Equal seeds give equal lives.
  Operator(Machines& machines, Rules& rules, std::vector<plan::Reconciler> reconcilers, uint64_t seed);
  // Ends as if killed: what was under way has happened or not. Takes no virtual time.
  ~Operator();

  bool Idle() const { return engine_.Idle(); }

 private:
  Result<plan::SlurmClusters::Link> Connect(const plan::SlurmConnection& how, plan::SlurmClusters::SignToken sign);
  Secret Entropy(size_t bytes);

  Machines& machines_;
  Random random_;
  op::Settings settings_;
  kube::Client client_;
  plan::Engine engine_;
  async::TaskGroup group_;
};

}  // namespace capstan::sim
