#include "api/token.h"

#include "api/tables.h"

namespace capstan::api {

using json::Field;

const json::Schema& TokenSpec::Schema() {
  using S = TokenSpec;
  static const json::Schema schema =
      json::Object<S>(
          {
              Field<&S::jwt_hs256_key_ref>("jwtHs256KeyRef").Doc(kJwtOldKeyDoc),
              Field<&S::jwt_key_ref>("jwtKeyRef").Doc("Secret key with the cluster's auth/jwt signing key."),
              Field<&S::lifetime>("lifetime")
                  .MaxLength(64)
                  .Rule("self.matches('" + std::string(kGoDurationPattern) + "')",
                        "lifetime must be a duration such as 15m or 1h30m")
                  .Doc("How long a token is good for; absent: 15 minutes."),
              Field<&S::refresh>("refresh").Default("true").Doc("Issue a new token before the old one ends."),
              Field<&S::secret_ref>("secretRef")
                  .Doc("Secret and key the token is put into; absent: <name>-jwt-<username>, SLURM_JWT."),
              Field<&S::username>("username").Required().Doc("The Slurm user the token stands for."),
          })
          .Rule("has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)", "jwtKeyRef must be set")
          .Rule(kJwtKeyRule, kJwtKeyMessage);
  return schema;
}

const json::Schema& TokenStatus::Schema() {
  static const json::Schema schema = json::Object<TokenStatus>({
      ConditionsField(Field<&TokenStatus::conditions>("conditions")),
      Field<&TokenStatus::issued_at>("issuedAt").Doc("When the token now in the Secret was issued."),
  });
  return schema;
}

const json::Schema& Token::Schema() {
  static const json::Schema schema =
      json::Object<Token>({
                              Field<&Token::metadata>("metadata"),
                              SpecField(Field<&Token::spec>("spec"), "The token as it is wanted."),
                              StatusField(Field<&Token::status>("status")),
                          })
          .Doc("A JSON Web Token of one Slurm user, kept fresh in a Secret.");
  return schema;
}

}  // namespace capstan::api
