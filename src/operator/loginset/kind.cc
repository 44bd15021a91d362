#include "operator/kind.h"

#include "api/loginset.h"
#include "operator/loginset/decide.h"

namespace capstan::op::loginset {

extern const Kind kKind;
constinit const Kind kKind{.name = "loginset",
                           .resource = &api::LoginSet::kResource,
                           .decide = &Decide,
                           .add_store = &AddStore<api::LoginSet>};

}  // namespace capstan::op::loginset
