#include "base/secret.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "base/hash.h"

namespace capstan {
namespace {

using DigestKey = std::array<unsigned char, 32>;

const DigestKey& ProcessKey() {
  static const DigestKey key = [] {
    DigestKey bytes;
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) std::abort();  // no entropy: nothing secret can be done safely
    return bytes;
  }();
  return key;
}

}  // namespace

Secret::Secret(Secret&& other) noexcept : bytes_(other.bytes_) {
  OPENSSL_cleanse(other.bytes_.data(), other.bytes_.size());
  other.bytes_.clear();
}

Secret& Secret::operator=(Secret other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Secret::~Secret() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

std::string Secret::Digest() const {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), ProcessKey().data(), ProcessKey().size(), reinterpret_cast<const unsigned char*>(bytes_.data()),
       bytes_.size(), mac, &size);
  return Hex(std::string_view(reinterpret_cast<const char*>(mac), 8));
}

bool operator==(const Secret& a, const Secret& b) {
  return a.bytes_.size() == b.bytes_.size() && CRYPTO_memcmp(a.bytes_.data(), b.bytes_.data(), a.bytes_.size()) == 0;
}

}  // namespace capstan
