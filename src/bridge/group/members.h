// The pods of one group: which group a pod belongs to, and what each is to its group.
//
//   key            group                                                 its pods
//   -------------------------------------------------------------------------------------------------------------------------
//   pod.UID        one pod                                               that one
//   gang.UID       a Job whose pods bear `capstan.dev/gang: job`         the Job's
//   jobset.UID     a JobSet whose pods bear `capstan.dev/gang: jobset`   those of all of its Jobs; jobset.NAME, where no label says
//                                                                        the uid
//   lws.HASH       one replica of a LeaderWorkerSet                      the leader's and the workers', by their group key
//   xpg.NAME       a PodGroup of scheduler-plugins                       those whose label names it
//
// A key is told from the pod alone, and never reaches across namespaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/objects.h"
#include "kube/store.h"

namespace capstan::bridge::group {

enum class Kind : uint8_t { kPod, kGang, kJobSet, kLeaderWorkerSet, kPodGroup };

// "ns/key".
std::string GroupOf(const Pod& pod);

// Of a key's name, without the namespace; and what stands behind its first point.
Kind KindOf(std::string_view name);
std::string_view RestOf(std::string_view name);

// Of its job; 0: it has none.
int64_t JobIdOf(const Pod& pod);
// Which of the group's jobs that is: 1, 2, ...
int AttemptOf(const Pod& pod);

// The Kubernetes node that it is on, or was released to; "": it was not.
const std::string& NodeOf(const Pod& pod);

// Points into the list's store: lives as long as one Decide.
struct Members {
  // REQUIRES: not empty. `scheduler_name`: Settings'.
  Members(kube::ObjectList<Pod> pods, std::string_view scheduler_name);

  // By rank: of an indexed Job, among the Jobs of a JobSet, of a worker of a LeaderWorkerSet; else by age and name.
  std::vector<const Pod*> gated;     // wait at our gate, or for us to bind them (Pod::IsReleased)
  std::vector<const Pod*> released;  // have been let go, and have not ended
  std::vector<const Pod*> leaving;   // are being deleted, and have not ended
  std::vector<const Pod*> ended;

  bool none_lives() const { return gated.empty() && released.empty(); }
  size_t living() const { return gated.size() + released.size(); }
  const Pod& first() const;  // of the first list that has one

  // Of the latest attempt that one of them bears; 0: none bears a job.
  int64_t job = 0;
  int attempt = 1;

  // Whether it bears the job of the latest attempt.
  bool BearsIt(const Pod& pod) const { return job > 0 && JobIdOf(pod) == job; }
};

}  // namespace capstan::bridge::group
