#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>

namespace capstan {
namespace {

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

int Sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(Bytes(bytes), bytes.size(), digest);
  return Hex(std::string_view(reinterpret_cast<char*>(digest), sizeof digest));
}

std::string HmacSha256(std::string_view key, std::string_view bytes) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), int(key.size()), Bytes(bytes), bytes.size(), mac, &size);
  return std::string(reinterpret_cast<char*>(mac), size);
}

uint64_t Fnv64(std::string_view bytes, uint64_t seed) {
  for (const char c : bytes) seed = (seed ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return seed;
}

std::string Fnv64Hex(std::string_view bytes) {
  uint64_t hash = Fnv64(bytes);
  std::string raw;
  for (int i = 0; i < 8; ++i, hash >>= 8) raw += static_cast<char>(hash & 0xff);
  return Hex(raw);
}

uint32_t Fnv32(std::string_view bytes, uint32_t seed) {
  for (const char c : bytes) seed = (seed * 0x01000193) ^ static_cast<uint8_t>(c);
  return seed;
}

std::string Hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out.append(1, kDigits[static_cast<uint8_t>(c) >> 4]).append(1, kDigits[c & 15]);
  return out;
}

std::string Base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(bytes), int(bytes.size()));
  return out;
}

std::string Base64Url(std::string_view bytes) {
  std::string out = Base64(bytes);
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  out.resize(out.find_last_not_of('=') + 1);
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  std::string out;
  uint32_t group = 0;
  int bits = 0;
  size_t padding = 0;
  size_t symbols = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    ++symbols;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = Sextet(c);
    if (value < 0 || padding > 0) return std::nullopt;
    group = group << 6 | uint32_t(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
    }
  }
  if (symbols % 4 != 0 || padding > 2) return std::nullopt;
  return out;
}

}  // namespace capstan
