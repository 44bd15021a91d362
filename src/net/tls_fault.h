// Why a TlsMaterial cannot be used, told before anything is dialled with it: for those who know where each part of it
// came from, and can say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/credentials.h"

namespace capstan::net {

enum class TlsPart : uint8_t { kCa, kCertificate, kKey };

struct TlsFault {
  TlsPart part;
  std::string why;  // a sentence that quotes nothing of the material
};

// The first part that cannot be used; nullopt: a connection can be made with it. Parts that are not given are passed
// over: whether the machine has a trust store is not looked at.
std::optional<TlsFault> FindTlsFault(const TlsMaterial& material);

}  // namespace capstan::net
