// The objects that a LoginSet turns into. Pure functions, given a LoginSet whose spec has its defaults.
#pragma once

#include <string>

#include "api/controller.h"
#include "api/loginset.h"
#include "base/result.h"
#include "operator/settings.h"
#include "plan/plan.h"

namespace capstan::op::loginset {

// How long a pod that goes waits for its sessions, at most.
inline constexpr Duration kDrainCap = 12h;

// As render/ssh.h has it. With an image that does not, a change of the files replaces the pods, as the Slinky projects'
// operator does it. kInvalid: spec.login is no object.
Result<bool> ReadsFilesLive(const api::LoginSet& login_set, const Settings& settings);

// N: where people reach sshd.
Result<plan::Child> ServiceObject(const api::LoginSet& login_set);

// N-ssh-config: sshd_config, and authorized_keys of root.
plan::Child SshConfig(const api::LoginSet& login_set);

// What the pods depend on besides the LoginSet; each change replaces them. Empty: not a reason.
struct PodHashes {
  std::string slurm_key;
  std::string sshd_config, sssd_config, host_keys;  // empty where files are read live
};

// The texts of N-ssh-config as one, for a digest.
std::string SshTexts(const api::LoginSet& login_set);

// N: sackd, sshd and SSSD. `drain_cap` as above. kInvalid: a template that cannot be merged.
Result<plan::Child> LoginDeployment(const api::LoginSet& login_set, const api::Controller& controller,
                                    const PodHashes& hashes, Duration drain_cap, const Settings& settings);

}  // namespace capstan::op::loginset
