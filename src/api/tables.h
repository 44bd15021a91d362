// Wording and rules that several tables share. For the tables in this folder only.
#pragma once

#include <string>
#include <string_view>

#include "json/schema.h"

namespace capstan::api {

inline constexpr int64_t kMostReplicas = 1000;  // of a Deployment of ours
inline constexpr int64_t kLongestName = 253;    // of any Kubernetes object
inline constexpr int64_t kLongestLine = 65536;  // of options of a node or partition

inline constexpr std::string_view kPodSpecDoc =
    "Part of a core/v1 PodSpec, laid over what Capstan builds: lists with keys (containers, volumes, ...) "
    "merge by key, "
    "tolerations and affinity terms are added, false, 0 and empty text count.";

// "Part of a core/v1 Container, laid over the container `name`."
std::string ContainerDoc(std::string_view name);

// Go durations that are not negative, for the metav1.Duration fields.
inline constexpr std::string_view kGoDurationPattern = "^([0-9]+([.][0-9]*)?(ns|us|\xC2\xB5s|ms|s|m|h))+$";

// CEL over a spec: text that stands for the signing key in force.
inline constexpr std::string_view kJwtKeyRule =
    "!(has(oldSelf.jwtKeyRef) || has(oldSelf.jwtHs256KeyRef)) || "
    "(has(self.jwtKeyRef) ? self.jwtKeyRef.name + '/' + self.jwtKeyRef.key : "
    "has(self.jwtHs256KeyRef) ? self.jwtHs256KeyRef.name + '/' + self.jwtHs256KeyRef.key : '') == "
    "(has(oldSelf.jwtKeyRef) ? oldSelf.jwtKeyRef.name + '/' + oldSelf.jwtKeyRef.key : "
    "oldSelf.jwtHs256KeyRef.name + '/' + oldSelf.jwtHs256KeyRef.key)";
inline constexpr std::string_view kJwtKeyMessage =
    "the signing key (jwtKeyRef or jwtHs256KeyRef) cannot be changed: every token in use would stop working. "
    "Delete the "
    "object and create it anew.";

// A reference to the Controller that must name one.
json::Member ControllerRefField(json::Member member);
inline constexpr std::string_view kControllerRefRule = "self.controllerRef.name == oldSelf.controllerRef.name";
inline constexpr std::string_view kControllerRefMessage =
    "controllerRef cannot be changed: what runs belongs to the cluster it was made for. Create another "
    "object instead.";

// The three rows that Controller and Accounting end their keys with.
inline constexpr std::string_view kSlurmKeyDoc =
    "Secret key with the auth/slurm key that all daemons of the cluster share: slurm.key, or several keys as a JWKS "
    "file, when "
    "its name ends with .jwks.";
inline constexpr std::string_view kJwtKeyDoc = "Secret key with the auth/jwt signing key (jwt.key).";
inline constexpr std::string_view kJwtOldKeyDoc = "Former name of jwtKeyRef, which wins when both are given.";
inline constexpr std::string_view kJwksDoc =
    "ConfigMap key with a JWKS file, whose RS256 keys auth/jwt accepts as well.";

// spec and status of a kind's root table.
json::Member SpecField(json::Member member, std::string_view doc);
json::Member StatusField(json::Member member);

}  // namespace capstan::api
