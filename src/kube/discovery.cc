#include "kube/discovery.h"

#include <algorithm>

#include "base/log.h"

namespace capstan::kube {
namespace {

constexpr Duration kRequestTimeout = 60s;
constexpr Duration kVersionTimeout = 10s;  // for one group version of an older server
constexpr double kJitter = 0.2;
constexpr std::string_view kAccept =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

// "apps/v1", "v1"
std::string NameOf(const ServedGroup& group, const ServedVersion& version) {
  return group.name.empty() ? version.version : group.name + "/" + version.version;
}

std::vector<std::pair<std::string, Error>> Unknown(const ServedApis& apis) {
  std::vector<std::pair<std::string, Error>> unknown;
  if (!apis.known()) return unknown;
  for (const ServedGroup& group : apis.groups()) {
    for (const ServedVersion& version : group.versions) {
      if (version.error) unknown.emplace_back(NameOf(group, version), *version.error);
    }
  }
  return unknown;
}

void LogDifference(const ServedApis& before, const ServedApis& after) {
  const auto was = Unknown(before), is = Unknown(after);
  const auto among = [](const auto& list, const std::string& name) {
    return std::ranges::any_of(list, [&](const auto& entry) { return entry.first == name; });
  };
  for (const auto& [name, error] : is) {
    if (among(was, name)) continue;
    log::Warn("what an API group serves is unknown", {{"group_version", name}, {"error", error.message()}});
  }
  for (const auto& [name, error] : was) {
    if (!among(is, name)) log::Info("what an API group serves is known again", {{"group_version", name}});
  }
}

}  // namespace

Discovery::Discovery(async::Loop& loop, Client& client, Options options)
    : loop_(loop), client_(client), options_(options), random_(options.seed), asked_(loop) {}

async::Task<void> Discovery::Run() {
  while (true) {
    asked_.Reset();
    const Result<void> looked = co_await Look(loop_.After(kRequestTimeout));
    if (!looked && !failing_) log::Warn("discovery failed", {{"error", looked.error().message()}});
    failing_ = !looked;
    const bool complete = looked && Unknown(served_).empty();
    const Duration wait = complete ? options_.every : options_.while_partial;
    co_await asked_.Wait(loop_.After(random_.Jittered(wait, kJitter)));
  }
}

async::Task<Result<void>> Discovery::Look(async::Deadline deadline) {
  CAPSTAN_CO_CHECK_OK(co_await Read(core_, deadline));
  CAPSTAN_CO_CHECK_OK(co_await Read(named_, deadline));
  std::vector<ServedGroup> groups = core_.groups;
  groups.insert(groups.end(), named_.groups.begin(), named_.groups.end());
  Take(ServedApis(std::move(groups)));
  co_return Result<void>();
}

void Discovery::Take(ServedApis found) {
  if (found == served_) return;
  LogDifference(served_, found);
  served_ = std::move(found);
  if (tell_) tell_();
}

async::Task<Result<void>> Discovery::Read(Part& part, async::Deadline deadline) {
  Result<Client::Document> read =
      co_await client_.GetPathIfChanged(part.path, std::string(kAccept), part.etag, deadline);
  if (!read) co_return Fail(read.error());
  if (!read->text) co_return Result<void>();
  Result<DiscoveryDocument> document = ParseDiscovery(*read->text);
  if (!document) co_return Fail(std::move(document).error().WithContext("the API server's answer to " + part.path));
  if (!document->complete) co_await ReadVersions(document->groups, deadline);
  // A list of names stays the same while what they stand for changes.
  part.etag = document->complete ? std::move(read->etag) : std::string();
  part.groups = std::move(document->groups);
  co_return Result<void>();
}

async::Task<void> Discovery::ReadVersions(std::vector<ServedGroup>& groups, async::Deadline deadline) {
  for (ServedGroup& group : groups) {
    for (ServedVersion& version : group.versions) {
      const std::string path = (group.name.empty() ? "/api/" : "/apis/") + NameOf(group, version);
      const Result<std::string> text = co_await client_.GetPath(path, loop_.After(kVersionTimeout).Earlier(deadline));
      Result<std::vector<ServedResource>> resources = text ? ParseResources(*text) : Fail(text.error());
      if (resources)
        version.resources = *std::move(resources);
      else
        version.error = std::move(resources).error();
    }
  }
}

}  // namespace capstan::kube
