// Who we are to a server, and whom we believe to be that server.
#pragma once

#include <memory>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "base/result.h"
#include "base/secret.h"
#include "net/http.h"

namespace capstan::net {

// What a TLS connection is made with. Immutable; a new one replaces it when files rotate.
struct TlsMaterial {
  std::string ca_pem = {};  // who may have signed the server's certificate; empty: the machine's own trust store
  std::string certificate_pem = {};  // ours, with its chain; empty: none
  Secret key_pem = {};
  std::string server_name = {};  // what the server's certificate must be for; empty: the host we dial
};

// Asked anew for each connection and each request, so that rotation needs no restart. The default is nobody
// in particular: no token, no certificate, the machine's trust store.
//
// Thread: the loop's, and the same loop at every call.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // The bearer token for a request that is about to be sent; empty for none. May take its time, and makes
  // ready what Tls, which is asked right after it, has to offer.
  virtual async::Task<Result<Secret>> BearerToken(async::Loop& loop, async::Deadline deadline);

  // For a connection that is about to be dialled. The same pointer as before means nothing has changed; after
  // another one, connections made with the old one are no longer used for new requests.
  virtual Result<std::shared_ptr<const TlsMaterial>> Tls();

  // Headers that every request carries: in whose name it is made, when that is not our own.
  virtual Headers Impersonation() const { return {}; }

  // The server refused what we showed: 401, or our certificate at the handshake. `token` and `material` are
  // what that request went with (no material without TLS); meanwhile others may be in force. True when
  // BearerToken or Tls may answer differently now, so that trying once more makes sense.
  virtual bool Rejected(const Secret& token, const TlsMaterial* material);
};

}  // namespace capstan::net
