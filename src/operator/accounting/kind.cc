#include "operator/kind.h"

#include "api/accounting.h"
#include "operator/accounting/decide.h"
#include "operator/names.h"

namespace capstan::op::accounting {
namespace {

constexpr const kube::Resource* kChildren[] = {&kube::kStatefulSets, &kube::kServices};

constexpr plan::Right kUses[] = {
    // Why one cannot start; stuck ones; tried without effect, for fields not known.
    {&kube::kPods, "get list watch create delete"},
    {&kube::kSecrets, "create get patch"},  // slurmdbd.conf, and what it is made from
    {&kube::kConfigMaps, "get"},            // the keys of tokens (jwks)
};

constexpr std::string_view kComponents[] = {kAccounting.component};

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "accounting",
                           .resource = &api::Accounting::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStore<api::Accounting>};

}  // namespace capstan::op::accounting
