// Which resource a group and a kind are: asked of the API server. For who knows an object by its kind only, as owner
// references name it, and has to find its path.
//
//   CAPSTAN_CO_TRY(const auto found, co_await FindResource(client, "jobset.x-k8s.io", "JobSet", deadline));
//   if (found) ... co_await client.Get(found->resource(), key, {}, deadline);
//
// (A Watcher and World::Served need none of this: they know their kind's Resource.) One or two requests, and nothing is
// kept; a plan::Question keeps the answer. Thread: the client's.
#pragma once

#include <optional>
#include <string>

#include "kube/client.h"
#include "kube/resource.h"

namespace capstan::kube {

// A Resource that owns its texts.
struct ServedResource {
  std::string group;
  std::string version;  // of those that have the kind, the one that the server prefers
  std::string plural;
  std::string kind;
  bool namespaced = false;

  // Valid while this lives and is not changed.
  Resource resource() const { return {group, version, plural, kind, namespaced}; }

  friend bool operator==(const ServedResource&, const ServedResource&) = default;
};

// nullopt: the API server does not serve it. An error, among them that of an aggregated API that is down: nobody knows.
async::Task<Result<std::optional<ServedResource>>> FindResource(Client& client, std::string group, std::string kind,
                                                                async::Deadline deadline);

}  // namespace capstan::kube
