// The objects that a SlurmCluster is made of: the other kinds, and ConfigMaps with its files. Pure functions, given a
// SlurmCluster whose spec has its defaults.
//
// Each is applied with what the SlurmCluster says and nothing else: all other fields are a person's, an autoscaler's or a
// default. kInvalid: something that it says cannot be made; the message names the field.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/controller.h"
#include "api/slurmcluster.h"
#include "base/result.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::slurmcluster {

inline constexpr std::string_view kSssdKey = "sssd.conf";
inline constexpr std::string_view kRootVariable =
    "CAPSTAN_SHARED_ROOT";  // of the containers that look after a shared root

// The NodeSet of that name in spec.nodeSets: <cluster>-worker-<name>, as the chart slurm calls it.
std::string NodeSetName(std::string_view cluster, std::string_view name);
std::string LoginSetName(std::string_view cluster);
// The volume claim of its shared root. REQUIRES: it has one.
std::string RootClaimName(const api::SlurmCluster& cluster);
// The Secret with an sssd.conf that knows nobody, for a login without spec.login.sssdConfRef.
std::string SssdSecretName(std::string_view cluster);

Result<plan::Child> ControllerPart(const api::SlurmCluster& cluster, const Settings& settings);
Result<plan::Child> RestApiPart(const api::SlurmCluster& cluster, const Settings& settings);
// REQUIRES: spec.accounting is there.
Result<plan::Child> AccountingPart(const api::SlurmCluster& cluster, const Settings& settings);
// REQUIRES: spec.login is there.
Result<plan::Child> LoginSetPart(const api::SlurmCluster& cluster, const Settings& settings);
Result<plan::Child> NodeSetPart(const api::SlurmCluster& cluster, const api::ClusterNodeSet& set,
                                const Settings& settings);
// REQUIRES: spec.sharedRoot is there.
Result<plan::Child> SharedRootPart(const api::SlurmCluster& cluster, const Settings& settings);
// The Controller, as it is there, refers to an Accounting or to files that the SlurmCluster no longer wants: these stay until it
// has been changed.
bool NamesWhatIsNotWanted(const api::Controller& controller, const api::SlurmCluster& cluster);
// A ConfigMap for each group of files in spec.config.
Result<std::vector<plan::Child>> FileParts(const api::SlurmCluster& cluster);

}  // namespace capstan::op::slurmcluster
