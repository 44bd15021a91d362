#include "plan/slurm/signing_key.h"

#include <map>

#include "base/hash.h"
#include "json/codec.h"
#include "json/schema.h"

namespace capstan::plan {
namespace {

struct SecretData {
  std::map<std::string, Secret> data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<SecretData>({json::Field<&SecretData::data>("data")});
    return schema;
  }
};

}  // namespace

async::Task<Result<Secret>> ReadSigningKey(kube::Client& client, kube::Key secret, std::string data_key,
                                           async::Deadline deadline) {
  CAPSTAN_CO_TRY(const SecretData read, co_await client.Get<SecretData>(kube::kSecrets, secret, {}, deadline));
  const auto data = read.data.find(data_key);
  auto bytes = data == read.data.end() ? std::nullopt : FromBase64(data->second.Reveal());
  if (bytes && !bytes->empty()) co_return Secret(*std::move(bytes));
  co_return Fail(Code::kNotFound, "Secret " + secret.ToString() + " has no usable key " + data_key);
}

}  // namespace capstan::plan
