// Asks a proxy to connect us to a server. Internal to net/.
#pragma once

#include "net/proxy.h"
#include "net/socket.h"

namespace capstan::net {

// On return every byte of `socket` goes to and comes from `server`. REQUIRES: `socket` is connected to the
// proxy, its own TLS included when it has any. kUnavailable says what the proxy answered, or that it did not;
// the socket is of no further use then.
async::Task<Result<void>> OpenTunnel(Socket& socket, const Proxy& proxy, const Endpoint& server,
                                     async::Deadline deadline);

}  // namespace capstan::net
