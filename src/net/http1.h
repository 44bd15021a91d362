// HTTP/1.1 messages to and from bytes. Internal to net/; Beast's parser does the reading, behind this facade.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "net/http.h"

namespace capstan::net {

struct HttpLimits {
  size_t header_bytes = 64 << 10;
  size_t body_bytes = SIZE_MAX;
};

// Reads one message as its bytes come, whatever pieces they come in. The decoded body collects in body(),
// from where the caller may take it at any time.
class MessageParser {
 public:
  enum class Kind : uint8_t {
    kRequest,
    kResponse,
    kResponseToHead,  // its Content-Length is not followed by a body
  };
  MessageParser(Kind kind, HttpLimits limits);
  ~MessageParser();

  // Uses bytes from the front of `bytes` and takes them out. kInvalid: not HTTP, or larger than the limits;
  // the parser is of no further use.
  Result<void> Feed(std::string& bytes);

  // After Feed failed: the status with which a server says so. 413 (the body is too large), 431 (the header
  // is) or 400.
  int refusal() const { return refusal_; }

  // The peer has ended the connection. kUnavailable when the message was not complete.
  Result<void> End();

  bool header_done() const;
  bool done() const;        // the whole message is here
  bool keep_alive() const;  // REQUIRES: done. May another message follow on this connection?

  // REQUIRES: header_done.
  int status() const;
  const std::string& method() const;
  const std::string& target() const;
  Headers& headers();

  std::string& body();

 private:
  class Machine;
  template <bool is_request>
  class MachineOf;
  HttpLimits limits_;
  std::unique_ptr<Machine> machine_;
  int refusal_ = 400;
};

// The request as it is sent, with Host, User-Agent, Content-Length, and Authorization when there is a token. kInvalid when method, target, user agent or a header would break the
// framing, when a header is one of those that make the framing (Host, Content-Length, Transfer-Encoding). The caller wipes the result.
Result<std::string> Serialized(const Request& request, std::string_view host, std::string_view user_agent,
                               const Secret& bearer_token);

// What is sent before the response's body, with Content-Length.
std::string Head(const Response& response, bool keep_alive);

}  // namespace capstan::net
