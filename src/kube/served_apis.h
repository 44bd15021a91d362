// What an API server serves, as one look found it: groups, their versions, and the resources in them.
//
//   if (apis.Has(kServiceMonitors) == Served::kYes) ...
//
// Three answers, never mixed: served, not served, unknown. A group version whose server is down (an aggregated API) says
// nothing of what it serves: everything in it is unknown, with the error, and all others are as known as ever. Who would
// remove something because its kind is gone waits for kNo.
//
// Values; nothing here waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/resource.h"

namespace capstan::kube {

struct ServedResource {
  std::string plural;  // "deployments"
  std::string kind;    // "Deployment"
  bool namespaced = false;
  std::vector<std::string> verbs;         // "create", "delete", ...; as the server orders them
  std::vector<std::string> subresources;  // "scale", "status"

  friend bool operator==(const ServedResource&, const ServedResource&) = default;
};

struct ServedVersion {
  std::string version;                    // "v1"
  std::vector<ServedResource> resources;  // by plural; empty with an error
  std::optional<Error> error;             // why nobody knows what is in it

  friend bool operator==(const ServedVersion&, const ServedVersion&) = default;
};

struct ServedGroup {
  std::string name;                     // "" for the core group
  std::vector<ServedVersion> versions;  // the one that the server prefers first

  friend bool operator==(const ServedGroup&, const ServedGroup&) = default;
};

enum class Served : uint8_t { kYes, kNo, kUnknown };

// One look at a server. A value.
class ServedApis {
 public:
  // Nothing is known.
  ServedApis() = default;
  // All that there is.
  explicit ServedApis(std::vector<ServedGroup> groups) : groups_(std::move(groups)) {}

  bool known() const { return groups_.has_value(); }

  // Is this kind there, in this version? With `subresource`, also that of it.
  Served Has(const Resource& resource, std::string_view subresource = {}) const;

  // The versions of `group` in which there is `kind`, the one to prefer first. Those whose content is unknown are not
  // among them: Has says so.
  std::vector<std::string> VersionsOf(std::string_view group, std::string_view kind) const;

  // nullptr: not served, or unknown.
  const ServedResource* Find(const Resource& resource) const;

  // As the server orders them. REQUIRES: known.
  const std::vector<ServedGroup>& groups() const { return *groups_; }

  friend bool operator==(const ServedApis&, const ServedApis&) = default;

 private:
  const ServedVersion* FindVersion(std::string_view group, std::string_view version) const;

  std::optional<std::vector<ServedGroup>> groups_;
};

// The answer to "/api" or "/apis", decoded.
struct DiscoveryDocument {
  std::vector<ServedGroup> groups;
  // False: an older server's, which names versions only; "/apis/GROUP/VERSION" has the resources.
  bool complete = false;
};

// Reads an APIGroupDiscoveryList (apidiscovery.k8s.io v2, v2beta1), an APIGroupList or an APIVersions. kInvalid: none
// of them.
Result<DiscoveryDocument> ParseDiscovery(std::string_view text);

// Reads an APIResourceList, the answer to "/apis/GROUP/VERSION". kInvalid: it is none.
Result<std::vector<ServedResource>> ParseResources(std::string_view text);

}  // namespace capstan::kube
