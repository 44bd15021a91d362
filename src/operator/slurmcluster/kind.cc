#include "operator/kind.h"

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/sharedroot.h"
#include "api/slurmcluster.h"
#include "operator/names.h"
#include "operator/slurmcluster/decide.h"

namespace capstan::op::slurmcluster {
namespace {

constexpr const kube::Resource* kChildren[] = {
    &api::Controller::kResource, &api::RestApi::kResource,    &api::Accounting::kResource, &api::LoginSet::kResource,
    &api::NodeSet::kResource,    &api::SharedRoot::kResource, &kube::kConfigMaps};

constexpr plan::Right kUses[] = {
    {&api::SlurmCluster::kResource, "patch"},  // its finalizer
    {&kube::kSecrets, "get create"},           // an sssd.conf for logins without one, made once
    {&kube::kPersistentVolumeClaims, "get"},   // whether many pods may mount those of spec.sharedRoot.mounts
    {&kube::kDeployments, "get list watch"},   // how many logins are ready
    {&kube::kPods, "get list watch"},          // whether any is left
};

constexpr std::string_view kComponents[] = {kCluster.component};

// An older chart with the definitions does not have it.
void AddOptionalStore(plan::Stores& stores) { stores.Add<api::SlurmCluster>({.everywhere = true, .optional = true}); }

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "slurmcluster",
                           .resource = &api::SlurmCluster::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddOptionalStore};

}  // namespace capstan::op::slurmcluster
