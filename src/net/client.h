// The Transport of production: a bounded pool of HTTP/1.1 connections to one server.
//
// - TLS 1.2 or newer; the server's certificate chain and name are always checked, there is no switch.
// - Names are resolved anew for each connection, and none is used for longer than ten minutes but for what is being
//   read; every address is tried in turn.
// - Connections are kept alive and reused. One that the server closed meanwhile is replaced unnoticed when
//   nothing of the request can have reached the server, or the request is repeatable.
// - A server behind a proxy is reached through the proxy (proxy.h); its TLS and its checks stay as they are.
// - Half-open connections are found: every read has a deadline, and the kernel probes idle peers.
// - An idle connection holds no buffers.
//
// Thread: the loop's. Destroy it when no call is outstanding; streams may outlive it.
#pragma once

#include <memory>
#include <string>

#include "async/loop.h"
#include "net/credentials.h"
#include "net/http.h"
#include "net/metrics.h"

namespace capstan::net {

struct Proxy;  // proxy.h

// Where a server listens, and by which way it is reached.
struct Endpoint {
  enum class Scheme : uint8_t { kHttp, kHttps, kUnix };

  Scheme scheme = Scheme::kHttps;
  std::string host = {};  // name or address, IPv6 without brackets; for kUnix the socket's path
  uint16_t port = 443;    // not for kUnix
  // Put before every request's target: "" or "/k8s/clusters/c-1", never ending in "/".
  std::string base_path = {};
  std::shared_ptr<const Proxy> proxy = {};  // nullptr: directly. REQUIRES: kHttps when there is one

  // Reads "https://host[:port][/path]", "http://..." and "unix:///run/x.sock". kInvalid says what is wrong.
  static Result<Endpoint> Parse(std::string_view url);

  // The host as it is called in Host headers and certificates: without a final dot, which is for who looks it up.
  std::string_view name() const {
    return host.ends_with('.') ? std::string_view(host).substr(0, host.size() - 1) : std::string_view(host);
  }

  std::string ToString() const;
  std::string Authority() const;  // "host:port", IPv6 in brackets; of kUnix its path
};

// "capstan/<version>". (The API server sends indented JSON, twice the bytes, to user agents it takes for a
// person's.)
std::string_view UserAgent();

class HttpClient final : public Transport {
 public:
  struct Options {
    Endpoint server = {};
    std::shared_ptr<Credentials> credentials = {};  // nullptr: the default of Credentials
    std::string user_agent = std::string(UserAgent());

    size_t max_requests = 8;     // connections for Send; who finds all busy waits in turn, until its deadline
    size_t max_streams = 4096;   // connections for Open (a watch each); one more is refused with kUnavailable
    size_t max_idle = 8;         // kept for reuse
    Duration age_limit = 10min;  // then a connection is not used again, so that names are resolved anew in time
    Duration idle_limit = 60s;   // shorter than what servers and middleboxes keep (API server: 90 s)
    Duration dial_limit = 10s;   // name, TCP and TLS together, within the caller's deadline

    size_t max_header_bytes = 64 << 10;
    // Of Send, for requests that name no lower limit (Request::max_answer_bytes). Open has none, for its reader takes a
    // piece at a time, but in what comes before its request has been sent.
    size_t max_body_bytes = 256 << 20;
  };

  HttpClient(async::Loop& loop, Options options);
  ~HttpClient() override;

  // As Transport says. A 401 is tried once more when the credentials have something new to offer.
  async::Task<Result<Response>> Send(Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<BodyStream>>> Open(Request request, async::Deadline deadline) override;

  // Closes connections that nobody uses. For tests and memory pressure.
  void CloseIdle();

  // How many connections were dialled, and how many wait for use.
  size_t dialled() const;
  size_t idle() const;

  class Pool;  // pool.h

 private:
  std::shared_ptr<Pool> pool_;
};

}  // namespace capstan::net
