// The effects on a Slurm cluster, and what is proven before a worker is taken away.
//
// A drain has an owner: these effects write reasons with our prefix, or one that stands there already, and lift only what
// bears our prefix. IDLE is never written. All run in the cluster's own lane.
//
// Each proof rests on reads that begin after it is asked for; those that are asked of one cluster in one turn share them.
// Slurm takes no conditions with a write, so what somebody else writes between the two is not seen; unless a look that
// began after that read has been answered before it, which then must agree.
//
// What proves that no job is on a node and none will begin there (NodeIsDrained, NodeIsOurs) also rests on what we wrote
// to it ourselves (SlurmClusters::ReadForProof): its reads begin after our last drain, undrain or resume of the node was
// answered, and an undrain or resume of which nobody knows the end is followed by another drain before a proof counts.
#pragma once

#include <memory>
#include <string>

#include "plan/action.h"
#include "slurm/source.h"

namespace capstan::plan {

// What an action on this node calls its target.
std::string NodeTarget(std::string_view cluster, std::string_view node);

// The same of an action on this reservation; and the id of questions about it, whose answers these outdate.
std::string ReservationTarget(std::string_view cluster, std::string_view name);

// What is done to one node, under a verb for people: "drain", "undrain", "resume", "comment". A node that slurmctld
// does not know (any more) is kNotFound.
std::shared_ptr<const Effect> UpdateNode(std::string_view verb, std::string cluster, slurm::NodeUpdate update);

// Makes the record of an external or cloud node. One of that name that is there stays as it is: whose it is, the next look tells.
std::shared_ptr<const Effect> CreateNode(std::string cluster, slurm::NewNode node);

// Removes the record of a dynamic node. What is gone already counts as removed.
std::shared_ptr<const Effect> DeleteNode(std::string cluster, std::string node);

// Makes a reservation, or changes it.
std::shared_ptr<const Effect> WriteReservation(std::string cluster, slurm::ReservationUpdate update);

// Removes a reservation of that name. What is gone already counts as removed.
std::shared_ptr<const Effect> DeleteReservation(std::string cluster, std::string name);

// Lets slurmctld read its configuration anew, of which `text` is a digest: one effect for each.
std::shared_ptr<const Effect> Reconfigure(std::string cluster, std::string text);

// Slurm says, asked just now: the node is drained (DRAIN without UNDRAIN, or FAIL; none of ALLOCATED, MIXED, COMPLETING),
// and no job holds it that does not show there: a suspended one leaves its node IDLE. A record that is absent proves it
// too, if slurmctld has been up long enough and `absent_is_enough`: where something else proves that the worker's slurmd has no
// job.
std::shared_ptr<const Guard> NodeIsDrained(std::string cluster, std::string node, bool absent_is_enough);

// Slurm says, asked just now: nobody else has taken the node out of service. It is neither drained nor DOWN, or the
// reason begins with `reason_prefix`, or is slurmctld's own ("Not responding", "Node unexpectedly rebooted"); FAIL is
// always somebody else's. Nor does Slurm wait for its slurmd to begin: a job would lose the node (NodeState::AwaitsSlurmd).
// Before anything is written over a reason.
std::shared_ptr<const Guard> NodeIsNotHeld(std::string cluster, std::string node, std::string reason_prefix);

// Slurm says, asked just now: the node is DOWN and not drained, and `reason` is its reason. Before it is drained under a
// reason that somebody else gave.
std::shared_ptr<const Guard> NodeIsDownFor(std::string cluster, std::string node, std::string reason);

// Slurm says, asked just now: it does not hear from the node.
std::shared_ptr<const Guard> NodeIsSilent(std::string cluster, std::string node);

// Slurm says, asked just now: no job holds the node, suspended ones included, and none begins there, as it is drained, DOWN or not
// heard from; or there is no record of it, and slurmctld has been up long enough. Before another slurmd takes its name.
std::shared_ptr<const Guard> NodeIsFree(std::string cluster, std::string node);

// Slurm says, asked just now: it has powered the node down, or is doing so, and no job holds it. Before its slurmd, or its record, is taken away.
std::shared_ptr<const Guard> NodeIsPoweredDown(std::string cluster, std::string node);

// Slurm says, asked just now: it waits for a slurmd of that name to begin. Before one that has begun earlier is taken away.
std::shared_ptr<const Guard> NodeIsPoweringUp(std::string cluster, std::string node);

// Slurm says, asked just now: no job holds the node, suspended ones included, and what is wrong with it (DRAIN or DOWN)
// bears a reason that begins with `reason_prefix`. For removing its record, which Slurm refuses for jobs that run, and
// does not for suspended ones.
std::shared_ptr<const Guard> NodeIsOurs(std::string cluster, std::string node, std::string reason_prefix,
                                        bool absent_is_enough);

}  // namespace capstan::plan
