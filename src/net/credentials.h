// Who we are to a server, and whom we believe to be that server.
#pragma once

#include <memory>
#include <string>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "base/secret.h"

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
// Thread: the loop's.
class Credentials {
 public:
  virtual ~Credentials() = default;

  // The bearer token for a request that is about to be sent; empty for none.
  virtual async::Task<Result<Secret>> BearerToken(async::Deadline deadline);

  // For a connection that is about to be dialled. The same pointer as before means nothing has changed; after
  // another one, connections made with the old one are no longer used for new requests.
  virtual Result<std::shared_ptr<const TlsMaterial>> Tls();

  // The server answered 401. True when the next answer of BearerToken or Tls may differ, so that trying once
  // more makes sense.
  virtual bool Rejected() { return false; }
};

}  // namespace capstan::net
