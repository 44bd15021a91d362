#include "operator/kind.h"

#include "api/loginset.h"
#include "operator/loginset/decide.h"
#include "operator/names.h"

namespace capstan::op::loginset {
namespace {

constexpr const kube::Resource* kChildren[] = {&kube::kDeployments, &kube::kServices, &kube::kConfigMaps};

constexpr plan::Right kUses[] = {
    {&kube::kPods, "get list watch create"},  // why one cannot start; tried without effect, for fields not known
    {&kube::kSecrets, "get create"},          // digests of what it refers to; host keys, made once
    {&api::LoginSet::kResource, "patch"},     // whose the fields of a former manager's status are
};

constexpr std::string_view kComponents[] = {kLogin.component};

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "loginset",
                           .resource = &api::LoginSet::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStore<api::LoginSet>};

}  // namespace capstan::op::loginset
