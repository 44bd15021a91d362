// What the operator's Decides ask for instead of watching it (plan/question.h).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::op {

// How old an answer about a user's Secret or ConfigMap may be.
inline constexpr Duration kReferenceAge = 60s;

// What a pod that mounts a key of a Secret depends on. Never the values: of each key an HMAC-SHA-256 (hex) of a fixed text
// under its value. That is the same in every process, tells nothing of the other keys, and nothing of a value that cannot
// be guessed, as no key of Slurm can.
struct SecretDigest final : plan::Question {
  struct Value {
    std::map<std::string, std::string, std::less<>> digests;  // by key of the Secret
  };
  explicit SecretDigest(kube::Key key) : key(std::move(key)) {}
  std::string id() const override { return "secret " + key.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
};

// The SHA-256 (hex) of a user's ConfigMap, over its values in the order of their keys.
struct ConfigMapDigest final : plan::Question {
  // Of a file that slurm.conf may include.
  struct Included {
    std::set<std::string> partitions;  // that it defines
    std::set<std::string> files;       // that it includes itself
  };
  struct Value {
    std::string sha256;
    std::vector<std::string> keys;                  // sorted
    std::vector<std::string> refused = {};          // of files that Slurm reads: what it does not start with
    std::map<std::string, std::string> files = {};  // by key: the SHA-256 (hex) of each
    std::vector<std::string> nodes = {};            // hostlists of nodes that its files name (slurm/named_nodes.h)
    std::map<std::string, Included> included = {};  // by key, of texts that have any of it
    std::set<std::string> named = {};  // what may be names of files, in the texts of its `*.conf` and `*.yaml`
    // By key, of texts that no kernel starts as a script, the first ten: why, as the end of a sentence about it.
    std::map<std::string, std::string> no_scripts = {};
  };
  explicit ConfigMapDigest(kube::Key key) : key(std::move(key)) {}
  std::string id() const override { return "configmap " + key.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
};

// A volume claim: which one it is, and what its volume is.
struct VolumeClaim final : plan::Question {
  struct Value {
    std::string uid;
    std::vector<std::string> access_modes;
    std::string root = {};  // the SharedRoot that it was made for, by its labels
    bool is_block = false;  // a device, without a file system
  };
  explicit VolumeClaim(kube::Key key) : key(std::move(key)) {}
  std::string id() const override { return "claim " + key.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
};

// What is wrong with a JWKS file, one key of a ConfigMap; "": auth/jwt can read it. Absent: there is no ConfigMap.
struct JwksFile final : plan::Question {
  using Value = std::string;
  JwksFile(kube::Key key, std::string file) : key(std::move(key)), file(std::move(file)) {}
  std::string id() const override { return "jwks " + key.ToString() + " " + file; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key key;
  std::string file;
};

// Why the daemon of a pod does not start, as its container says (entry/waiting.h); "": it does. Absent: nobody can be asked, as
// where the image is older.
struct StartTrouble final : plan::Question {
  using Value = std::string;
  StartTrouble(kube::Key pod, std::string address) : pod(std::move(pod)), address(std::move(address)) {}
  std::string id() const override { return "start of " + pod.ToString() + " at " + address; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  // kInvalid: it is not an answer.
  static Result<Value> Parse(std::string_view json);

  kube::Key pod;
  std::string address;  // of the pod
};

// A part of a Pod or Service as a user wrote it in a custom resource.
struct UserPart {
  std::string field;  // where: "spec.slurmd"
  std::string text;   // JSON; empty: nothing was written
};

// Which fields of what a user wrote are none that this API server knows, in the user's words: "spec.slurmd.livenesProbe". A
// dry run of a creation tells: a table of ours would be older or newer than the server.
struct UnknownFields final : plan::Question {
  using Value = std::vector<std::string>;

  // A pod's spec, and parts of its containers.
  UnknownFields(kube::Key owner, UserPart pod_spec, std::vector<UserPart> containers);
  // A Service's spec.
  UnknownFields(kube::Key owner, UserPart service_spec);

  std::string id() const override;
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  // The object that is tried, and the unknown fields that the server's refusal of it names.
  std::string Body() const;
  Value Named(std::string_view refusal) const;

 private:
  size_t OwnContainers() const;

  const kube::Resource* resource;
  kube::Key owner;
  UserPart spec;
  std::vector<UserPart> containers;
};

}  // namespace capstan::op
