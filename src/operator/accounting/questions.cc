#include "operator/accounting/questions.h"

#include "base/hash.h"
#include "base/secret.h"
#include "kube/client.h"
#include "operator/accounting/config.h"
#include "operator/names.h"
#include "plan/objects/secrets.h"
#include "plan/services.h"

namespace capstan::op::accounting {
namespace {

using Fetched = plan::Question::Fetched;

}  // namespace

async::Task<Result<std::optional<Fetched>>> ConfState::Fetch(plan::Services& services, async::Deadline deadline) const {
  auto value = std::make_shared<Value>();
  CAPSTAN_CO_TRY(const Secret slurm_key, co_await plan::ReadSecretKey(services.client, salt, salt_key, deadline));
  const auto secret = co_await plan::ReadSecretKey(services.client, password, password_key, deadline);
  if (!secret && secret.error().code() != Code::kNotFound) co_return Fail(secret.error());
  if (!secret) {
    value->password_wrong = "is missing, or has no key \"" + password_key + "\"";
  } else if (const auto written = PasswordValue(secret->Reveal()); !written) {
    value->password_wrong = "holds a password that is refused: " + written.error().message();
  } else {
    value->password_digest = Hex(HmacSha256(slurm_key.Reveal(), secret->Reveal()));
  }
  const auto object =
      co_await services.client.Get<plan::SecretObject>(kube::kSecrets, conf, {.metadata_only = true}, deadline);
  if (!object && object.error().code() != Code::kNotFound) co_return Fail(object.error());
  if (object) {
    value->present = true;
    value->made_from = object->metadata.Annotation(std::string(kAnnotationMadeFrom));
    value->controller_uid = object->controller_uid();
  }
  const uint64_t digest = Fnv64(
      value->password_digest + "\n" + value->password_wrong + "\n" + value->controller_uid + "\n" + value->made_from,
      value->present);
  co_return Fetched{std::move(value), digest};
}

}  // namespace capstan::op::accounting
