// X.509 certificates of our own: a small certificate authority, and reading what certificates say.
//
//   Result<CertifiedKey> ca = NewAuthority("slurm-bridge", {now - 1h, now + 365 * 24h});
//   Result<CertifiedKey> own = IssueServing(*ca, {"slurm-bridge.slinky.svc"}, {now - 1h, now + 90 * 24h});
//
// Keys are ECDSA P-256 out of the operating system's random numbers, in PKCS#8; signatures are SHA-256. Key
// bytes stand in Secrets only. Nothing here reads a clock or waits; a new key takes about 50 us.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace capstan::net {

// Whole seconds count.
struct Validity {
  Time from;
  Time until;
};

struct CertifiedKey {
  std::string certificate_pem;
  Secret key_pem;
};

// A self-signed CA that may sign servers' certificates and no further CAs. `name` is its common name, in
// which a number is put that tells authorities of one name apart.
Result<CertifiedKey> NewAuthority(std::string_view name, Validity validity);

// A server's certificate. `names` are DNS names and IP addresses; the first is the common name as well. It
// never outlives the authority: `validity` is cut to the authority's. kInvalid: the authority cannot be read,
// its key is another one's, there is no name or one is none.
Result<CertifiedKey> IssueServing(const CertifiedKey& authority, const std::vector<std::string>& names,
                                  Validity validity);

// What a certificate says.
struct CertificateFacts {
  std::string pem;  // this one alone
  Validity validity;
  std::vector<std::string> names;  // DNS names and addresses it is for, as text, sorted
  bool authority = false;          // may sign others
};

// All certificates of a text, in its order. kInvalid: there is none, or one is broken.
Result<std::vector<CertificateFacts>> ReadCertificates(std::string_view pem);

// Is this key that of the (first) certificate? False as well when one of them cannot be read.
bool Belongs(const CertifiedKey& pair);

// Did this authority sign that certificate? Looks at the signature, not at times and names.
bool SignedBy(std::string_view certificate_pem, std::string_view authority_pem);

}  // namespace capstan::net
