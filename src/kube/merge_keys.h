// How the objects of core/v1 and apps/v1 merge that users may give in part (json/strategic_merge.h): which
// lists have keys, which are appended to, where only one of several members may be set, and which members
// exist (Kubernetes 1.35).
//
// As `kubectl patch` has it, with these differences, each because the plain rule loses something or gives an
// object that the API server refuses:
// - containers and initContainers keep the base's order first: the order of init containers means something, and the
//   first container is what kubectl logs shows;
// - ports are told apart by protocol too, topologySpreadConstraints by whenUnsatisfiable;
// - tolerations, DNS search domains, and the required and preferred terms of pod affinity and anti-affinity are
//   appended, not replaced: those of the base have their reason;
// - a volume, a probe's handler, a variable's value name one source: naming another drops the base's.
// A user who wants a list to be only his puts `$patch: replace` into it.
#pragma once

#include "json/strategic_merge.h"

namespace capstan::kube {

extern const json::MergeShape kPodTemplateShape;  // {metadata, spec}
extern const json::MergeShape kPodSpecShape;
extern const json::MergeShape kContainerShape;
extern const json::MergeShape kServiceSpecShape;
extern const json::MergeShape kPersistentVolumeClaimSpecShape;
extern const json::MergeShape kDeploymentStrategyShape;

}  // namespace capstan::kube
