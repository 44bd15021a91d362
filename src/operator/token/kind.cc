#include "operator/kind.h"

#include "api/token.h"
#include "operator/token/decide.h"

namespace capstan::op::token {

extern const Kind kKind;
constinit const Kind kKind{
    .name = "token", .resource = &api::Token::kResource, .decide = &Decide, .add_store = &AddStore<api::Token>};

}  // namespace capstan::op::token
