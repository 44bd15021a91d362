#include "operator/kind.h"

#include "api/token.h"
#include "operator/token/decide.h"

namespace capstan::op::token {

namespace {

constexpr plan::Right kUses[] = {
    {&kube::kSecrets, "create get patch"},  // the token's own, and the key that signs it
};

}  // namespace

extern const Kind kKind;
constinit const Kind kKind{.name = "token",
                           .resource = &api::Token::kResource,
                           .decide = &Decide,
                           .uses = kUses,
                           .add_store = &AddStore<api::Token>};

}  // namespace capstan::op::token
