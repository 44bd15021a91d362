// Whose a job of Slurm is, and for what: the text in its admin_comment, which administrators of Slurm alone can write.
//
//   capstan-bridge {"v":1,"c":"<uid of kube-system>","b":"slinky.slurm-bridge","g":"ml/pod.<uid>","a":1,"k":1,"d":"<hash>","p":"<hash>"}
//
// As a whole it is no JSON: slurm-bridge of the Slinky projects, on the same Slurm, cancels every job whose admin_comment is a
// JSON object that names none of its pods. Everything up to a group is the same text for all of its jobs, so that a proof
// compares the beginning alone (plan/slurm/jobs.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan::bridge {

// With which every mark begins, of jobs and of nodes (node/mark.h).
inline constexpr std::string_view kMarkWord = "capstan-bridge ";

struct JobMark {
  std::string cluster;  // uid of the namespace kube-system
  std::string bridge;   // Settings::bridge
  std::string group;    // "ns/key"
  int attempt = 1;
  int64_t pods_per_node = 1;  // as it was asked for: so many of the group's pods may go to each of its nodes
  std::string order = {};     // a hash of what was asked for
  std::string policy = {};    // a hash of the policy of its namespace then (policy.h)
  std::string outcome = {};   // how it ended, once that is known: "Succeeded", "Failed", "Deleted"; "": it has not

  // nullopt: not a mark of any bridge.
  static std::optional<JobMark> Of(std::string_view admin_comment);
  // Of its beginning, that of all marks of a group.
  static std::optional<JobMark> OfPrefix(const std::string& prefix) { return Of(prefix + "\"a\":1}"); }
  std::string ToString() const;
  std::string ns() const { return group.substr(0, group.find('/')); }  // of the group
  // With which all marks of this group begin, of any attempt and outcome.
  std::string Prefix() const;

  bool operator==(const JobMark&) const = default;
};

// The id of a group's job, by arithmetic alone, so that a repeated submission meets its own job: another one for each attempt.
// `uid`: of the pod that was first to be labelled.
int64_t JobId(std::string_view cluster, std::string_view uid, int attempt, int64_t first_id, int64_t ids);

}  // namespace capstan::bridge
