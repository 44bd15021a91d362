// Who a TLS server is, replaceable while it serves.
//
//   auto identity = std::make_shared<ServingIdentity>();
//   auto server = HttpServer::Start({.port = 9443, .identity = identity}, handlers);
//   identity->Replace({.certificate_pem = ..., .key_pem = ...});   // again whenever the certificate rotates
//
// Connections are made with what is in force when they begin and keep it to their end: nothing is dropped when
// a certificate is replaced. Session tickets are not issued, so that a new connection always meets the new
// certificate.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace capstan::net {

class TlsContext;

struct ServingMaterial {
  std::string certificate_pem = {};  // ours, with its chain
  Secret key_pem = {};
  std::string client_ca_pem = {};  // not empty: clients without a certificate of these CAs are turned away
};

// Any thread.
class ServingIdentity {
 public:
  // Nobody yet: handshakes fail until the first Replace.
  ServingIdentity() = default;

  // kInvalid says which part cannot be used, without quoting it; then the old material stays in force.
  Result<void> Replace(const ServingMaterial& material);

  bool ready() const { return context() != nullptr; }

  std::shared_ptr<const TlsContext> context() const;  // for net/ itself; null when there is none

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsContext> context_;
};

}  // namespace capstan::net
