// The names by which the bridge, its users and Slinky's slurm-bridge know things, all in one place.
#pragma once

#include <string_view>

namespace capstan::bridge {

// On pods. Only the bridge writes these.
inline constexpr std::string_view kBridged = "capstan.dev/bridged";                   // label: whose pod it is
inline constexpr std::string_view kGate = "capstan.dev/slurm";                        // scheduling gate
inline constexpr std::string_view kJobId = "scheduler.slinky.slurm.net/slurm-jobid";  // label
inline constexpr std::string_view kAttempt = "capstan.dev/attempt";                   // annotation: 1, 2, ...
inline constexpr std::string_view kSlurmNode = "slinky.slurm.net/slurm-node";         // annotation: Kubernetes node
inline constexpr std::string_view kRequestedScheduler = "scheduler.slinky.slurm.net/requested-scheduler";  // annotation
inline constexpr std::string_view kJobCondition = "capstan.dev/SlurmJob";                                  // condition

// On pods, by their users.
inline constexpr std::string_view kJobAnnotations = "slurmjob.slinky.slurm.net/";

// On Kubernetes nodes.
inline constexpr std::string_view kSlurmNodeName = "slinky.slurm.net/slurm-nodename";  // label: its name in Slurm
inline constexpr std::string_view kManagedNodeTaint = "slinky.slurm.net/managed-node";

}  // namespace capstan::bridge
