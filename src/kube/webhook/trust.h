// Where API servers are told whom to trust as a webhook: the caBundle of validating and mutating webhook
// configurations.
//
// Only webhooks of ours are looked at, by name; everything else in the object is somebody else's. A caBundle
// that is not what it must be, because it is new, old, or because a person changed it, is repaired by the
// smallest patch: its own field of the very object that was read. Pure; the client
// calls are keeper.h's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/resource.h"

namespace capstan::kube {

inline constexpr Resource kValidatingWebhookConfigurations{
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false};
inline constexpr Resource kMutatingWebhookConfigurations{
    "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false};

struct TrustTarget {
  Resource resource;  // one of the two above
  std::string name;
  std::vector<std::string> webhooks = {};  // those that are ours
};

// One caBundle of ours as it was found.
struct TrustPlace {
  std::string pointer;    // JSON pointer of the caBundle
  std::string ca_bundle;  // base64, as it is in the object
};

struct TrustObject {
  uint64_t resource_version = 0;
  std::vector<TrustPlace> places;
  std::vector<std::string> missing;  // webhooks that the target names and the object lacks
};

// The places of `target` in its object (JSON). kInvalid: not such an object.
Result<TrustObject> ReadTrust(const TrustTarget& target, std::string_view object_json);

// Every place of the object has this bundle (PEM).
bool Holds(const TrustObject& object, std::string_view bundle_pem);

// The JSON patch that makes it so. kConflict when the object was changed since it was read.
std::string TrustPatch(const TrustObject& object, std::string_view bundle_pem);

}  // namespace capstan::kube
