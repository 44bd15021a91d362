// What the contract of a NodeSet reads, in its JSON and in what is around it: for what must never be sent (contract.cc), and for
// what done means (matched.cc).
//
// Functions without state; any thread. Views are of the object that was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.h"
#include "operator/contract.h"
#include "slurm/snapshot.h"

namespace capstan::op::nodeset::contract {

// How the reasons of the operator's drains begin.
inline constexpr std::string_view kOurs = "slurm-operator: ";

// A label of pods that may not be evicted.
inline constexpr std::string_view kProtect = "nodeset.slinky.slurm.net/pod-protect";

std::string NameOf(const json::Value& set);
// In Slurm, and before the ordinal of its workers' nodes.
std::string NameInSlurm(const json::Value& set);
std::string_view UidOf(const json::Value& set);
bool IsDeleting(const json::Value& set);
bool IsDaemonSet(const json::Value& set);
bool IsOnDemand(const json::Value& set);
// -1: spec.replicas is not there.
int64_t WantedReplicas(const json::Value& set);

bool AsksForReservation(const json::Value& set);
std::string ReservationOf(const json::Value& set);

// A record is that of a worker, whatever it is called, when its comment names the NodeSet.
bool IsOwnRecord(const json::Value& set, std::string_view name, const std::optional<slurm::Node>& record);
// It is known to be one also when nobody is there who has it.
bool IsOwnForGood(const json::Value& set, const slurm::Node& record);
// As the record's comment has it, and a person could look up.
bool IsMachineGone(const slurm::Node& node, const Around& around);

bool IsTrue(const json::Value& object, std::string_view condition);
// -1: it is none.
int64_t Number(const json::Value* value);

}  // namespace capstan::op::nodeset::contract
