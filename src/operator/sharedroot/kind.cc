#include "operator/kind.h"

#include "api/sharedroot.h"
#include "operator/names.h"
#include "operator/sharedroot/decide.h"

namespace capstan::op::sharedroot {
namespace {

constexpr const kube::Resource* kChildren[] = {&kube::kJobs};

constexpr plan::Right kUses[] = {
    {&kube::kPersistentVolumeClaims, "get create"},  // made once; it outlives the SharedRoot
    {&kube::kConfigMaps, "get"},                     // spec.files
    // What those Jobs say, and which pods have the claim; tried without effect, for fields not known.
    {&kube::kPods, "get list watch create"},
};

constexpr std::string_view kComponents[] = {kRoot.component};

// An older chart with the definitions does not have it.
void AddOptionalStore(plan::Stores& stores) { stores.Add<api::SharedRoot>({.everywhere = true, .optional = true}); }

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "sharedroot",
                           .resource = &api::SharedRoot::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddOptionalStore};

}  // namespace capstan::op::sharedroot
