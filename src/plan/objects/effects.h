// The effects on Kubernetes objects, and the rules each obeys.
//
// Server-side apply is for objects that are ours alone (children, and the status of our custom resources). Objects with
// several writers get the smallest patch. Every write to an object that was seen carries its uid. There is no deletion
// without a proof: Delete takes guards, DeleteUnchanged the exact version that was seen. (test/nocompile/ tries.)
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "json/merge.h"
#include "kube/resource.h"
#include "plan/action.h"
#include "plan/ownership.h"

namespace capstan::plan {

struct ObjectRef {
  const kube::Resource* resource;
  kube::Key key;
  std::string ToString() const { return std::string(resource->kind) + " " + key.ToString(); }
};

// Whose a child is, and how else one that exists already is known to be (ownership.h).
struct ChildOwner {
  std::string uid;
  Adoption adoption = {};
};

// Server-side apply of a child, under the applied memo. An object of that name that is not ours is refused with
// kAlreadyExists: it is never taken over. One that somebody makes just before the apply arrives keeps its fields: where
// they differ from ours that is kConflict, and looked at anew. The fields of former managers are folded into ours first.
// The same content applied five times in ten minutes is a fight: kConflict names the other manager, and there is a truce
// of five minutes. One that is deleted each time is made again ever later (AppliedMemo::MayBeMadeAgain): kConflict until
// then. kInvalid: it is as it was applied, and its store does not show it.
//
// Members of `keeps` that the body does not name stay as they are, though an earlier apply set them: they are given up first, so
// that they belong to nobody. That costs a read each time. Names of members with '/' between them ("spec/replicas"), nothing within
// a list. REQUIRES: the body names something else in the member's parent.
std::shared_ptr<const Effect> Apply(ObjectRef ref, std::string body, ChildOwner owner,
                                    std::vector<std::string> keeps = {});

// Server-side apply of the status of the key's own object, whose uid is `uid`, under the memo. `status` is the value of
// the field "status", as JSON. Statuses that differ in lastTransitionTime alone are the same. kConflict: another object
// of that name is there.
std::shared_ptr<const Effect> ApplyStatus(ObjectRef ref, std::string uid, std::string status);

// Creates an object that is not applied afterwards (a pod). One of that name with the same controller counts as
// created; with an empty `owner_uid` (a volume claim, which outlives its users) any does.
std::shared_ptr<const Effect> Create(ObjectRef ref, std::string body, std::string owner_uid);

// A JSON merge patch of an object with several writers. `verb` says what it means: "cordon", "uncordon".
std::shared_ptr<const Effect> MergePatch(std::string_view verb, ObjectRef ref, std::string uid, std::string patch);

// A JSON patch of an object with several writers, all of it or nothing: its tests say what must still be so. One that fails is
// kConflict, and decided again. It tests the object's uid by itself.
std::shared_ptr<const Effect> PatchTested(std::string_view verb, ObjectRef ref, std::string uid, json::JsonPatch patch);

// At least one guard. Not default constructible, so that a deletion without one does not compile.
class Proven {
 public:
  explicit Proven(std::shared_ptr<const Guard> guard) : guards_{std::move(guard)} {}
  Proven And(std::shared_ptr<const Guard> guard) && {
    guards_.push_back(std::move(guard));
    return std::move(*this);
  }
  const Guards& guards() const { return guards_; }

 private:
  Guards guards_;
};

// Deletes the object of this uid once all guards are proven. What is gone already counts as deleted.
Action Delete(ObjectRef ref, std::string uid, Proven proven, std::string reason);

// Deletes the object if nobody, itself included, has changed it since `resource_version`: the API server is the proof.
Action DeleteUnchanged(ObjectRef ref, std::string uid, uint64_t resource_version, std::string reason);

}  // namespace capstan::plan
