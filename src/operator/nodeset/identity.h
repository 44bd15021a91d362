// What the pod of a worker says of its slurmd (entry/identity.h), where Slurm has no record of the worker, or one that may be
// another slurmd's (Worker::record_is_sure).
//
// A user may have given slurmd another name, so that its jobs run under a record that is not taken for the worker's; and a
// slurmctld that has lost its records leaves running slurmds, with their jobs, without one. So a pod without a record is
// deleted only when its own slurmd is known, too, to have no job:
//
// | the pod                                                        | may go |
// |----------------------------------------------------------------|--------|
// | is gone                                                        | yes    |
// | has no slurmd: its container does not run, as the kubelet says | yes    |
// | says that its slurmd has the worker's name, and no job step    | yes    |
// | says that its slurmd has another name, or has job steps        | no     |
// | says nothing: its image has no capstan-entry, nobody is let in | no     |
//
// A record of the worker's name that has another slurmd's address and start is not the worker's (workers.cc).
//
// The answer can keep a pod and do nothing else: jobs share its network, and could answer in its stead. No drain, resume or
// deletion rests on it alone.
#pragma once

#include <memory>
#include <string>

#include "kube/resource.h"
#include "operator/nodeset/workers.h"
#include "plan/action.h"
#include "plan/question.h"

namespace capstan::op::nodeset {

// What the pod says. Absent: nobody listens there.
struct SlurmdIdentity final : plan::Question {
  struct Value {
    std::string node;  // the name of its slurmd in Slurm
    bool steps = true;
  };
  SlurmdIdentity(kube::Key pod, std::string address) : pod(std::move(pod)), address(std::move(address)) {}
  std::string id() const override { return "slurmd of " + pod.ToString() + " at " + address; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  // kInvalid: it is not an answer.
  static Result<Value> Parse(std::string_view json);

  kube::Key pod;
  std::string address;  // of the pod
};

// How old an answer may be that is told.
inline constexpr Duration kIdentityAge = 30s;

SlurmdIdentity IdentityOf(const Worker& worker);

// The pod may go, as the table says, asked just now.
std::shared_ptr<const plan::Guard> SlurmdIsFree(const Worker& worker);

}  // namespace capstan::op::nodeset
