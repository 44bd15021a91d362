#include "operator/kind.h"

#include "api/token.h"
#include "operator/token/decide.h"

namespace capstan::op::token {

namespace {

constexpr plan::Right kUses[] = {
    {&api::Token::kResource, "patch"}};  // whose the fields of a former manager's status are

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "token",
                           .resource = &api::Token::kResource,
                           .decide = &Decide,
                           .uses = kUses,
                           .add_store = &AddStore<api::Token>};

}  // namespace capstan::op::token
