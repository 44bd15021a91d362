// The server's end of one connection, plain or TLS, for the servers of tests: blocking calls on a thread of its own, and
// none of the code that is tested.
#pragma once

#include <openssl/ssl.h>

#include <string>
#include <string_view>

#include "net/openssl.h"

namespace capstan::net::testing {

// What to serve TLS with; nullptr without a certificate. With `client_ca_pem`, clients must have a certificate of that
// CA. Ends the process when the texts are not PEM.
Owned<SSL_CTX> ServerContext(const std::string& certificate_pem, const std::string& key_pem,
                             const std::string& client_ca_pem = {});

class ServerEnd {
 public:
  // Takes over `fd`. Plain when `context` is nullptr. REQUIRES: its thread has called BlockBrokenPipes.
  ServerEnd(int fd, SSL_CTX* context);
  ~ServerEnd();
  ServerEnd(const ServerEnd&) = delete;
  ServerEnd& operator=(const ServerEnd&) = delete;

  // OpenSSL writes without MSG_NOSIGNAL.
  static void BlockBrokenPipes();

  int fd() const { return fd_; }

  // These three: false when the connection is over.
  bool Handshake();
  bool Read(std::string& into);
  bool Write(std::string_view bytes);

  // Something has been received that poll() does not show any more.
  bool HasMore() const { return ssl_ != nullptr && SSL_pending(ssl_) > 0; }

 private:
  const int fd_;
  SSL* ssl_ = nullptr;
};

}  // namespace capstan::net::testing
