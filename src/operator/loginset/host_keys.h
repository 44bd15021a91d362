// The keys by which the login hosts of a LoginSet are known, as OpenSSH reads them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "plan/objects/secrets.h"

namespace capstan::op::loginset {

inline constexpr auto kHostKeyTypes = std::to_array<std::string_view>({"rsa", "ecdsa", "ed25519"});

// ssh_host_{rsa,ecdsa,ed25519}_key in OpenSSH's own format, without a passphrase, and each with .pub. Takes some tenths of
// a second of computing, for the RSA key. kInternal: OpenSSL cannot make one.
Result<std::map<std::string, Secret>> MakeHostKeys();

// The same as the content of a Secret.
std::shared_ptr<const plan::SecretContent> HostKeys();

}  // namespace capstan::op::loginset
