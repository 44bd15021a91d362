// The certificates with which webhooks are served, out of a CA of our own: what is kept, and when it changes.
// Nothing to install, nothing to renew by hand. The part that decides is here and pure; keeper.h does
// it.
//
// One Secret, shared by all replicas of a service, holds everything:
//
//   tls.crt, tls.key                  the serving certificate, of all replicas
//   ca.crt                            whom to trust: the CA that signs now, then those before it
//   ca.key                            of the first in ca.crt
//   next-ca.crt, next-ca.key          the CA that will sign next, while it is being made known
//   next-ca.published                 since when every caBundle holds it (RFC 3339)
//
// Every caBundle of ours is next-ca.crt and ca.crt. Replicas need not know of each other: each looks at the
// Secret, does the one step that is due, and writes only over what it has read (create, or resourceVersion),
// so that of two that start together one creates the CA and the other takes it over.
//
// First match:
//
//   state        seen                                               step
//   ------------------------------------------------------------------------------------------------------------
//   absent       no Secret, or one with none of these keys          new CA, serving certificate of it
//   foreign      a certificate and no ca.key: somebody else's       none, and say so; serve it if it can be used
//   settled      a next CA that all caBundles hold, published for   it signs from now on: first in ca.crt, the one
//                `settle`; or any next CA, when neither CA nor      before stays behind it without its key; new
//                serving certificate can be used                    serving certificate
//   broken       neither CA nor serving certificate can be used     new CA and serving certificate at once; what
//                                                                   is still good in ca.crt stays behind it
//   serving due  the CA can be used; the serving certificate        new serving certificate of the CA
//                cannot, lacks a name, or is in the last third of
//                its life
//   unpublished  a next CA that all caBundles hold, not yet noted   note the time
//   withdrawn    a next CA noted as published that a caBundle       take the note back
//                lacks
//   publishing   any other next CA                                  wait
//   CA due       the CA is in the last third of its life, or        make the next CA
//                cannot be used
//   outdated     an expired CA in ca.crt                            drop it
//   current      none of this                                       none
//
// A CA cannot be used when it is unreadable or expired, or when its key is another's; the serving certificate
// when the same holds for it, or when none of ca.crt has signed it.
//
// Why no request is lost when the CA changes. A certificate of the next CA is served only after all caBundles
// have held that CA for `settle`, longer than API servers need to notice. A CA that signs no more stays trusted
// until it has expired, and nothing that it signed lives longer: a replica that still serves an old
// certificate, for whatever reason, is trusted as long as that certificate is good for anything at all.
//
// To distrust everything at once, delete the Secret: a new CA comes up and nothing of the old one remains.
//
// REQUIRES of the world: clocks of replicas and API servers differ by less than an hour.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/object_meta.h"
#include "net/certificate_authority.h"

namespace capstan::kube {

struct CertificatePolicy {
  std::string name;                     // of the service; becomes part of the CA's name
  std::vector<std::string> names;       // what API servers call us: "slurm-bridge.slinky.svc", addresses
  Duration authority_life = 365 * 24h;  // REQUIRES: at least three times serving_life
  Duration serving_life = 90 * 24h;
  Duration settle = 10min;
};

// What the Secret says, its keys decoded. Empty: not there.
struct CertificateRecord {
  std::string uid;
  uint64_t resource_version = 0;
  std::string trusted_pem;     // ca.crt
  Secret authority_key_pem;    // ca.key
  net::CertifiedKey next;      // next-ca.crt, next-ca.key
  std::string next_published;  // next-ca.published
  net::CertifiedKey serving;   // tls.crt, tls.key

  bool empty() const;
};

// What a record's certificates say, without the time. OpenSSL takes about a millisecond for it: once for each
// state of the Secret.
struct ExaminedRecord {
  explicit ExaminedRecord(CertificateRecord from);

  // What every caBundle must be. Without next-ca.crt when it has no key of its own.
  std::string Bundle() const;

  CertificateRecord record;
  std::vector<net::CertificateFacts> trusted;    // empty when ca.crt cannot be read
  bool authority_key_fits = false;               // ca.key is that of the first
  std::optional<net::CertificateFacts> next;     // nullopt when it cannot be read or its key is another's
  std::optional<net::CertificateFacts> serving;  // the same
  std::vector<bool> signers;                     // which of `trusted` has signed it
};

// The record in a Secret object (JSON). kInvalid: not a Secret's JSON, or a key whose value is not base64.
Result<CertificateRecord> ReadCertificateRecord(std::string_view secret_json);

// A Secret to be created; and the merge patch from one record to the next, guarded by uid and resourceVersion.
std::string NewSecretJson(std::string_view ns, std::string_view name, const CertificateRecord& record);
std::string SecretPatchJson(const CertificateRecord& from, const CertificateRecord& to);

enum class CertificateState : uint8_t {
  kAbsent,
  kForeign,
  kSettled,
  kBroken,
  kServingDue,
  kUnpublished,
  kWithdrawn,
  kPublishing,
  kAuthorityDue,
  kOutdated,
  kCurrent,
};
std::string_view Name(CertificateState state);  // "serving due", as in the table

// Whether the caBundles that are there are the record's Bundle(). Unknown: one could not be read.
enum class Published : uint8_t { kUnknown, kNo, kYes };

// `record`: nullopt when the Secret is proven absent.
CertificateState StateOf(const CertificatePolicy& policy, const std::optional<ExaminedRecord>& record,
                         Published published, Time now);

// The record after the step that the table has for `state`; keys come from the operating system. REQUIRES:
// StateOf gave `state`, and the table has a step for it.
Result<CertificateRecord> NextRecord(const CertificatePolicy& policy, CertificateState state,
                                     const std::optional<ExaminedRecord>& record, Time now);

// Has the table a step for it?
bool HasStep(CertificateState state);

}  // namespace capstan::kube
