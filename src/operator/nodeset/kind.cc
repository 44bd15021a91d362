#include "operator/kind.h"

#include "api/nodeset.h"
#include "operator/names.h"
#include "operator/nodeset/decide.h"

namespace capstan::op::nodeset {
namespace {

constexpr const kube::Resource* kChildren[] = {&kube::kConfigMaps};

constexpr plan::Right kUses[] = {
    {&api::NodeSet::kResource, "patch"},  // its finalizer
    {&kube::kPods, "get list watch create patch delete"},
    {&kube::kPods, "patch", "status"},                                 // conditions of a former operator
    {&kube::kPersistentVolumeClaims, "get list create patch delete"},  // patched and deleted as claims.h says
    {&kube::kSecrets, "get create"},  // whether those of sshd are there; host keys, made once
    {&kube::kControllerRevisions, "get list watch create patch delete"},  // history.h
    {&kube::kNodes, "get list watch"},
};

constexpr std::string_view kComponents[] = {kWorker.component};

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "nodeset",
                           .resource = &api::NodeSet::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStoreByController<api::NodeSet>};

}  // namespace capstan::op::nodeset
