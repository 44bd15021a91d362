// What a Controller promises, from the outside: everything its key may ever send, what must never happen, and what done
// means for the user. Written against the API alone; it shares no code with Decide, which the simulator holds to it.
//
// Safety:
// - Nothing outside the Controller's namespace is written, and nothing but the names below.
// - A key is created only when the Controller asks for it, and never changed or deleted.
// - Of what runs, only a slurmctld pod is deleted, in the exact version that was seen; never a claim or a Secret.
// - A configuration is never taken away while its slurmctld is wanted, and never published without its ClusterName.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/controller.h"
#include "kube/resource.h"

namespace capstan::op::controller {

// One write as it reaches the API server.
struct Call {
  std::string verb;  // "apply", "create", "patch", "delete"
  std::string kind;  // "StatefulSet"
  kube::Key key;
  std::string subresource = {};
  std::string body = {};
};

// Why the key of `controller` must not send `call`; nullopt: it may.
std::optional<std::string> Breach(const api::Controller& controller, const Call& call);

// The object of that kind and key as JSON; nullopt when it is not there.
using Lookup = std::function<std::optional<std::string>(std::string_view kind, const kube::Key& key)>;

// Whether everything is as the user wants it; a sentence about the first thing that is not. Given the Controller as
// JSON as the API server has it, with its defaults.
std::optional<std::string> Unmatched(const std::string& controller, const Lookup& object);

}  // namespace capstan::op::controller
