// An HTTP proxy that knows CONNECT, for tests: real sockets on loopback, TLS towards the client when it has a
// certificate.
//
//   ConnectProxy proxy;
//   Endpoint server = scripted.endpoint();
//   server.proxy = *Proxy::Parse(proxy.url());
//   ...
//   EXPECT_THAT(proxy.requests()[0], StartsWith("CONNECT 127.0.0.1:"));
//
// Every tunnel ends at an address of 127.0.0.1, whatever host was asked for: no name is ever looked up. It
// runs on threads of its own. All methods may be called from any thread; the destructor cuts everything off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace capstan::net::testing {

class ConnectProxy {
 public:
  struct Options {
    std::string certificate_pem = {};  // with the key: an https proxy
    std::string key_pem = {};
    std::string answer = "HTTP/1.1 200 Connection established\r\n\r\n";  // anything but 2xx: no tunnel follows
    bool silent = false;                                                 // takes connections and says nothing
  };
  ConnectProxy() : ConnectProxy(Options()) {}
  explicit ConnectProxy(Options options);
  ~ConnectProxy();
  ConnectProxy(const ConnectProxy&) = delete;
  ConnectProxy& operator=(const ConnectProxy&) = delete;

  uint16_t port() const;
  // "http://127.0.0.1:4711", with "user:password@" in front of the host when `user_info` is given.
  std::string url(const std::string& user_info = "") const;

  std::vector<std::string> requests() const;  // the headers of the requests, as they came

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capstan::net::testing
