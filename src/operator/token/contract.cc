#include "operator/token/contract.h"

#include "api/token.h"
#include "json/value.h"

namespace capstan::op::token {
namespace {

using json::FindText;
using json::Value;

Broken Breach(const Value& token, const Call& call, const Around&) {
  const auto [ns, own_name] = KeyOf(token);
  if (call.key.ns != ns) return "namespace " + call.key.ns + " is not the Token's";
  if (IsOwnStatus(token, call)) return std::nullopt;
  for (const std::string_view ref : {"jwtKeyRef", "jwtHs256KeyRef"}) {
    if (call.key.name == FindText(token, {"spec", ref, "name"})) return "the key that signs is written to";
  }
  const std::string_view named = FindText(token, {"spec", "secretRef", "name"});
  const std::string derived = own_name + "-jwt-" + std::string(FindText(token, {"spec", "username"}));
  if (call.key.name != (named.empty() ? std::string_view(derived) : named))
    return "a Token never writes to " + call.kind + " " + call.key.name;
  return WritesOwnSecret(token, call);
}

Broken Unmatched(const Value& token, const Around&) { return SaysReady(token); }

}  // namespace

constinit const Contract kContract{.resource = &api::Token::kResource, .breach = &Breach, .unmatched = &Unmatched};

}  // namespace capstan::op::token
