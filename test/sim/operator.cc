#include "operator.h"

#include <cassert>

#include "operator/kind.h"
#include "operator/names.h"
#include "slurm/rest_source.h"

namespace capstan::sim {

Operator::Operator(Cluster& cluster, std::vector<plan::Reconciler> reconcilers, uint64_t seed)
    : cluster_(cluster),
      random_(seed),
      client_(cluster.loop, cluster.api, {.field_manager = std::string(op::kFieldManager), .seed = random_.Next()}),
      engine_(cluster.loop, client_,
              {.field_manager = std::string(op::kFieldManager),
               .former_managers = {std::string(op::kFormerFieldManager)},
               .seed = random_.Next(),
               .entropy = [this](size_t bytes) { return Entropy(bytes); },
               .slurm = [this](const plan::SlurmConnection& how,
                               plan::SlurmClusters::SignToken sign) { return Connect(how, std::move(sign)); },
               .settings = &settings_,
               .namespaces = {},
               .tell = {}}),
      group_(cluster.loop) {
  op::AddKinds(engine_, std::move(reconcilers));
  cluster_.connected = true;
  group_.Spawn("engine", engine_.Run());
}

Operator::~Operator() {
  cluster_.connected = false;
  group_.Spawn("stop", engine_.Stop());
  const bool ended = cluster_.loop.RunUntil([this] { return group_.size() == 0; }, 1min);
  assert(ended && "the operator does not end");
  (void)ended;
}

Result<plan::SlurmClusters::Link> Operator::Connect(const plan::SlurmConnection&, plan::SlurmClusters::SignToken sign) {
  const auto source =
      std::make_shared<slurm::RestSource>(cluster_.loop, cluster_.slurm_wire(), std::move(sign),
                                          slurm::RestSource::Options{.seed = random_.Next(), .client = {}});
  return plan::SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
}

Secret Operator::Entropy(size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = char(random_.Next());
  return Secret(std::move(text));
}

}  // namespace capstan::sim
