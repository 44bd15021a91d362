#include "net/tunnel.h"

#include <openssl/crypto.h>

#include "net/http1.h"

namespace capstan::net {
namespace {

constexpr HttpLimits kAnswerLimits{.header_bytes = 16 << 10, .body_bytes = 0};

// Not MessageParser's business: a CONNECT has no path and its Authorization is the proxy's.
std::string ConnectRequest(const Proxy& proxy, const Endpoint& server) {
  const std::string authority = server.Authority();
  std::string out;
  out.reserve(256 + 2 * authority.size() + proxy.authorization.Reveal().size());
  out.append("CONNECT ").append(authority).append(" HTTP/1.1\r\nHost: ").append(authority);
  out.append("\r\nUser-Agent: ").append(UserAgent()).append("\r\n");
  if (!proxy.authorization.empty())
    out.append("Proxy-Authorization: ").append(proxy.authorization.Reveal()).append("\r\n");
  return out.append("\r\n");
}

Error Refusal(int status, bool with_password) {
  std::string why = "the proxy answered " + std::to_string(status);
  if (status == 407) why += with_password ? ": it does not accept user and password" : ": it wants user and password";
  if (status == 403) why += ": it does not let us through to this server";
  return Error(Code::kUnavailable, why);
}

}  // namespace

async::Task<Result<void>> OpenTunnel(Socket& socket, const Proxy& proxy, const Endpoint& server,
                                     async::Deadline deadline) {
  std::string request = ConnectRequest(proxy, server);
  const Result<void> written = co_await socket.Write(request, deadline);
  OPENSSL_cleanse(request.data(), request.size());
  if (!written) co_return Fail(written.error().WithContext("the proxy"));

  std::string received;
  // The answer to CONNECT has no body, whatever its header says (RFC 9110 section 9.3.6).
  MessageParser answer(MessageParser::Kind::kResponseToHead, kAnswerLimits);
  while (!answer.header_done()) {
    const Result<size_t> got = co_await socket.Read(received, deadline);
    if (!got) co_return Fail(got.error().WithContext("the proxy"));
    if (*got == 0) co_return Fail(Code::kUnavailable, "the proxy closed the connection without an answer");
    if (const Result<void> fed = answer.Feed(received); !fed)
      co_return Fail(Code::kUnavailable, "the proxy's answer: " + fed.error().message());
  }
  if (answer.status() < 200 || answer.status() > 299)
    co_return Fail(Refusal(answer.status(), !proxy.authorization.empty()));
  // The server speaks only when it is spoken to.
  if (!received.empty()) co_return Fail(Code::kUnavailable, "the proxy sent more than its answer");
  co_return Result<void>();
}

}  // namespace capstan::net
