#include "operator/nodeset/phase.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

struct PhaseCase {
  Stage stage;
  bool runs, ready, marked, cordoned, held;
  Phase phase;
};

// The edges of the picture in docs/workers.md.
TEST(Phases, AreReadOffBothSides) {
  using enum Phase;
  const PhaseCase cases[] = {
      {Stage::kUnbound, false, false, false, false, false, kCreating},
      {Stage::kUnregistered, false, false, false, false, false, kCreating},
      {Stage::kUnregistered, true, false, false, false, false, kRegistering},
      {Stage::kUnregistered, true, false, true, false, false, kDraining},
      {Stage::kServing, true, true, false, false, false, kReady},
      {Stage::kServing, true, false, false, false, false, kRegistering},
      {Stage::kServing, false, false, false, false, false, kCreating},
      {Stage::kServing, true, true, false, true, false, kCordoned},
      {Stage::kServing, true, true, true, true, false, kDraining},
      {Stage::kUnknown, true, true, false, false, false, kReady},
      {Stage::kUnknown, true, true, true, false, false, kDraining},
      {Stage::kDraining, true, true, false, true, false, kCordoned},
      {Stage::kDraining, true, true, true, false, false, kDraining},
      {Stage::kDrained, true, true, false, true, false, kCordoned},
      {Stage::kDrained, true, true, true, false, false, kDrained},
      {Stage::kHeld, true, true, false, false, true, kCordoned},
      {Stage::kHeld, true, true, true, false, true, kDrained},
      {Stage::kDown, true, true, false, false, false, kRegistering},
      {Stage::kDown, true, true, false, false, true, kCordoned},
      {Stage::kDown, true, true, true, false, false, kDraining},
      {Stage::kEnded, false, false, false, false, false, kDeleting},
      {Stage::kLeaving, true, true, true, true, false, kDeleting},
  };
  for (const PhaseCase& one : cases) {
    Pod pod;
    pod.status.phase = one.runs ? "Running" : "Pending";
    pod.status.conditions = {{.type = "Ready", .status = one.ready ? "True" : "False"}};
    if (one.marked) pod.metadata.annotations[std::string(kAnnotationScaleIn)] = "true";
    slurm::Node node{.name = "w-0"};
    node.state.Add(slurm::NodeFlag::kIdle);
    node.state.Add(slurm::NodeFlag::kDrain);
    Worker worker{.host = "w-0", .pod = &pod, .node = &node, .stage = one.stage};
    if (one.cordoned) worker.cordon = "slurm-operator: why";
    worker.held = one.held;
    EXPECT_EQ(Name(PhaseOf(&worker)), Name(one.phase)) << "case " << &one - cases;
  }
  EXPECT_EQ(Name(PhaseOf(nullptr)), "gone");
}

}  // namespace
}  // namespace capstan::op::nodeset
