#include "operator.h"

#include <cassert>

#include "operator/kind.h"
#include "operator/names.h"
#include "slurm/rest_source.h"

namespace capstan::sim {

Operator::Operator(Machines& machines, Rules& rules, std::vector<plan::Reconciler> reconcilers, uint64_t seed)
    : machines_(machines),
      random_(seed),
      client_(machines.loop, machines.api, {.field_manager = std::string(op::kFieldManager), .seed = random_.Next()}),
      engine_(
          machines.loop, client_,
          {.field_manager = std::string(op::kFieldManager),
           .former_managers = {std::string(op::kFormerFieldManager)},
           .seed = random_.Next(),
           .entropy = [this](size_t bytes) { return Entropy(bytes); },
           .slurm = [this](const plan::SlurmConnection& how,
                           plan::SlurmClusters::SignToken sign) { return Connect(how, std::move(sign)); },
           .ask = [this](std::string url, net::Request, async::Deadline) { return machines_.AskPod(std::move(url)); },
           .settings = &settings_,
           .namespaces = {},
           .tell = {},
           .started = [&rules](const plan::Key& key, const plan::Action& action) { rules.Started(key, action); },
           .ended = [&rules](const plan::Key& key, const plan::Action& action) { rules.Ended(key, action); }}),
      group_(machines.loop) {
  rules.Began();
  op::AddKinds(engine_, std::move(reconcilers));
  machines_.connected = true;
  group_.Spawn("engine", engine_.Run());
}

Operator::~Operator() {
  machines_.connected = false;
  group_.Spawn("stop", engine_.Stop());
  const bool ended = machines_.loop.RunUntil([this] { return group_.size() == 0; }, 1min);
  assert(ended && "the operator does not end");
  (void)ended;
}

Result<plan::SlurmClusters::Link> Operator::Connect(const plan::SlurmConnection& how,
                                                    plan::SlurmClusters::SignToken sign) {
  Site* site = machines_.SiteAt(how.server);
  if (site == nullptr) return Fail(Code::kInvalid, "nobody has the address " + how.server);
  const auto source = std::make_shared<slurm::RestSource>(
      machines_.loop, site->wire(), std::move(sign), slurm::RestSource::Options{.seed = random_.Next(), .client = {}});
  return plan::SlurmClusters::Link{source, [source = source.get()] { return source->Run(); }};
}

Secret Operator::Entropy(size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = char(random_.Next());
  return Secret(std::move(text));
}

}  // namespace capstan::sim
