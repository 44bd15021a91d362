#include "operator/token/decide.h"

#include <algorithm>

#include "api/common.h"
#include "api/token.h"
#include "operator/questions.h"
#include "operator/reconcile.h"
#include "operator/render/json.h"
#include "operator/render/metadata.h"
#include "operator/token/questions.h"
#include "plan/objects/effects.h"
#include "plan/objects/secrets.h"
#include "plan/slurm/token.h"
#include "slurm/jwt.h"

namespace capstan::op::token {
namespace {

constexpr Duration kDefaultLifetime = 15min;
constexpr Duration kShortestLifetime = 1min;  // a shorter one would be written anew all the time
constexpr int kRefreshShare = 5;              // in the last fifth of its lifetime a token is issued anew
constexpr size_t kLongestUser = 256;          // bytes; of the system's login names
constexpr size_t kShortestKey = 32;           // bytes, as many as the hash of HS256 has
constexpr std::string_view kDefaultDataKey = "SLURM_JWT";
constexpr Duration kLifetimeSlack = 15s;  // our tokens are valid from a moment before they are issued

class Deciding : Reconcile<api::Token> {
 public:
  using Reconcile::Reconcile;

  plan::Plan Run() {
    if (Understand()) Follow();
    return Finish(std::move(status_));
  }

 private:
  bool Refreshes() const { return object.spec.refresh.value_or(true); }

  // What the spec says; false when it makes no sense.
  bool Understand() {
    const api::TokenSpec& spec = object.spec;
    order_.user = spec.username;
    if (order_.user.empty() || order_.user.size() > kLongestUser ||
        std::ranges::any_of(order_.user, [](unsigned char c) { return c <= ' ' || c == 0x7f || c == ':'; })) {
      findings.Problem("InvalidSpec",
                       "spec.username is no name of a user: it must have 1 to 256 bytes, without blanks, line breaks, "
                       "control characters and colons");
      return false;
    }
    order_.lifetime = kDefaultLifetime;
    if (spec.lifetime) order_.lifetime = api::ParseGoDuration(*spec.lifetime).value_or(Duration(0));
    if (order_.lifetime < kShortestLifetime) {
      findings.Problem("InvalidSpec", "spec.lifetime is " + spec.lifetime.value_or("") +
                                          ", must be a duration of at least one minute, such as 15m or 24h");
      return false;
    }
    const api::SecretKeySelector* key = api::JwtKey(spec);
    if (key == nullptr || key->name.empty() || key->key.empty()) {
      findings.Problem("KeyMissing", "spec.jwtKeyRef must name a Secret and a key in it");
      return false;
    }
    order_.signing_key = {object.metadata.namespace_, key->name};
    order_.signing_data_key = key->key;
    const bool named = spec.secret_ref && !spec.secret_ref->name.empty();
    secret_ = {object.metadata.namespace_,
               named ? spec.secret_ref->name : object.metadata.name + "-jwt-" + order_.user};
    order_.data_key = spec.secret_ref && !spec.secret_ref->key.empty() ? spec.secret_ref->key : kDefaultDataKey;
    if (!kube::IsDnsSubdomain(secret_.name)) {
      findings.Problem("InvalidSpec", "\"" + secret_.name + "\" is no name of a Secret; give one in spec.secretRef");
      return false;
    }
    if (secret_ == order_.signing_key) {
      findings.Problem("InvalidSpec", "Secret " + secret_.ToString() +
                                          " holds the key that signs; give another one in spec.secretRef");
      return false;
    }
    return true;
  }

  void Follow() {
    const auto issued =
        world.Ask(IssuedToken(secret_, order_.data_key, order_.signing_key, order_.signing_data_key), kReferenceAge);
    status_.issued_at = object.status.issued_at;
    if (issued.absent()) return Write("there is no token yet");
    if (issued.value == nullptr) {
      findings.Wait("ReadingKeys",
                    "Secret " + secret_.ToString() +
                        (issued.error.empty() ? " is being looked for" : " cannot be read: " + issued.error));
      return;
    }
    Judge(*issued.value);
  }

  void Judge(const IssuedToken::Value& issued) {
    if (issued.controller_uid != object.metadata.uid) {
      const bool is_a_former_operators = !issued.controller_uid.empty() && issued.controller_uid == issued.key_uid;
      if (is_a_former_operators && issued.claims && issued.claims->user == order_.user) return TakeOver(issued);
      const std::string what = !is_a_former_operators ? "exists and does not belong to this Token"
                               : issued.claims ? "has a token of a former operator for user " + issued.claims->user
                                               : "has a token of a former operator that is not good: " + issued.invalid;
      findings.Problem("NameConflict", "Secret " + secret_.ToString() + " " + what +
                                           "; remove it, or name another one in spec.secretRef");
      return;
    }
    if (issued.key_bytes != 0 && issued.key_bytes < kShortestKey) {
      findings.Problem("KeyTooShort", "the key in Secret " + order_.signing_key.ToString() + " has " +
                                          std::to_string(issued.key_bytes) +
                                          " bytes, and whoever guesses it is anybody in the cluster; use 32 or more");
    }
    if (!issued.claims) return Renew(issued, "the token is not good: " + issued.invalid);
    const slurm::TokenClaims& claims = *issued.claims;
    status_.issued_at = claims.issued_at;
    if (claims.user != order_.user) return Renew(issued, "the token is for user " + claims.user);
    if (world.now() >= claims.expires_at) return Renew(issued, "the token has expired");
    const Time wanted = std::min(Later(claims.issued_at, order_.lifetime), slurm::kLatestExpiry);
    if (claims.expires_at < wanted - kLifetimeSlack || claims.expires_at > wanted + kLifetimeSlack)
      return Renew(issued, "the token has another lifetime than spec.lifetime says");
    findings.Ready("the token is good until " + FormatRfc3339(claims.expires_at));
    const Time due = claims.expires_at - (claims.expires_at - claims.issued_at) / kRefreshShare;
    if (world.now() < due) return plan.RequeueAfter(due - world.now());
    plan.RequeueAfter(claims.expires_at - world.now());
    if (Refreshes()) return Write("the token expires soon");
    findings.Problem("TokenExpires", "the token expires at " + FormatRfc3339(claims.expires_at) +
                                         ", and spec.refresh is false; delete Secret " + secret_.ToString() +
                                         " to have another one");
  }

  void Renew(const IssuedToken::Value& issued, const std::string& why) {
    if (Refreshes() && !issued.immutable) return Write(why);
    findings.Problem("TokenInvalid", why + ", and " +
                                         (Refreshes() ? "its Secret is immutable" : "spec.refresh is false") +
                                         "; delete Secret " + secret_.ToString() + " to have another one");
  }

  void Write(std::string why) {
    if (!findings.ready) findings.Wait("Issuing", why + "; one is being issued");
    render::Metadata metadata = render::Inherited(object.metadata);
    render::JsonObject body = metadata.ToJson();
    body["ownerReferences"] = render::OwnerReferences(render::OwnerOf(object));
    plan.Add({.effect = plan::WriteSecret(
                  {.key = secret_, .metadata = json::SerializeCanonical(body), .immutable = !Refreshes()},
                  object.metadata.uid, plan::SignedToken(order_)),
              .reason = std::move(why),
              .guards = {},
              .after = {},
              .event = {{.reason = EventWord("TokenIssued"), .action = "Issue"}}});
  }

  // The former operator had the signing key's Secret own it, so that the token outlived its Token.
  void TakeOver(const IssuedToken::Value& issued) {
    render::JsonObject metadata;
    metadata["ownerReferences"] = render::OwnerReferences(render::OwnerOf(object));
    const std::string patch = json::SerializeCanonical(render::JsonObject{{"metadata", std::move(metadata)}});
    findings.Wait("TakingOver", "Secret " + secret_.ToString() + " is being taken over from a former operator");
    plan.Add({.effect = plan::MergePatch("take over", {&kube::kSecrets, secret_}, issued.uid, patch),
              .reason = "a former operator made it for this Token",
              .guards = {},
              .after = {},
              .event = {}});
  }

  kube::Key secret_;
  plan::TokenOrder order_;
  api::TokenStatus status_;
};

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* token = FindToServe<api::Token>(world, key);
  return token == nullptr ? plan::Plan() : Deciding(world, *token).Run();
}

}  // namespace capstan::op::token
