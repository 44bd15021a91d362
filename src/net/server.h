// A small HTTP/1.1 server on a thread of its own: health, readiness, metrics.
//
// Handlers run on the server's thread and read only what is immutable or atomic, so that a busy main loop
// still answers its probes. Everything is bounded: connections, header, body, time for each request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http.h"

namespace capstan::net {

class HttpServer {
 public:
  // Answers one request. Must not block.
  using Handler = std::function<Response(const Request&)>;

  struct Options {
    std::string address = "0.0.0.0";  // an address, not a name; "::" listens on IPv4 too
    uint16_t port = 0;                // 0: any free one, see port()
    size_t max_connections = 64;      // more wait in the kernel's queue
    size_t max_header_bytes = 16 << 10;
    size_t max_body_bytes = 64 << 10;
    Duration request_limit = 10s;  // from a request's first byte to the end of its answer
    Duration idle_limit = 60s;     // between two requests of a connection
  };

  // Listens and serves `handlers`, by exact path (the query is the handler's). An unknown path is answered
  // 404, anything but GET, HEAD and POST 405. kUnavailable when the address cannot be had.
  static Result<std::unique_ptr<HttpServer>> Start(Options options,
                                                   std::map<std::string, Handler, std::less<>> handlers);

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

}  // namespace capstan::net
