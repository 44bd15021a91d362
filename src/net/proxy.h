// Proxies that pass connections on (HTTP's CONNECT, RFC 9110 section 9.3.6), for sites that let nobody out
// directly. What goes through is TLS with the server itself: the proxy learns its name and port, nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "net/client.h"

namespace capstan::net {

struct Proxy {
  // kHttp: we speak plainly to the proxy; kHttps: TLS to it, and the server's TLS inside. Its certificate must
  // be for this host and signed by whom the credentials trust for the server (as Go's client has it); ours is
  // never shown to it.
  Endpoint at = {};
  Secret authorization = {};  // the value of Proxy-Authorization; empty: none

  // Reads "http://[user[:password]@]host[:port]" and "https://...", user and password percent-encoded. The
  // port is 80 or 443 when none is given. kInvalid says what is wrong and never quotes what may be a password.
  // SOCKS is not supported and refused by name.
  static Result<std::shared_ptr<const Proxy>> Parse(std::string_view url);

  std::string ToString() const { return at.ToString(); }  // without user and password
};

// Which proxy the environment has for an https server, by the rules that Go programs follow: `https_proxy` is
// a URL, or "host:port" for an http proxy; `no_proxy` lists, with commas, what is reached directly: "*",
// addresses, CIDR blocks, "name" (and all below it), ".name" or "*.name" (only what is below it), each of them
// but a block with ":port" if it is to count for that port only. "localhost" and loopback addresses are always
// reached directly. nullptr: no proxy, also for servers that are not https.
Result<std::shared_ptr<const Proxy>> ProxyFromEnvironment(const Endpoint& server, std::string_view https_proxy,
                                                          std::string_view no_proxy);

}  // namespace capstan::net
