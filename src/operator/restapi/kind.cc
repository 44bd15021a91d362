#include "operator/kind.h"

#include "api/restapi.h"
#include "operator/names.h"
#include "operator/restapi/decide.h"

namespace capstan::op::restapi {
namespace {

constexpr const kube::Resource* kChildren[] = {&kube::kDeployments, &kube::kServices};

constexpr plan::Right kUses[] = {
    {&kube::kSecrets, "get"},                 // Slurm's key, for its digest
    {&kube::kPods, "get list watch create"},  // why one cannot start; tried without effect, for fields not known
};

constexpr std::string_view kComponents[] = {kRestApi.component};

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "restapi",
                           .resource = &api::RestApi::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStoreByController<api::RestApi>};

}  // namespace capstan::op::restapi
