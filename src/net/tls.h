// What all TLS connections made with one TlsMaterial or ServingMaterial share. Internal to net/.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "net/credentials.h"
#include "net/serving.h"

typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;
typedef struct bio_st BIO;

namespace capstan::net {

// An OpenSSL context: TLS 1.2 or newer, one copy of the trusted certificates however many connections there
// are. Clients always verify the server; servers verify clients when they were given a CA for it. Immutable
// after it is made.
class TlsContext {
 public:
  // kInvalid says which part of the material cannot be used and why; it never quotes it.
  static Result<std::shared_ptr<const TlsContext>> ForClient(const TlsMaterial& material);
  static Result<std::shared_ptr<const TlsContext>> ForServer(const ServingMaterial& material);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A connection's own state on the non-blocking socket `fd`, ready for the client's handshake with
  // `server_name` (a host name or an address; REQUIRES: not empty, no NUL in it). The caller frees it with SSL_free, before it closes fd.
  SSL* NewClient(int fd, const std::string& server_name) const;
  // The same inside the TLS connection `outer`, which must live until the result is freed.
  SSL* NewClientInside(SSL* outer, const std::string& server_name) const;
  // The same for the server's handshake.
  SSL* NewServer(int fd) const;

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  SSL* NewClientOn(BIO* bio, const std::string& server_name) const;
  SSL_CTX* context_;
};

// Why the last operation on `ssl` failed, in words: the certificate's fault first, then the peer's alert,
// then the operating system's reason. Empties OpenSSL's error queue.
std::string TlsFailure(SSL* ssl, int system_error);

// True when the error at the front of OpenSSL's queue is the peer saying that it does not accept our
// certificate.
bool PeerRefusedOurCertificate();

}  // namespace capstan::net
