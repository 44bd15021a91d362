#include "drain.h"

#include <algorithm>

#include "async/event.h"

namespace drain {

using namespace capstan;

async::Task<Result<void>> Drain(async::Loop& loop, slurm::Source& source, std::string node, std::string reason,
                                async::Deadline deadline) {
  slurm::NodeUpdate update;
  update.names = {node};
  update.action = slurm::NodeAction::kDrain;
  update.reason = reason;
  CAPSTAN_CO_CHECK_OK(co_await source.UpdateNode(std::move(update), deadline));

  // Looked at often while this lives, and said when it changes.
  async::Event changed(loop);
  const auto expectation = source.Expect({node});
  const auto subscription = source.Subscribe([&changed] { changed.Set(); });
  bool drains = false;
  while (true) {
    changed.Reset();
    const slurm::Source::View view = source.Latest();
    const slurm::Node* known = view.snapshot ? view.snapshot->FindNode(node) : nullptr;
    std::string why = known == nullptr ? node + " is not known yet" : node + " is " + known->state.ToString();
    if (view.error) why += ", and Slurm cannot be asked: " + view.error->message();
    if (known != nullptr) {
      if (drains && !known->state.IsDraining()) co_return Fail(Code::kConflict, "somebody took the drain back: " + why);
      drains = known->state.IsDraining();
    }
    if (known != nullptr && known->state.IsDrained()) {
      // A snapshot is always old: before a machine is opened Slurm is asked anew, and an error means unknown.
      const async::Deadline soon = loop.After(30s);
      const auto fresh = co_await source.ReadNodes({node}, soon);
      const auto held = co_await source.ReadNodesOfSuspendedJobs(soon);
      const slurm::Node* now = fresh ? fresh->Find(node) : nullptr;
      const bool is_held = held && std::ranges::find(*held, node) != held->end();
      if (now != nullptr && now->state.IsDrained() && held && !is_held) co_return Result<void>();
      if (is_held) why = "a suspended job is on " + node;
      if (!fresh || !held) why += "; " + (fresh ? held.error() : fresh.error()).message();
    }
    if (deadline.Passed(loop.Now())) co_return Fail(Code::kDeadline, why);
    co_await changed.Wait(deadline.Earlier(loop.After(5s)));
  }
}

}  // namespace drain
