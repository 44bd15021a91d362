// What a SlurmCluster promises (operator/contract.h).
//
// Safety: of Kubernetes the Controller, RestApi and Accounting called as it is, the LoginSet <name>-login, NodeSets
// <name>-worker-*, and ConfigMaps <name>-files, -prolog, -epilog, -prolog-slurmctld and -epilog-slurmctld, all with the
// SlurmCluster as their controller; the Secret <name>-sssd-conf, which is created and never written to again; its own
// finalizer and status. Never pods or claims. An object is deleted as it was seen, never the Controller. Of Slurm
// the reservation capstan-<name>: it is made in maintenance alone, and removed only otherwise,
// and before a stop not until jobs start on no worker.
#pragma once

#include "operator/contract.h"

namespace capstan::op::slurmcluster {

extern const Contract kContract;

}  // namespace capstan::op::slurmcluster
