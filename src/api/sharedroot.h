// SharedRoot: a volume with root file systems of which one is `/` in every session and job of a Slurm cluster.
#pragma once

#include "api/common.h"
#include "api/conditions.h"
#include "kube/resource.h"

namespace capstan::api {

// A claim that is there, or one to be made.
struct RootClaim {
  std::string existing;
  std::string storage_class_name;
  std::string size;  // "500Gi"

  bool operator==(const RootClaim&) const = default;
  static const json::Schema& Schema();
};

struct RootSource {
  std::string image;
  std::string image_pull_policy;
  std::vector<LocalObjectReference> pull_secrets;

  bool operator==(const RootSource&) const = default;
  static const json::Schema& Schema();
};

inline constexpr std::string_view kSwitchManual = "Manual";

// When another generation becomes the current one.
struct RootSwitch {
  std::optional<std::string> policy;  // Automatic: once it is filled; or kSwitchManual
  std::string current;                // of kSwitchManual; "": what is current stays so

  bool operator==(const RootSwitch&) const = default;
  static const json::Schema& Schema();
};

// A folder of every session and job that is another volume.
struct RootMount {
  std::string path, claim;
  std::optional<bool> read_only;

  bool operator==(const RootMount&) const = default;
  static const json::Schema& Schema();
};

// A file in the root that is a key of a ConfigMap.
struct RootFile {
  std::string path, config_map, key;
  std::optional<int32_t> mode;

  bool operator==(const RootFile&) const = default;
  static const json::Schema& Schema();
};

struct SharedRootSpec {
  RootClaim claim;
  RootSource source;
  RootSwitch switching;
  std::optional<int32_t> history;  // generations besides the current one and that of `source` which stay on the volume
  std::string revision;            // another text: a new generation of the same source
  std::optional<std::vector<std::string>> keep;
  std::vector<std::string> node_local;
  std::vector<RootMount> mounts;
  std::vector<RootFile> files;
  std::string job_image;     // that has capstan-entry
  PodTemplate pod_template;  // of the Jobs that write to the volume

  bool operator==(const SharedRootSpec&) const = default;
  static const json::Schema& Schema();
};

// One root file system on the volume.
struct RootGeneration {
  std::string name;
  std::string image;
  std::string revision;
  int64_t files = 0, bytes = 0;  // of the image
  std::string slurm;             // whose commands sessions have: Root or Image
  std::string kept_by;           // why it is there though spec.history asks for fewer

  bool operator==(const RootGeneration&) const = default;
  static const json::Schema& Schema();
};

// What new sessions and steps have.
struct CurrentRoot {
  std::string generation;
  std::vector<std::string> keep, node_local, mounts;
  int64_t observed_generation = 0;  // the metadata.generation whose switch that was

  bool operator==(const CurrentRoot&) const = default;
  static const json::Schema& Schema();
};

struct SharedRootStatus {
  int64_t observed_generation = 0;
  Conditions conditions;
  std::string claim, claim_uid;  // its volume claim
  CurrentRoot current;
  std::string files;                        // what was written last: its generation and a digest
  int64_t ordered_generation = 0;           // whose switch was asked for last; it may have been made, or be made yet
  std::vector<RootGeneration> generations;  // what was current last is last

  bool operator==(const SharedRootStatus&) const = default;
  static const json::Schema& Schema();
};

struct SharedRoot {
  static constexpr kube::Resource kResource{kOwnGroup, kOwnVersion, "sharedroots", "SharedRoot", true};

  json::ObjectMeta metadata;
  SharedRootSpec spec;
  SharedRootStatus status;

  bool operator==(const SharedRoot&) const = default;
  static const json::Schema& Schema();
};

}  // namespace capstan::api
