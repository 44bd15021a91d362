// What the pods of a namespace may ask of Slurm, and as whom: annotations of the Namespace, for whoever may write Namespaces.
//
//   capstan.dev/policy-   value    its pods
//   ---------------------------------------------------------------------------------------------------------------------
//   user, group           a uid,   run jobs as this user and group. Both, or none
//                         a gid
//   accounts, partitions, "a, b"   may name these; where they name none, the first is meant
//   qos, wckeys
//   reservations          "a, b"   may name these
//   max-priority          number   may ask for a priority of at most that
//
// What has no annotation is not limited here, but that nobody names a user, a group or a priority, unless
// Settings::allow_identity lets the pods of a namespace without a policy. Slurm's own limits hold in any case.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bridge/objects.h"

namespace capstan::bridge {

struct Policy {
  std::string ns;      // of whom; for messages
  bool there = false;  // the Namespace has one of the annotations
  std::optional<int64_t> user, group, max_priority;
  // By the annotation's end ("accounts"): the names, of which there is one at least.
  std::map<std::string, std::vector<std::string>, std::less<>> lists;

  // kInvalid: one sentence that names the annotation, for whoever wrote it.
  static Result<Policy> Of(const Namespace& ns);

  // What an order may have of a list, which names `named` ("": nothing; of partitions and reservations several, "a,b"). `what`: one
  // of it, in messages. kForbidden: one sentence with what is allowed.
  Result<std::string> Choose(std::string_view list, std::string_view what, const std::string& named) const;

  // The same for policies that say the same.
  std::string Hash() const;

  bool operator==(const Policy&) const = default;
};

// The largest id of a user or group, and the largest priority, that Slurm takes.
inline constexpr int64_t kMostId = 4'294'967'293;

// No job of the bridge is this user's: root's, and Slurm's own, who may do everything to Slurm.
bool IsReservedUser(int64_t uid);

}  // namespace capstan::bridge
