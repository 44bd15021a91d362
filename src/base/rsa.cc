#include "base/rsa.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

namespace capstan {
namespace {

constexpr int kLeastBits = 2048;
constexpr size_t kLongestPem = 64 << 10;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIGNUM* number) const { BN_free(number); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;

// Instead of OpenSSL's, which asks the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

Result<Key> Read(const Secret& pem) {
  const std::string_view text = pem.Reveal();
  if (text.size() > kLongestPem) return Fail(Code::kInvalid, "the RSA key is too long");
  const std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(text.data(), int(text.size())));
  Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr) : nullptr);
  if (!key || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA)
    return Fail(Code::kInvalid, "this is no RSA private key, PEM without a passphrase");
  if (EVP_PKEY_get_bits(key.get()) < kLeastBits)
    return Fail(Code::kInvalid, "the RSA key has less than " + std::to_string(kLeastBits) + " bits");
  return key;
}

Result<std::string> Number(const EVP_PKEY& key, const char* name) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(&key, name, &raw) != 1) return Fail(Code::kInvalid, "the RSA key lacks its public half");
  const std::unique_ptr<BIGNUM, Free> number(raw);
  std::string bytes(size_t(BN_num_bytes(number.get())), '\0');
  BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

}  // namespace

Result<std::string> SignRsaSha256(const Secret& pem, std::string_view bytes) {
  CAPSTAN_TRY(const Key key, Read(pem));
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  std::string signature(size_t(EVP_PKEY_get_size(key.get())), '\0');
  size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, data, bytes.size()) != 1)
    return Fail(Code::kInvalid, "the RSA key signs nothing");
  signature.resize(size);
  return signature;
}

Result<RsaPublicKey> RsaPublicKeyOf(const Secret& pem) {
  CAPSTAN_TRY(const Key key, Read(pem));
  RsaPublicKey half;
  CAPSTAN_TRY(half.modulus, Number(*key, OSSL_PKEY_PARAM_RSA_N));
  CAPSTAN_TRY(half.exponent, Number(*key, OSSL_PKEY_PARAM_RSA_E));
  return half;
}

}  // namespace capstan
