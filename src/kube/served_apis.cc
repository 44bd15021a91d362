#include "kube/served_apis.h"

#include <algorithm>

#include "json/codec.h"
#include "json/schema.h"

namespace capstan::kube {
namespace {

// --- apidiscovery.k8s.io: everything in one document -----------------------------------------------------------------

struct Aggregated {
  struct ResponseKind {
    std::string kind;
    static const json::Schema& Schema();
  };
  struct Subresource {
    std::string subresource;
    static const json::Schema& Schema();
  };
  struct Resource {
    std::string resource, scope;
    ResponseKind response_kind;
    std::vector<std::string> verbs;
    std::vector<Subresource> subresources;
    static const json::Schema& Schema();
  };
  struct Version {
    std::string version, freshness;
    std::vector<Resource> resources;
    static const json::Schema& Schema();
  };
  struct Metadata {
    std::string name;
    static const json::Schema& Schema();
  };
  struct Group {
    Metadata metadata;
    std::vector<Version> versions;
    static const json::Schema& Schema();
  };
};

const json::Schema& Aggregated::ResponseKind::Schema() {
  static const json::Schema schema = json::Object<ResponseKind>({json::Field<&ResponseKind::kind>("kind")});
  return schema;
}

const json::Schema& Aggregated::Subresource::Schema() {
  static const json::Schema schema = json::Object<Subresource>({json::Field<&Subresource::subresource>("subresource")});
  return schema;
}

const json::Schema& Aggregated::Resource::Schema() {
  static const json::Schema schema = json::Object<Resource>({
      json::Field<&Resource::resource>("resource"),
      json::Field<&Resource::scope>("scope"),
      json::Field<&Resource::response_kind>("responseKind"),
      json::Field<&Resource::verbs>("verbs"),
      json::Field<&Resource::subresources>("subresources"),
  });
  return schema;
}

const json::Schema& Aggregated::Version::Schema() {
  static const json::Schema schema = json::Object<Version>({
      json::Field<&Version::version>("version"),
      json::Field<&Version::freshness>("freshness"),
      json::Field<&Version::resources>("resources"),
  });
  return schema;
}

const json::Schema& Aggregated::Metadata::Schema() {
  static const json::Schema schema = json::Object<Metadata>({json::Field<&Metadata::name>("name")});
  return schema;
}

const json::Schema& Aggregated::Group::Schema() {
  static const json::Schema schema = json::Object<Group>({
      json::Field<&Group::metadata>("metadata"),
      json::Field<&Group::versions>("versions"),
  });
  return schema;
}

// --- Before that: a list of groups, or of the core group's versions, and a list of resources for each ----------------

struct ListedVersion {
  std::string version;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ListedVersion>({json::Field<&ListedVersion::version>("version")});
    return schema;
  }
};

struct ListedGroup {
  std::string name;
  std::vector<ListedVersion> versions;
  ListedVersion preferred;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ListedGroup>({
        json::Field<&ListedGroup::name>("name"),
        json::Field<&ListedGroup::versions>("versions"),
        json::Field<&ListedGroup::preferred>("preferredVersion"),
    });
    return schema;
  }
};

struct ListedResource {
  std::string name, kind;  // "deployments", "deployments/scale"
  bool namespaced = false;
  std::vector<std::string> verbs;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ListedResource>({
        json::Field<&ListedResource::name>("name"),
        json::Field<&ListedResource::kind>("kind"),
        json::Field<&ListedResource::namespaced>("namespaced"),
        json::Field<&ListedResource::verbs>("verbs"),
    });
    return schema;
  }
};

// All four documents at once; `kind` says which it is.
struct AnyDocument {
  std::string kind;
  std::vector<Aggregated::Group> items;   // APIGroupDiscoveryList
  std::vector<ListedGroup> groups;        // APIGroupList
  std::vector<std::string> versions;      // APIVersions
  std::vector<ListedResource> resources;  // APIResourceList
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<AnyDocument>({
        json::Field<&AnyDocument::kind>("kind"),
        json::Field<&AnyDocument::items>("items"),
        json::Field<&AnyDocument::groups>("groups"),
        json::Field<&AnyDocument::versions>("versions"),
        json::Field<&AnyDocument::resources>("resources"),
    });
    return schema;
  }
};

// --- From these to ours ----------------------------------------------------------------------------------------------

void SortByPlural(std::vector<ServedResource>& resources) {
  std::ranges::sort(resources, {}, &ServedResource::plural);
  for (ServedResource& resource : resources) std::ranges::sort(resource.subresources);
}

ServedVersion FromAggregated(Aggregated::Version& from) {
  ServedVersion version{.version = std::move(from.version), .resources = {}, .error = {}};
  if (from.freshness == "Stale") {
    version.error = Error(Code::kUnavailable, "the server behind it does not say what it serves");
    return version;
  }
  for (Aggregated::Resource& resource : from.resources) {
    ServedResource& served = version.resources.emplace_back();
    served.plural = std::move(resource.resource);
    served.kind = std::move(resource.response_kind.kind);
    served.namespaced = resource.scope == "Namespaced";
    served.verbs = std::move(resource.verbs);
    for (Aggregated::Subresource& sub : resource.subresources)
      served.subresources.push_back(std::move(sub.subresource));
  }
  SortByPlural(version.resources);
  return version;
}

ServedGroup FromAggregated(Aggregated::Group& from) {
  ServedGroup group{.name = std::move(from.metadata.name), .versions = {}};
  for (Aggregated::Version& version : from.versions) group.versions.push_back(FromAggregated(version));
  return group;
}

ServedGroup FromListed(ListedGroup& from) {
  ServedGroup group{.name = std::move(from.name), .versions = {}};
  for (ListedVersion& version : from.versions) group.versions.emplace_back(std::move(version.version));
  const auto preferred = std::ranges::find(group.versions, from.preferred.version, &ServedVersion::version);
  if (preferred != group.versions.end()) std::rotate(group.versions.begin(), preferred, preferred + 1);
  return group;
}

}  // namespace

Result<DiscoveryDocument> ParseDiscovery(std::string_view text) {
  CAPSTAN_TRY(AnyDocument from, json::Decode<AnyDocument>(text));
  DiscoveryDocument document;
  if (from.kind == "APIGroupDiscoveryList") {
    document.complete = true;
    for (Aggregated::Group& group : from.items) document.groups.push_back(FromAggregated(group));
  } else if (from.kind == "APIGroupList") {
    for (ListedGroup& group : from.groups) document.groups.push_back(FromListed(group));
  } else if (from.kind == "APIVersions") {
    ServedGroup& core = document.groups.emplace_back();
    for (std::string& version : from.versions) core.versions.emplace_back(std::move(version));
  } else {
    return Fail(Code::kInvalid, "kind is \"" + from.kind.substr(0, 40) +
                                    "\", must be APIGroupDiscoveryList, APIGroupList or APIVersions");
  }
  return document;
}

Result<std::vector<ServedResource>> ParseResources(std::string_view text) {
  CAPSTAN_TRY(AnyDocument from, json::Decode<AnyDocument>(text));
  if (from.kind != "APIResourceList")
    return Fail(Code::kInvalid, "kind is \"" + from.kind.substr(0, 40) + "\", must be APIResourceList");
  std::vector<ServedResource> resources;
  for (ListedResource& listed : from.resources) {
    if (listed.name.find('/') != listed.name.npos) continue;
    resources.push_back(
        {std::move(listed.name), std::move(listed.kind), listed.namespaced, std::move(listed.verbs), {}});
  }
  for (const ListedResource& listed : from.resources) {
    const size_t slash = listed.name.find('/');
    if (slash == listed.name.npos) continue;
    const auto parent = std::ranges::find(resources, listed.name.substr(0, slash), &ServedResource::plural);
    if (parent != resources.end()) parent->subresources.push_back(listed.name.substr(slash + 1));
  }
  SortByPlural(resources);
  return resources;
}

// ---------------------------------------------------------------------------------------------------------------------

Served ServedApis::Has(const Resource& resource, std::string_view subresource) const {
  if (!known()) return Served::kUnknown;
  const ServedVersion* version = FindVersion(resource.group, resource.version);
  if (version == nullptr) return Served::kNo;
  if (version->error) return Served::kUnknown;
  const ServedResource* found = Find(resource);
  if (found == nullptr) return Served::kNo;
  const bool has = subresource.empty() || std::ranges::binary_search(found->subresources, subresource);
  return has ? Served::kYes : Served::kNo;
}

const ServedResource* ServedApis::Find(const Resource& resource) const {
  const ServedVersion* version = FindVersion(resource.group, resource.version);
  if (version == nullptr) return nullptr;
  const auto found = std::ranges::find(version->resources, resource.plural, &ServedResource::plural);
  return found == version->resources.end() ? nullptr : &*found;
}

std::vector<std::string> ServedApis::VersionsOf(std::string_view group, std::string_view kind) const {
  std::vector<std::string> versions;
  if (!known()) return versions;
  const auto found = std::ranges::find(*groups_, group, &ServedGroup::name);
  if (found == groups_->end()) return versions;
  for (const ServedVersion& version : found->versions) {
    if (std::ranges::find(version.resources, kind, &ServedResource::kind) != version.resources.end())
      versions.push_back(version.version);
  }
  return versions;
}

const ServedVersion* ServedApis::FindVersion(std::string_view group, std::string_view version) const {
  if (!known()) return nullptr;
  const auto found = std::ranges::find(*groups_, group, &ServedGroup::name);
  if (found == groups_->end()) return nullptr;
  const auto at = std::ranges::find(found->versions, version, &ServedVersion::version);
  return at == found->versions.end() ? nullptr : &*at;
}

}  // namespace capstan::kube
