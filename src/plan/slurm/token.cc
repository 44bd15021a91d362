#include "plan/slurm/token.h"

#include "base/hash.h"
#include "plan/services.h"
#include "slurm/jwt.h"

namespace capstan::plan {
namespace {

constexpr size_t kIdBytes = 16;

class TokenContent final : public SecretContent {
 public:
  explicit TokenContent(TokenOrder order) : order_(std::move(order)) {}

  uint64_t digest() const override {
    const uint64_t hash = Fnv64(order_.data_key, Fnv64(order_.user, uint64_t(order_.lifetime.count())));
    return Fnv64(order_.signing_data_key, Fnv64(order_.signing_key.ToString(), hash));
  }

  async::Task<Result<std::map<std::string, Secret>>> Make(Services& services, async::Deadline deadline) const override {
    CAPSTAN_CO_TRY(const Secret key,
                   co_await ReadSecretKey(services.client, order_.signing_key, order_.signing_data_key, deadline));
    const Time now = services.loop.WallNow();
    CAPSTAN_CO_TRY(Secret token, slurm::SignToken({.user = order_.user,
                                                   .issuer = services.field_manager,
                                                   .id = Hex(services.entropy(kIdBytes).Reveal()),
                                                   .issued_at = now - kTokenClockSkew,
                                                   .expires_at = Later(now, order_.lifetime)},
                                                  key));
    std::map<std::string, Secret> values;
    values.emplace(order_.data_key, std::move(token));
    co_return values;
  }

 private:
  TokenOrder order_;
};

}  // namespace

std::shared_ptr<const SecretContent> SignedToken(TokenOrder order) {
  return std::make_shared<TokenContent>(std::move(order));
}

}  // namespace capstan::plan
