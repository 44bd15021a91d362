// What a user wrote in a custom resource, laid over what Capstan builds. The rules of the lists and objects are
// kube/merge_keys.h; here are those that are about Slurm's daemons.
//
// All functions: kInvalid when the user's part cannot be merged; the message begins with `where`, the field it stands
// in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/types.h"
#include "operator/render/json.h"

namespace capstan::op::render {

// A container with the user's overrides (spec.slurmctld, spec.slurmd, ...). The user's args come after ours, which the
// daemon cannot run without; the name stays ours. false, 0 and "" are values; null removes what we set. A probe of
// which only numbers are given keeps our handler.
Result<JsonObject> MergeContainer(JsonObject base, const json::Raw& user, std::string_view where);

// A pod spec with the user's (spec.template.spec). Containers are joined by name, ours first; our tolerations, search
// domains and affinity terms stay beside the user's.
Result<JsonObject> MergePodSpec(JsonObject base, const json::Raw& user, std::string_view where);

// One port of a Service of ours. Its target is the container port of the same name.
struct ServicePort {
  std::string name;
  int number = 0;
  int node_port = 0;  // 0: none asked for
  std::string target;
};

// The spec of a Service: the user's, with our ports after his and our selector over his. externalIPs are dropped: they
// let a Service take over traffic to any address. kInvalid when two ports share a name or number,
// and for type ExternalName.
Result<JsonObject> MergeService(const json::Raw& user, const std::vector<ServicePort>& ports, const StringMap& selector,
                                std::string_view where);

// The spec of a headless Service of ours: every pod has an address there from its start.
JsonObject HeadlessService(const std::vector<ServicePort>& ports, const StringMap& selector);

}  // namespace capstan::op::render
