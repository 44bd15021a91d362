#include "operator/kind.h"

#include "api/loginset.h"
#include "operator/loginset/decide.h"

namespace capstan::op::loginset {

namespace {

constexpr plan::Right kUses[] = {
    {&api::LoginSet::kResource, "patch"}};  // whose the fields of a former manager's status are

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "loginset",
                           .resource = &api::LoginSet::kResource,
                           .decide = &Decide,
                           .uses = kUses,
                           .add_store = &AddStore<api::LoginSet>};

}  // namespace capstan::op::loginset
