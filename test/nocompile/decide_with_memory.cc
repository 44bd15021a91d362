// layer: operator
// expect: no viable conversion
// A Decide is a plain function: it has nowhere to keep anything from one call to the next.
#include "plan/engine.h"

void Add(capstan::plan::Engine& engine) {
  using namespace capstan::plan;
  int seen = 0;
#ifdef OFFENCE
  Decide decide = [&seen](const World&, const capstan::kube::Key&) { return Plan{.requeue_after = Duration(++seen)}; };
#else
  Decide decide = [](const World&, const capstan::kube::Key&) { return Plan{}; };
#endif
  engine.Add({.kind = "x", .resource = nullptr, .decide = decide, .children = {}});
  (void)seen;
}
