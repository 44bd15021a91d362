// Fields in a user's templates that the API server does not know. Applied, they make it refuse the whole object; created,
// it drops them without a word. Here they are dropped and named.
//
// Until the server has been asked, everything is taken for known: nothing waits for it.
#pragma once

#include <string_view>
#include <vector>

#include "json/types.h"
#include "kube/resource.h"
#include "operator/findings.h"
#include "plan/world.h"

namespace capstan::op {

// What a user wrote, and in which field of the resource: "spec.slurmctld".
struct UserField {
  std::string_view field;
  json::Raw* raw;
};

// Of a pod's spec and of parts of its containers. Takes the unknown fields out and names each in `findings`.
void DropUnknownPodFields(const plan::World& world, const kube::Key& owner, UserField pod_spec,
                          const std::vector<UserField>& containers, Findings& findings);

// The same of a Service's spec. externalIPs, which no Service of ours ever has, are named too.
void DropUnknownServiceFields(const plan::World& world, const kube::Key& owner, UserField service_spec,
                              Findings& findings);

}  // namespace capstan::op
