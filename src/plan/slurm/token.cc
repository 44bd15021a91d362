#include "plan/slurm/token.h"

#include <boost/json.hpp>

#include "base/hash.h"
#include "base/secret.h"
#include "json/value.h"
#include "kube/client.h"
#include "plan/services.h"
#include "plan/slurm/signing_key.h"
#include "slurm/jwt.h"

namespace capstan::plan {
namespace {

namespace bj = boost::json;
using async::Deadline;
using async::Task;

constexpr size_t kIdBytes = 16;
class IssueTokenEffect final : public Effect {
 public:
  explicit IssueTokenEffect(TokenOrder order) : order_(std::move(order)) {}

  std::string_view verb() const override { return "issue token"; }
  std::string target() const override { return "Secret " + order_.secret.ToString(); }
  uint64_t content() const override {
    uint64_t hash = Fnv64(order_.data_key, Fnv64(order_.user, uint64_t(order_.lifetime.count())));
    return Fnv64(order_.signing_data_key, Fnv64(order_.signing_key.ToString(), hash));
  }
  std::string outdates() const override { return "secret " + order_.secret.ToString(); }

  Task<Result<void>> Run(Services& services, Deadline deadline) const override {
    CAPSTAN_CO_TRY(const Secret key,
                   co_await ReadSigningKey(services.client, order_.signing_key, order_.signing_data_key, deadline));
    CAPSTAN_CO_TRY(const Secret token, Sign(services, key));
    CAPSTAN_CO_TRY(bj::value metadata, json::Parse(order_.metadata));
    json::MakeObject(metadata, {})["name"] = order_.secret.name;
    json::MakeObject(metadata, {})["namespace"] = order_.secret.ns;
    bj::object secret{{"apiVersion", "v1"}, {"kind", "Secret"}, {"type", "Opaque"}};
    secret["metadata"] = std::move(metadata);
    secret["data"] = bj::object{{order_.data_key, Base64(token.Reveal())}};
    std::string body = bj::serialize(secret);
    kube::WriteOptions options{.field_manager = services.field_manager};
    const auto created =
        co_await services.client.Create(kube::kSecrets, order_.secret, std::move(body), std::move(options), deadline);
    if (created || created.error().code() == Code::kAlreadyExists) co_return Result<void>();
    co_return Fail(created.error());
  }

 private:
  Result<Secret> Sign(const Services& services, const Secret& key) const {
    const Time now = services.loop.WallNow();
    return slurm::SignToken({.user = order_.user,
                             .issuer = services.field_manager,
                             .id = Hex(services.entropy(kIdBytes).Reveal()),
                             .issued_at = now - kTokenClockSkew,
                             .expires_at = now + order_.lifetime},
                            key);
  }

  TokenOrder order_;
};

}  // namespace

std::shared_ptr<const Effect> IssueToken(TokenOrder order) {
  return std::make_shared<IssueTokenEffect>(std::move(order));
}

}  // namespace capstan::plan
