// A small HTTP/1.1 server on a thread of its own: health, readiness, metrics, webhooks.
//
// Handlers run on the server's thread and read only what is immutable or atomic, so that a busy main loop
// still answers its probes. Everything is bounded: connections, header, body, all requests together, time for
// each request.
//
// With an identity it speaks TLS 1.2 or newer and nothing else; clients that offer HTTP/2 settle for HTTP/1.1.
// What is refused before a handler sees it: 400 not HTTP, 404 unknown path, 405 method, 413 body and 431
// header too large, 503 too much being received already. A client that does not accept our certificate is logged, at most once a minute.
//
// Metrics, when there are any: capstan_http_requests_total{path,code} and
// capstan_http_request_duration_seconds{path} (path is "other" for what is not served),
// capstan_http_connections, capstan_http_failed_handshakes_total.
//
// To go away without losing a request: let readiness fail, Retire(), wait until clients have noticed (for a
// Service some seconds), then destroy.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/http.h"
#include "net/metrics.h"
#include "net/serving.h"

namespace capstan::net {

class HttpServer {
 public:
  // Answers one request. Must not block.
  using Handler = std::function<Response(const Request&)>;
  // Who is let in, where that must be asked for. Called on the server's thread; must not block, and call `tell` once, on any
  // thread, with nullopt or with the refusal. Who is not told of within half the request's time is refused with 503.
  using Tell = std::function<void(std::optional<Response> refusal)>;
  using Admit = std::function<void(const Request&, Tell tell)>;

  struct Options {
    std::string address = "0.0.0.0";  // an address, not a name; "::" listens on IPv4 too
    uint16_t port = 0;                // 0: any free one, see port()
    // One more closes the one that has been idle longest, else the one whose request has been on its way longest, or
    // waits while all requests are complete.
    size_t max_connections = 64;
    size_t max_header_bytes = 16 << 10;
    size_t max_body_bytes = 64 << 10;
    size_t max_received_bytes = 64 << 20;  // of all requests that are being received; one alone may be larger
    Duration request_limit = 10s;          // for a handshake; and from a request's first byte to the end of its answer
    // Between two requests of a connection. Longer than clients keep theirs (API server: 90 s): a client does
    // not repeat a POST that meets our close on its way.
    Duration idle_limit = 2min;
    std::shared_ptr<const ServingIdentity> identity = {};  // null: plain HTTP
    Admit admit = {};                                      // null: everybody
    Metrics* metrics = nullptr;                            // outlives the server
  };

  // Listens and serves `handlers`, by exact path (the query is the handler's). kUnavailable when the address
  // cannot be had.
  static Result<std::unique_ptr<HttpServer>> Start(Options options,
                                                   std::map<std::string, Handler, std::less<>> handlers);

  // From now on each answer is the last of its connection. New connections are still served. Any thread.
  void Retire();

  // Stops listening, lets requests that have begun finish for up to 2 s, and joins the thread.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;

 private:
  struct Service;
  explicit HttpServer(std::unique_ptr<Service> service);
  std::unique_ptr<Service> service_;
};

// 200 with text.
Response TextResponse(std::string body, std::string_view content_type = "text/plain; charset=utf-8");

// A status of 400 or more, with one sentence.
Response Refusal(int status, std::string sentence);

}  // namespace capstan::net
