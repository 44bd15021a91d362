#include "net/client.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "net/pool.h"

namespace capstan::net {
namespace {

// Nothing that ends a host in a URL, a header or a C string. (OpenSSL takes ".x" for all names below x.)
bool IsHost(std::string_view text) {
  return !text.starts_with('.') && std::ranges::none_of(text, [](unsigned char c) {
    return c <= ' ' || c == 0x7f || std::string_view("?#[]@/").find(char(c)) != std::string_view::npos;
  });
}

// The part of a URL between scheme and path: host[:port], IPv6 in brackets.
Result<void> ParseAuthority(std::string_view authority, Endpoint& endpoint) {
  if (authority.find('@') != authority.npos) return Fail(Code::kInvalid, "a user in the URL is not supported");
  size_t host_end = authority.rfind(':');
  if (authority.starts_with('[')) {
    const size_t bracket = authority.find(']');
    if (bracket == authority.npos) return Fail(Code::kInvalid, "the bracket of an IPv6 address is not closed");
    endpoint.host = authority.substr(1, bracket - 1);
    host_end = bracket + 1 < authority.size() ? bracket + 1 : authority.npos;
    if (host_end != authority.npos && authority[host_end] != ':')
      return Fail(Code::kInvalid, "something stands between address and port");
  } else {
    endpoint.host = authority.substr(0, host_end);
  }
  if (endpoint.host.empty()) return Fail(Code::kInvalid, "the host is missing");
  if (!IsHost(endpoint.host)) return Fail(Code::kInvalid, "the host is not a name");
  if (host_end == authority.npos) return {};
  const auto port = ParseInt(authority.substr(host_end + 1));
  if (!port || *port < 1 || *port > 65535) return Fail(Code::kInvalid, "the port must be 1 to 65535");
  endpoint.port = uint16_t(*port);
  return {};
}

class Stream final : public BodyStream {
 public:
  Stream(std::shared_ptr<HttpClient::Pool> pool, Slot slot, HttpClient::Pool::Exchange exchange)
      : pool_(std::move(pool)),
        slot_(std::move(slot)),
        exchange_(std::move(exchange)),
        status_(exchange_.parser->status()),
        headers_(std::move(exchange_.parser->headers())) {}

  int status() const override { return status_; }
  const Headers& headers() const override { return headers_; }

  async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline deadline) override {
    while (true) {
      if (ended_) co_return 0;
      std::string& body = exchange_.parser->body();
      if (taken_ < body.size()) co_return Take(body, buffer);
      if (exchange_.parser->done()) {
        ended_ = true;
        pool_->Finish(std::move(exchange_));
        slot_ = Slot();
        continue;
      }
      CAPSTAN_CO_CHECK_OK(co_await pool_->ReadMore(exchange_, deadline));
    }
  }

 private:
  size_t Take(std::string& body, std::span<char> buffer) {
    const size_t count = std::min(buffer.size(), body.size() - taken_);
    std::memcpy(buffer.data(), body.data() + taken_, count);
    taken_ += count;
    if (taken_ == body.size()) {
      std::string().swap(body);  // a watch mostly waits, and holds nothing while it does
      taken_ = 0;
    }
    return count;
  }

  std::shared_ptr<HttpClient::Pool> pool_;
  Slot slot_;
  HttpClient::Pool::Exchange exchange_;
  int status_;
  Headers headers_;
  size_t taken_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<Endpoint> Endpoint::Parse(std::string_view url) {
  const auto invalid = [&](std::string_view why) {
    return Fail(Code::kInvalid, "the address \"" + std::string(url) + "\": " + std::string(why));
  };
  constexpr std::string_view kHttp = "http://", kHttps = "https://", kUnix = "unix://";
  Endpoint endpoint;
  if (url.starts_with(kUnix)) {
    endpoint.scheme = Scheme::kUnix;
    endpoint.host = url.substr(kUnix.size());
    endpoint.port = 0;
    if (!endpoint.host.starts_with('/')) return invalid("a socket's path must begin with /");
    if (endpoint.host.size() > 107) return invalid("a socket's path may have 107 bytes at most");
    return endpoint;
  }
  const bool plain = url.starts_with(kHttp);
  if (!plain && !url.starts_with(kHttps)) return invalid("must begin with https://, http:// or unix://");
  endpoint.scheme = plain ? Scheme::kHttp : Scheme::kHttps;
  endpoint.port = plain ? 80 : 443;
  const std::string_view rest = url.substr(plain ? kHttp.size() : kHttps.size());
  const size_t path = std::min(rest.find('/'), rest.size());
  if (const auto parsed = ParseAuthority(rest.substr(0, path), endpoint); !parsed)
    return invalid(parsed.error().message());
  endpoint.base_path = rest.substr(path);
  if (endpoint.base_path.find_first_of("?# \t\r\n") != endpoint.base_path.npos)
    return invalid("the path must not hold ?, # or blanks");
  while (endpoint.base_path.ends_with('/')) endpoint.base_path.pop_back();
  return endpoint;
}

std::string Endpoint::ToString() const {
  if (scheme == Scheme::kUnix) return "unix://" + host;
  return (scheme == Scheme::kHttp ? "http://" : "https://") + Authority() + base_path;
}

std::string Endpoint::Authority() const {
  if (scheme == Scheme::kUnix) return host;
  return (host.find(':') == host.npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string_view UserAgent() { return "capstan/" CAPSTAN_VERSION; }

HttpClient::HttpClient(async::Loop& loop, Options options) : pool_(std::make_shared<Pool>(loop, std::move(options))) {}
HttpClient::~HttpClient() { pool_->CloseIdle(); }

async::Task<Result<Response>> HttpClient::Send(Request request, async::Deadline deadline) {
  const std::shared_ptr<Pool> pool = pool_;
  const Result<Slot> slot = co_await pool->AcquireRequest(deadline);
  if (!slot) co_return Fail(slot.error());
  const size_t body_limit = std::min(pool->options().max_body_bytes, request.max_answer_bytes);
  Result<Pool::Exchange> exchange = co_await pool->Perform(std::move(request), body_limit, deadline);
  if (!exchange) co_return Fail(std::move(exchange).error());
  while (!exchange->parser->done()) {
    const Result<void> more = co_await pool->ReadMore(*exchange, deadline);
    if (more) continue;
    if (more.error().code() == Code::kInvalid) co_return Fail(more.error());
    co_return Fail(Code::kUnknownOutcome, "the request was sent and its answer was cut off: " + more.error().message());
  }
  MessageParser& parser = *exchange->parser;
  Response response{parser.status(), std::move(parser.headers()), std::move(parser.body())};
  pool->Finish(*std::move(exchange));
  co_return response;
}

async::Task<Result<std::unique_ptr<BodyStream>>> HttpClient::Open(Request request, async::Deadline deadline) {
  const std::shared_ptr<Pool> pool = pool_;
  Result<Slot> slot = pool->AcquireStream();
  if (!slot) co_return Fail(std::move(slot).error());
  Result<Pool::Exchange> exchange = co_await pool->Perform(std::move(request), SIZE_MAX, deadline);
  if (!exchange) co_return Fail(std::move(exchange).error());
  co_return std::make_unique<Stream>(pool, *std::move(slot), *std::move(exchange));
}

void HttpClient::CloseIdle() { pool_->CloseIdle(); }
size_t HttpClient::dialled() const { return pool_->dialled(); }
size_t HttpClient::idle() const { return pool_->idle(); }

}  // namespace capstan::net
