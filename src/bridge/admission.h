// What the mutating webhook makes of a new pod of a bridged namespace: it waits at our gate, and belongs to the bridge. A pure
// function, repeatable: its own output goes through unchanged.
//
// Which pods are asked about at all is the webhook configuration's business (charts/slurm-bridge); what must not be bridged is
// let through here, too. What users may do to a bridged pod later is judged by a ValidatingAdmissionPolicy, without a call.
#pragma once

#include <string>

#include "kube/webhook/admission.h"

namespace capstan::bridge {

struct AdmissionSettings {
  std::string bridge;                 // value of the label `capstan.dev/bridged`
  std::string scheduler_name;         // by which a pod asks for the bridge
  std::string target_scheduler_name;  // who binds it in the end
};

// Of a pod that is being created. Denied, with one sentence: a pod that bears what only the bridge writes, or that could
// never be pinned. Warned of: wishes that may keep it from the node that Slurm chooses.
Result<kube::AdmissionAnswer> Admit(const AdmissionSettings& settings, const kube::AdmissionRequest& request);

}  // namespace capstan::bridge
