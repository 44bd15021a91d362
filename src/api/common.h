// What several kinds of custom resources have in common.
//
// All kinds: plain structs, decoded and encoded by their field tables (json/schema.h), which also make the
// custom resource definitions and docs/reference.md. A std::optional member is one whose absence differs from
// its zero value; WithDefaults() fills in every default, so that nothing but the tables knows them.
// References name objects in the resource's own namespace; there is no way to name one elsewhere.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/defaults.h"
#include "json/object_meta.h"
#include "json/schema.h"

namespace capstan::api {

inline constexpr std::string_view kGroup = "slinky.slurm.net";
inline constexpr std::string_view kVersion = "v1beta1";
inline constexpr std::string_view kApiVersion = "slinky.slurm.net/v1beta1";
// Of kinds that Capstan alone has.
inline constexpr std::string_view kOwnGroup = "capstan.dev";
inline constexpr std::string_view kOwnVersion = "v1alpha1";

// Of a text that becomes a file, or a part of one. An object of Kubernetes has 1 MiB, and what is made of the text is
// published in another one.
inline constexpr int64_t kLongestConf = 512 << 10;

// The spec as it is after every default of its table: what is absent and has a default holds it, also inside
// of absent objects whose absence means no more than an empty one. Members whose tables name a default may be
// dereferenced.
template <class Spec>
Spec WithDefaults(Spec spec) {
  json::ApplyDefaults(json::kType<Spec>, &spec);
  return spec;
}

// One key of a Secret.
struct SecretKeySelector {
  std::string name;
  std::string key;
  std::optional<bool> optional;  // accepted and without effect, as in the peer

  bool operator==(const SecretKeySelector&) const = default;
  static const json::Schema& Schema();
};

// One key of a ConfigMap.
struct ConfigMapKeySelector {
  std::string name;
  std::string key;
  std::optional<bool> optional;

  bool operator==(const ConfigMapKeySelector&) const = default;
  static const json::Schema& Schema();
};

struct LocalObjectReference {
  std::string name;

  bool operator==(const LocalObjectReference&) const = default;
  static const json::Schema& Schema();
};

// Labels and annotations that go onto the objects made from the resource.
struct Metadata {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;

  bool operator==(const Metadata&) const = default;
  static const json::Schema& Schema();
};

// What the user wants different in a pod. Laid over what Capstan builds by strategic merge.
struct PodTemplate {
  Metadata metadata;
  json::Raw spec;  // part of a core/v1 PodSpec

  bool operator==(const PodTemplate&) const = default;
  static const json::Schema& Schema();
};

struct ServiceSpec {
  Metadata metadata;
  json::Raw spec;  // part of a core/v1 ServiceSpec
  std::optional<int32_t> port;
  std::optional<int32_t> node_port;

  bool operator==(const ServiceSpec&) const = default;
  static const json::Schema& Schema();
};

// Where a daemon runs that is not ours to run.
struct ExternalConfig {
  std::string host;
  int32_t port = 0;

  bool operator==(const ExternalConfig&) const = default;
  static const json::Schema& Schema();
};

// The signing key in force: jwtKeyRef, or its former name jwtHs256KeyRef; null when neither is given.
template <class Spec>
const SecretKeySelector* JwtKey(const Spec& spec) {
  if (spec.jwt_key_ref) return &*spec.jwt_key_ref;
  return spec.jwt_hs256_key_ref ? &*spec.jwt_hs256_key_ref : nullptr;
}

// Go's duration text ("1h30m", "250ms", "1.5h"), as metav1.Duration has it; nullopt for anything else.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace capstan::api
