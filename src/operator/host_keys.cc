#include "operator/host_keys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <memory>
#include <vector>

#include "async/turn.h"
#include "base/hash.h"
#include "operator/questions.h"
#include "operator/reasons.h"
#include "operator/render/metadata.h"
#include "operator/ssh_files.h"
#include "plan/objects/secrets.h"
#include "plan/services.h"

// The format is that of OpenSSH's PROTOCOL.key: numbers and texts of RFC 4251, section 5.
namespace capstan::op {
namespace {

constexpr size_t kRsaBits = 3072;  // as strong as the other two, and a third of the time of 4096
constexpr size_t kBlock = 8;
constexpr size_t kLine = 70;

using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using NumberPointer = std::unique_ptr<BIGNUM, decltype(&BN_clear_free)>;

std::unexpected<Error> Failed(std::string_view what) {
  return Fail(Code::kInternal, "OpenSSL cannot make " + std::string(what) + " of an SSH host key");
}

void PutUint32(std::string& to, uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) to.push_back(char(number >> shift));
}
void PutString(std::string& to, std::string_view text) {
  PutUint32(to, uint32_t(text.size()));
  to += text;
}

// An mpint: big endian, with a zero byte before a first bit that would be a sign.
Result<void> PutNumber(std::string& to, const EVP_PKEY* key, const char* parameter) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, parameter, &raw) != 1) return Failed(parameter);
  const NumberPointer number(raw, &BN_clear_free);
  std::string bytes(size_t(BN_num_bytes(raw)), '\0');
  BN_bn2bin(raw, reinterpret_cast<unsigned char*>(bytes.data()));
  if (!bytes.empty() && (bytes[0] & 0x80) != 0) bytes.insert(bytes.begin(), '\0');
  PutString(to, bytes);
  return {};
}

// The two halves of a key, each beginning with its type.
struct Halves {
  std::string type, open, hidden;
};

Result<Halves> Rsa(const EVP_PKEY* key) {
  Halves halves{.type = "ssh-rsa", .open = {}, .hidden = {}};
  PutString(halves.open, halves.type);
  CAPSTAN_CHECK_OK(PutNumber(halves.open, key, OSSL_PKEY_PARAM_RSA_E));
  CAPSTAN_CHECK_OK(PutNumber(halves.open, key, OSSL_PKEY_PARAM_RSA_N));
  PutString(halves.hidden, halves.type);
  for (const char* parameter :
       {OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
        OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2})
    CAPSTAN_CHECK_OK(PutNumber(halves.hidden, key, parameter));
  return halves;
}

Result<Halves> Ecdsa(const EVP_PKEY* key) {
  constexpr std::string_view kCurve = "nistp256";
  Halves halves{.type = "ecdsa-sha2-nistp256", .open = {}, .hidden = {}};
  std::array<unsigned char, 65> point{};
  size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(), &size) != 1 ||
      size != point.size())
    return Failed("the point");
  PutString(halves.open, halves.type);
  PutString(halves.open, kCurve);
  PutString(halves.open, {reinterpret_cast<const char*>(point.data()), point.size()});
  halves.hidden = halves.open;
  CAPSTAN_CHECK_OK(PutNumber(halves.hidden, key, OSSL_PKEY_PARAM_PRIV_KEY));
  return halves;
}

Result<Halves> Ed25519(const EVP_PKEY* key) {
  Halves halves{.type = "ssh-ed25519", .open = {}, .hidden = {}};
  std::string open(32, '\0'), seed(32, '\0');
  size_t open_size = open.size(), seed_size = seed.size();
  if (EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(open.data()), &open_size) != 1 ||
      EVP_PKEY_get_raw_private_key(key, reinterpret_cast<unsigned char*>(seed.data()), &seed_size) != 1)
    return Failed("the bytes");
  PutString(halves.open, halves.type);
  PutString(halves.open, open);
  halves.hidden = halves.open;
  PutString(halves.hidden, seed + open);
  return halves;
}

std::string Lines(std::string_view text) {
  std::string lines;
  for (size_t at = 0; at < text.size(); at += kLine) lines.append(text.substr(at, kLine)).push_back('\n');
  return lines;
}

std::string PrivateFile(const Halves& halves) {
  std::string hidden;
  for (int i = 0; i < 2; ++i) PutUint32(hidden, 0);  // two equal numbers, by which a wrong passphrase would show
  hidden += halves.hidden;
  PutString(hidden, "");  // no comment
  for (char pad = 1; hidden.size() % kBlock != 0; ++pad) hidden.push_back(pad);
  std::string all("openssh-key-v1\0", 15);
  PutString(all, "none");
  PutString(all, "none");
  PutString(all, "");
  PutUint32(all, 1);
  PutString(all, halves.open);
  PutString(all, hidden);
  return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + Lines(Base64(all)) + "-----END OPENSSH PRIVATE KEY-----\n";
}

class HostKeyContent final : public plan::SecretContent {
 public:
  uint64_t digest() const override { return Fnv64("host keys"); }
  async::Task<Result<std::map<std::string, Secret>>> Make(plan::Services&, async::Deadline) const override {
    async::NameTurn("making SSH host keys");
    co_return MakeHostKeys();
  }
};

plan::Action Creation(const kube::Key& secret, std::string_view set, const Component& component) {
  render::Metadata metadata;
  metadata.Add(render::ComponentLabels(component, std::string(set)), {});
  return {.effect = plan::CreateSecret(
              {.key = secret, .metadata = json::SerializeCanonical(metadata.ToJson()), .immutable = true},
              std::make_shared<HostKeyContent>()),
          .reason = "the hosts that people come to have no keys yet",
          .guards = {},
          .after = {},
          .event = {{.reason = EventWord("KeyCreated"), .action = "Create"}}};
}

}  // namespace

Result<std::map<std::string, Secret>> MakeHostKeys() {
  std::map<std::string, Secret> files;
  const auto add = [&files](std::string_view name, EVP_PKEY* raw,
                            Result<Halves> (*split)(const EVP_PKEY*)) -> Result<void> {
    const KeyPointer key(raw, &EVP_PKEY_free);
    if (raw == nullptr) return Failed(name);
    CAPSTAN_TRY(const Halves halves, split(raw));
    const std::string file = "ssh_host_" + std::string(name) + "_key";
    files.emplace(file, Secret(PrivateFile(halves)));
    files.emplace(file + ".pub", Secret(halves.type + " " + Base64(halves.open) + "\n"));
    return {};
  };
  CAPSTAN_CHECK_OK(add("rsa", EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kRsaBits), &Rsa));
  CAPSTAN_CHECK_OK(add("ecdsa", EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), &Ecdsa));
  CAPSTAN_CHECK_OK(add("ed25519", EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), &Ed25519));
  return files;
}

std::optional<std::string> FindHostKeys(const plan::World& world, const kube::Key& set, const Component& component,
                                        plan::Plan& plan, Findings& findings) {
  const kube::Key secret{set.ns, SshHostKeysName(set.name)};
  const auto answer = world.Ask(SecretDigest(secret), kReferenceAge);
  if (answer.absent()) {
    plan.Add(Creation(secret, set.name, component));
    findings.Wait("CreatingKeys", "the host keys in Secret " + secret.ToString() + " are being made");
    return std::nullopt;
  }
  if (answer.value == nullptr) {
    findings.Wait("ReadingKeys",
                  "Secret " + secret.ToString() +
                      (answer.error.empty() ? " is being looked for" : " cannot be read: " + answer.error));
    return std::nullopt;
  }
  std::string all;
  for (const std::string_view file : kHostKeyFiles) {
    const auto digest = answer.value->digests.find(std::string(file));
    if (digest == answer.value->digests.end()) {
      findings.Problem("ReferenceInvalid", "Secret " + secret.ToString() + " has no key \"" + std::string(file) +
                                               "\"; add it, or delete the Secret to have all host keys made anew");
      return std::nullopt;
    }
    all += digest->second;
  }
  if (!IsGood(world.Ask(HostKeyFiles(secret), kReferenceAge), secret, "", findings)) return std::nullopt;
  return Sha256Hex(all);
}

}  // namespace capstan::op
