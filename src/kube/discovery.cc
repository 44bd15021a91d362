#include "kube/discovery.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "json/codec.h"

namespace capstan::kube {
namespace {

struct ListedVersion {
  std::string version;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ListedVersion>({json::Field<&ListedVersion::version>("version")});
    return schema;
  }
};

struct ListedResource {
  std::string name;  // "deployments", "deployments/scale"
  std::string kind;
  bool namespaced = false;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ListedResource>({
        json::Field<&ListedResource::name>("name"),
        json::Field<&ListedResource::kind>("kind"),
        json::Field<&ListedResource::namespaced>("namespaced"),
    });
    return schema;
  }
};

// An APIGroup or an APIResourceList; `kind` says which.
struct DiscoveryDocument {
  std::string kind;
  std::vector<ListedVersion> versions;
  ListedVersion preferred;
  std::vector<ListedResource> resources;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<DiscoveryDocument>({
        json::Field<&DiscoveryDocument::kind>("kind"),
        json::Field<&DiscoveryDocument::versions>("versions"),
        json::Field<&DiscoveryDocument::preferred>("preferredVersion"),
        json::Field<&DiscoveryDocument::resources>("resources"),
    });
    return schema;
  }
};

// nullopt: there is nothing at `path`.
async::Task<Result<std::optional<DiscoveryDocument>>> Read(Client& client, std::string path, std::string_view kind,
                                                           async::Deadline deadline) {
  const Result<std::string> text = co_await client.GetPath(path, deadline);
  if (!text && text.error().code() == Code::kNotFound) co_return std::nullopt;
  if (!text) co_return Fail(text.error());
  CAPSTAN_CO_TRY(DiscoveryDocument document, json::Decode<DiscoveryDocument>(*text));
  if (document.kind != kind)
    co_return Fail(Code::kInvalid, "the API server's answer to " + path + ": kind is " +
                                       JsonQuoted(document.kind.substr(0, 40)) + ", must be " + std::string(kind));
  co_return std::move(document);
}

}  // namespace

async::Task<Result<std::optional<ServedResource>>> FindResource(Client& client, std::string group, std::string kind,
                                                                async::Deadline deadline) {
  std::vector<ListedVersion> versions = {{"v1"}};
  std::string path = "/api/";
  if (!group.empty()) {
    path = "/apis/" + PercentEncoded(group);
    CAPSTAN_CO_TRY(auto listed, co_await Read(client, path, "APIGroup", deadline));
    if (!listed) co_return std::nullopt;
    versions = std::move(listed->versions);
    const auto preferred = std::ranges::find(versions, listed->preferred.version, &ListedVersion::version);
    if (preferred != versions.end()) std::rotate(versions.begin(), preferred, preferred + 1);
    path += "/";
  }
  for (const ListedVersion& version : versions) {
    CAPSTAN_CO_TRY(auto listed,
                   co_await Read(client, path + PercentEncoded(version.version), "APIResourceList", deadline));
    if (!listed) continue;
    const auto found = std::ranges::find_if(listed->resources, [&](const ListedResource& resource) {
      return resource.kind == kind && !resource.name.contains('/');
    });
    if (found != listed->resources.end())
      co_return ServedResource{std::move(group), version.version, found->name, std::move(kind), found->namespaced};
  }
  co_return std::nullopt;
}

}  // namespace capstan::kube
