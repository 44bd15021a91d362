#include "operator/nodeset/history.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "json/codec.h"
#include "operator/names.h"
#include "operator/nodeset/adoption.h"
#include "operator/nodeset/revision.h"
#include "operator/objects.h"
#include "operator/render/metadata.h"
#include "plan/objects/effects.h"

namespace capstan::op::nodeset {
namespace {

constexpr size_t kMostRemovals = 50;  // in one Plan

std::string NameOf(const api::NodeSet& set, std::string_view revision) {
  return set.metadata.name + "-" + std::string(revision);
}

plan::ObjectRef RefTo(const api::NodeSet& set, std::string name) {
  return {&kube::kControllerRevisions, {set.metadata.namespace_, std::move(name)}};
}

const std::string& RevisionOf(const ControllerRevision& one) { return one.metadata.Label(AsKey<kLabelRevision>()); }

void Make(const api::NodeSet& set, std::string_view revision, int64_t number, plan::Plan& plan) {
  auto body = RevisionObject(set, revision, number);
  if (!body) return;  // there would be no revision either
  plan.Add({.effect = plan::Create(RefTo(set, NameOf(set, revision)), *std::move(body), set.metadata.uid),
            .reason = "what workers of this revision are made from",
            .guards = {},
            .after = {},
            .event = {}});
}

void MakeLatest(const api::NodeSet& set, const ControllerRevision& one, int64_t number, plan::Plan& plan) {
  plan.Add({.effect = plan::MergePatch("renumber", RefTo(set, one.metadata.name), one.metadata.uid,
                                       R"({"revision":)" + std::to_string(number) + "}"),
            .reason = "its template is wanted again",
            .guards = {},
            .after = {},
            .event = {}});
}

// Of a NodeSet of this name that was deleted with --cascade=orphan.
bool IsOrphaned(const api::NodeSet& set, const ControllerRevision& one) {
  return !one.metadata.deleting() && one.metadata.Label(AsKey<kLabelInstance>()) == set.metadata.name &&
         one.metadata.name == NameOf(set, RevisionOf(one));
}

}  // namespace

Result<std::string> RevisionObject(const api::NodeSet& set, std::string_view revision, int64_t number) {
  CAPSTAN_TRY(render::JsonObject written, WrittenForWorkers(set));
  render::Metadata metadata{.labels = render::ComponentLabels(kWorker, set.metadata.name), .annotations = {}};
  metadata.labels[std::string(kLabelRevision)] = revision;
  render::JsonObject body =
      render::OwnedObject(kube::kControllerRevisions, NameOf(set, revision), metadata, render::OwnerOf(set));
  body["data"] = render::JsonObject{{"spec", std::move(written)}};
  body["revision"] = number;
  return json::SerializeCanonical(json::Value(std::move(body)));
}

void KeepHistory(const plan::World& world, const api::NodeSet& set, const std::vector<Worker>& workers,
                 std::string_view revision, plan::Plan& plan) {
  const ControllerRevision* todays = nullptr;
  std::vector<const ControllerRevision*> former, unused;
  const auto note = [&](const ControllerRevision& one) {
    if (one.metadata.name == NameOf(set, revision))
      todays = &one;
    else
      former.push_back(&one);
  };
  for (const ControllerRevision& one : world.OwnedBy<ControllerRevision>(set.metadata.uid)) note(one);
  for (const ControllerRevision& one : world.By<ControllerRevision>(kIndexOwnerless, set.metadata.namespace_)) {
    if (!IsOrphaned(set, one)) continue;
    plan.Add(MakeOwned("adopt", set, RefTo(set, one.metadata.name), one.metadata.uid, one.metadata.resource_version,
                       "its NodeSet is there again"));
    note(one);
  }
  int64_t latest = 0;
  for (const ControllerRevision* one : former) latest = std::max(latest, one->revision);
  if (todays == nullptr)
    Make(set, revision, latest + 1, plan);
  else if (todays->revision <= latest)
    MakeLatest(set, *todays, latest + 1, plan);

  std::ranges::copy_if(former, std::back_inserter(unused), [&](const ControllerRevision* one) {
    return !one->metadata.deleting() && std::ranges::none_of(workers, [&](const Worker& worker) {
      return worker.pod->metadata.Label(AsKey<kLabelRevision>()) == RevisionOf(*one);
    });
  });
  const auto kept = size_t(std::max(0, set.spec.revision_history_limit.value_or(0)));
  if (unused.size() <= kept) return;
  std::ranges::sort(unused, {}, [](const ControllerRevision* one) {
    return std::tuple(one->revision, std::string_view(one->metadata.name));
  });
  unused.resize(std::min(unused.size() - kept, kMostRemovals));
  for (const ControllerRevision* one : unused) {
    plan.Add(plan::DeleteUnchanged(
        RefTo(set, one->metadata.name), one->metadata.uid, one->metadata.resource_version,
        "no worker is of this revision, and spec.revisionHistoryLimit is " + std::to_string(kept)));
  }
}

}  // namespace capstan::op::nodeset
