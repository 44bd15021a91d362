#include "operator/kind.h"

#include "api/accounting.h"
#include "operator/accounting/decide.h"
#include "operator/names.h"
#include "operator/render/cluster.h"

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

// Those that write the same tables are found by where these are (render::TablesOf): index "tables".
void AddStoreByTables(plan::Stores& stores) {
  auto& store = stores.Add<api::Accounting>({.everywhere = true});
  const auto tables = [](const api::Accounting& accounting) {
    const std::string where = render::TablesOf(accounting);
    return where.empty() ? std::vector<std::string>() : std::vector{where};
  };
  store.AddIndex("tables", tables, &IsWantedAlike<api::Accounting>);
}

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "accounting",
                           .resource = &api::Accounting::kResource,
                           .decide = &Decide,
                           .children = kChildren,
                           .uses = kUses,
                           .components = kComponents,
                           .add_store = &AddStoreByTables};

}  // namespace capstan::op::accounting
