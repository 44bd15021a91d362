// Pieces of pods that several kinds share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "operator/render/json.h"

namespace capstan::op::render {

inline constexpr int kSlurmUser = 401;  // user and group that Slurm runs as in the images
inline constexpr int kNobodyUser = 65534;

// --- Probes: what the kubelet asks; the numbers are those of all of Slurm's daemons ----------------------------------
JsonObject HttpProbe(std::string_view path, std::string_view port);
JsonObject TcpProbe(int port);
// The same probe as one that kills: six failures, ten seconds apart.
JsonObject Patient(JsonObject probe);

// --- Volumes ---------------------------------------------------------------------------------------------------------
JsonObject EmptyDir(std::string_view name);
// In memory. "": none but the pod's memory, where nobody but a daemon writes: a limit would replace running pods.
JsonObject MemoryDir(std::string_view name, std::string_view size_limit = "");
inline constexpr std::string_view kLogfileSize = "16Mi";        // a FIFO is in it
inline constexpr std::string_view kSmallSize = "16Mi";          // keys, sockets
inline constexpr std::string_view kConfigurationSize = "64Mi";  // Slurm's files, at most some MiB
JsonObject ClaimVolume(std::string_view name, std::string_view claim);
// Files from several Secrets and ConfigMaps in one folder; `mode` as chmod has it (0600).
JsonObject ProjectedVolume(std::string_view name, int mode, JsonArray sources);
JsonObject SecretFile(std::string_view secret, std::string_view key, std::string_view path);
JsonObject ConfigMapFile(std::string_view config_map, std::string_view key, std::string_view path);
JsonObject WholeConfigMap(std::string_view config_map);

JsonObject Mount(std::string_view volume, std::string_view path, bool read_only = false);
JsonObject FileMount(std::string_view volume, std::string_view path, std::string_view file);  // read only

// --- Containers ------------------------------------------------------------------------------------------------------
JsonObject Variable(std::string_view name, std::string_view value);
// With what the pod's object says: "metadata.uid".
JsonObject FieldVariable(std::string_view name, std::string_view field);
JsonObject ContainerPort(std::string_view name, int number);

// The sidecar that prints the log at `path`, a FIFO of this mode ("600") in the volume slurm-logfile.
JsonObject LogfileSidecar(std::string_view path, std::string_view mode);

// Names `image` in a container that names none.
void DefaultImage(JsonObject& container, std::string_view image);
// The image a container names, or "".
std::string ImageOf(const JsonObject& container);

// securityContext of one user and group who is not root; of a pod: fsGroup as well.
JsonObject RunAs(int user);
JsonObject PodRunAs(int user);

// No two pods with these labels on one Kubernetes node.
JsonObject OnePerNode(const StringMap& labels);

}  // namespace capstan::op::render
