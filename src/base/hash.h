// Digests and the text encodings of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

// SHA-256 of the bytes, in lowercase hex (64 characters).
std::string Sha256Hex(std::string_view bytes);

// HMAC-SHA-256, raw 32 bytes.
std::string HmacSha256(std::string_view key, std::string_view bytes);

// FNV-1a, 64 bits: equal content gives equal values in every process; not for anything an attacker chooses.
uint64_t Fnv64(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325);
// The same in lowercase hex, lowest byte first (16 characters).
std::string Fnv64Hex(std::string_view bytes);

// FNV-1 (multiply, then xor), 32 bits: what Kubernetes' revision hashes use.
uint32_t Fnv32(std::string_view bytes, uint32_t seed = 0x811c9dc5);

std::string Hex(std::string_view bytes);

std::string Base64(std::string_view bytes);                    // RFC 4648 section 4, padded
std::optional<std::string> FromBase64(std::string_view text);  // nullopt when malformed; line breaks are allowed
std::string Base64Url(std::string_view bytes);                 // RFC 4648 section 5, without padding, as in JWT

}  // namespace capstan
