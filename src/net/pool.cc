#include "net/pool.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/log.h"
#include "net/tunnel.h"

namespace capstan::net {
namespace {

// The lowest status of an answer that says that the rest of the request is not wanted.
constexpr int kFirstRefusal = 300;

// What an exchange that failed after `progress` means for the caller.
Error Meaning(Error error, const Progress& progress) {
  if (!progress.sent || error.code() == Code::kInvalid || error.code() == Code::kUnauthenticated ||
      error.code() == Code::kUnknownOutcome)
    return error;
  return Error(Code::kUnknownOutcome, "the request was sent and its answer was lost: " + error.message());
}

std::string HostHeader(const Endpoint& server) {
  if (server.scheme == Endpoint::Scheme::kUnix) return "localhost";
  const std::string name(server.name());
  const std::string host = name.find(':') == name.npos ? name : "[" + name + "]";
  const uint16_t usual = server.scheme == Endpoint::Scheme::kHttps ? 443 : 80;
  return server.port == usual ? host : host + ":" + std::to_string(server.port);
}

// Wipes the bytes when done: they hold the bearer token.
struct Wiped {
  std::string bytes;
  ~Wiped() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
};

}  // namespace

HttpClient::Pool::Pool(async::Loop& loop, Options options)
    : loop_(loop), options_(std::move(options)), host_header_(HostHeader(options_.server)), resolver_(loop) {
  if (!options_.credentials) options_.credentials = std::make_shared<Credentials>();
}

HttpClient::Pool::~Pool() {
  if (sweep_) loop_.Unschedule(*sweep_);
}

// --- Slots ----------------------------------------------------------------------------------------------

async::Task<Result<Slot>> HttpClient::Pool::AcquireRequest(async::Deadline deadline) {
  const auto release = [self = shared_from_this()] { self->ReleaseRequest(); };
  if (requests_ < options_.max_requests) {
    ++requests_;
    co_return Slot(release);
  }
  Waiter waiter{.timer = async::Timer(loop_)};
  struct Listed {
    Pool& pool;
    Waiter& waiter;
    std::list<Waiter*>::iterator place;
    bool taken = false;
    ~Listed() {
      if (!waiter.granted)
        pool.waiters_.erase(place);
      else if (!taken)
        pool.ReleaseRequest();
    }
  } listed{*this, waiter, waiters_.insert(waiters_.end(), &waiter)};
  co_await waiter.timer.WaitUntil(deadline.at());
  if (!waiter.granted) co_return Fail(Code::kDeadline, "every connection was busy until the deadline passed");
  listed.taken = true;
  co_return Slot(release);
}

void HttpClient::Pool::ReleaseRequest() {
  if (waiters_.empty()) {
    --requests_;
    return;
  }
  // Handed over, so that who came first is served first.
  Waiter* const next = waiters_.front();
  waiters_.pop_front();
  next->granted = true;
  next->timer.Cancel();
}

Result<Slot> HttpClient::Pool::AcquireStream() {
  if (streams_ >= options_.max_streams) {
    return Fail(Code::kUnavailable,
                "already " + std::to_string(streams_) + " streams are open to " + options_.server.ToString());
  }
  ++streams_;
  return Slot([self = shared_from_this()] { --self->streams_; });
}

// --- One exchange ---------------------------------------------------------------------------------------

async::Task<Result<HttpClient::Pool::Exchange>> HttpClient::Pool::Perform(Request request, size_t body_limit,
                                                                          async::Deadline deadline) {
  request.target = options_.server.base_path + request.target;
  std::ranges::move(options_.credentials->Impersonation(), std::back_inserter(request.headers));
  for (bool again = false;; again = true) {
    const Result<Secret> token = co_await options_.credentials->BearerToken(loop_, deadline);
    if (!token) co_return Fail(token.error());
    CAPSTAN_CO_CHECK_OK(RefreshTls());
    const std::shared_ptr<const TlsMaterial> material = tls_.material;
    Result<Exchange> exchange = co_await PerformOnce(request, *token, body_limit, deadline);
    // A refused request had no effect, so that it may be sent again whatever it asks for.
    const bool refused =
        exchange ? exchange->parser->status() == 401 : exchange.error().code() == Code::kUnauthenticated;
    if (!refused || again || !options_.credentials->Rejected(*token, material.get())) co_return exchange;
  }
}

async::Task<Result<HttpClient::Pool::Exchange>> HttpClient::Pool::PerformOnce(const Request& request,
                                                                              const Secret& token, size_t body_limit,
                                                                              async::Deadline deadline) {
  Result<std::string> serialized = Serialized(request, host_header_, options_.user_agent, token);
  if (!serialized) co_return Fail(std::move(serialized).error());
  const Wiped bytes{*std::move(serialized)};

  const auto kind = request.method == "HEAD" ? MessageParser::Kind::kResponseToHead : MessageParser::Kind::kResponse;
  const HttpLimits limits{options_.max_header_bytes, body_limit};
  while (true) {
    Exchange exchange{TakeIdle(), std::make_unique<MessageParser>(kind, limits), kind, limits};
    const bool reused = exchange.connection != nullptr;
    if (!reused) {
      CAPSTAN_CO_TRY(exchange.connection, co_await Dial(deadline));
    }
    // Dialling, or being frozen in the midst of it, may have taken all the time there was.
    if (deadline.Passed(loop_.Now()))
      co_return Fail(Code::kDeadline, "the deadline passed before the request was sent");
    Progress progress;
    const Result<void> done = co_await Transact(exchange, bytes.bytes, progress, deadline);
    if (done) co_return exchange;
    const bool stale = reused && !progress.answered && done.error().code() == Code::kUnavailable;
    if (stale) CloseIdle();  // whatever ended this one may have ended all of them
    if (stale && (!progress.sent || request.repeatable)) continue;
    co_return Fail(Meaning(done.error(), progress));
  }
}

async::Task<Result<void>> HttpClient::Pool::Transact(Exchange& exchange, std::string_view bytes, Progress& progress,
                                                     async::Deadline deadline) {
  const Result<bool> written = co_await Push(exchange, bytes, progress, deadline);
  if (written) {
    progress.sent = true;
    exchange.reusable = *written;
    co_return co_await ReadHeader(exchange, progress, deadline);
  }
  if (written.error().code() != Code::kUnavailable) co_return Fail(written.error());
  // A server may answer and close before it has read a body that it does not want.
  const Result<void> read = co_await ReadHeader(exchange, progress, deadline);
  if (!read) co_return Fail(read.error().code() == Code::kUnauthenticated ? read.error() : written.error());
  if (exchange.parser->status() >= kFirstRefusal) co_return Result<void>();
  co_return Fail(Code::kUnknownOutcome, "the server answered " + std::to_string(exchange.parser->status()) +
                                            " and ended before it had the whole request");
}

async::Task<Result<bool>> HttpClient::Pool::Push(Exchange& exchange, std::string_view bytes, Progress& progress,
                                                 async::Deadline deadline) {
  Connection& connection = *exchange.connection;
  while (true) {
    const size_t before = connection.received.size();
    CAPSTAN_CO_TRY(const Socket::Heard heard,
                   co_await connection.socket->WriteUntilHeard(bytes, connection.received, deadline));
    bytes.remove_prefix(heard.written);
    if (connection.received.size() > before) {
      progress.sent = progress.answered = true;  // who answers may have acted upon what it has
      CAPSTAN_CO_TRY(const bool refused, Refused(exchange));
      if (refused) co_return false;
      if (deadline.Passed(loop_.Now())) co_return Fail(Code::kDeadline, "the deadline passed");
    } else if (heard.ended) {
      co_return Fail(Code::kUnavailable, "the server ended before it had the whole request");
    } else {
      co_return true;
    }
  }
}

// Looks at what was received while the request is still being sent.
Result<bool> HttpClient::Pool::Refused(Exchange& exchange) {
  CAPSTAN_CHECK_OK(Feed(exchange));
  CAPSTAN_TRY(const bool there, HasHeader(exchange));
  if (!there) return false;
  if (exchange.parser->status() >= kFirstRefusal) return true;
  // Nobody reads it before the request has been sent, so that it has to end somewhere.
  const size_t limit = std::min(options_.max_body_bytes, exchange.limits.body_bytes);
  if (exchange.parser->body().size() > limit)
    return Fail(Code::kInvalid, "the answer to what was sent so far is larger than is allowed here: " +
                                    std::to_string(limit) + " bytes at most");
  if (exchange.parser->done() && !exchange.connection->received.empty())
    return Fail(Code::kInvalid, "the server sent more than its answer");
  return false;
}

async::Task<Result<void>> HttpClient::Pool::ReadHeader(Exchange& exchange, Progress& progress,
                                                       async::Deadline deadline) {
  while (true) {
    CAPSTAN_CO_TRY(const bool there, HasHeader(exchange));
    if (there) co_return Result<void>();
    CAPSTAN_CO_CHECK_OK(co_await ReadMore(exchange, deadline));
    progress.answered = true;
  }
}

Result<bool> HttpClient::Pool::HasHeader(Exchange& exchange) {
  while (exchange.parser->header_done()) {
    const int status = exchange.parser->status();
    if (status >= 200) return true;
    if (status == 101) return Fail(Code::kInvalid, "the server switched to another protocol unasked");
    // An interim answer, such as 103: the real one follows.
    exchange.parser = std::make_unique<MessageParser>(exchange.kind, exchange.limits);
    CAPSTAN_CHECK_OK(exchange.parser->Feed(exchange.connection->received));
  }
  return false;
}

async::Task<Result<void>> HttpClient::Pool::ReadMore(Exchange& exchange, async::Deadline deadline) {
  Connection& connection = *exchange.connection;
  const Result<size_t> got = co_await connection.socket->Read(connection.received, deadline);
  if (!got) co_return Fail(got.error());
  if (*got == 0) {
    CAPSTAN_CO_CHECK_OK(exchange.parser->End());
    co_return Result<void>();
  }
  co_return Feed(exchange);
}

Result<void> HttpClient::Pool::Feed(Exchange& exchange) {
  std::string& received = exchange.connection->received;
  CAPSTAN_CHECK_OK(exchange.parser->Feed(received));
  if (received.empty()) std::string().swap(received);  // idle connections hold no buffers
  return {};
}

void HttpClient::Pool::Finish(Exchange exchange) {
  if (!exchange.reusable || !exchange.parser->done() || !exchange.parser->keep_alive()) return;
  // Bytes behind the answer mean that we and the server do not agree where it ended.
  if (!exchange.connection->received.empty()) return;
  if (exchange.connection->material != tls_.material || idle_.size() >= options_.max_idle) return;
  if (loop_.Now() - exchange.connection->dialled_at >= options_.age_limit) return;
  exchange.connection->idle_since = loop_.Now();
  idle_.push_front(std::move(exchange.connection));
  ArmSweep();
}

// --- Connections ----------------------------------------------------------------------------------------

Result<void> HttpClient::Pool::RefreshTls() {
  if (options_.server.scheme != Endpoint::Scheme::kHttps) return {};
  CAPSTAN_TRY(std::shared_ptr<const TlsMaterial> material, options_.credentials->Tls());
  if (tls_.context && (material == tls_.material || material == unusable_)) return {};
  Result<Tls> tls = MakeTls(material);
  if (!tls && tls_.context) {
    // Files seen in the middle of their replacement, such as a new certificate beside the old key: what
    // worked so far serves until they fit again.
    log::Warn("new TLS files cannot be used", {{"server", options_.server.ToString()}, {"why", tls.error().message()}});
    unusable_ = std::move(material);
    return {};
  }
  if (!tls) return Fail(std::move(tls).error());
  tls_ = *std::move(tls);
  CloseIdle();
  return {};
}

Result<HttpClient::Pool::Tls> HttpClient::Pool::MakeTls(std::shared_ptr<const TlsMaterial> material) const {
  Tls tls;
  CAPSTAN_TRY(tls.context, TlsContext::ForClient(*material));
  if (options_.server.proxy) {
    CAPSTAN_TRY(tls.proxy_context, TlsContext::ForClient({.ca_pem = material->ca_pem}));
  }
  tls.material = std::move(material);
  return tls;
}

std::unique_ptr<Connection> HttpClient::Pool::TakeIdle() {
  while (!idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(idle_.front());
    idle_.pop_front();
    if (connection->socket->Quiet()) return connection;
  }
  return nullptr;
}

async::Task<Result<std::unique_ptr<Connection>>> HttpClient::Pool::Dial(async::Deadline deadline) {
  const async::Deadline dial_deadline = deadline.Earlier(loop_.After(options_.dial_limit));
  const Proxy* const proxy = options_.server.proxy.get();
  const std::string where =
      "connecting to " + options_.server.ToString() + (proxy ? " through " + proxy->ToString() : "");
  const Tls tls = tls_;  // may be replaced while we dial
  Result<std::vector<Address>> addresses = co_await Addresses(dial_deadline);
  Error error(Code::kUnavailable, "no address");
  if (!addresses) error = addresses.error();
  for (size_t i = 0; addresses && i < addresses->size(); ++i) {
    // What is left is shared among the addresses, so that one that swallows packets does not use up all of
    // it.
    const Duration left = dial_deadline.Left(loop_.Now());
    const async::Deadline share = loop_.After(left / int64_t(addresses->size() - i));
    Result<std::unique_ptr<Socket>> socket = co_await Connect((*addresses)[i], tls, share);
    if (socket) {
      ++dialled_;
      co_return std::make_unique<Connection>(*std::move(socket), std::string(), tls.material, loop_.Now(), loop_.Now());
    }
    error = std::move(socket).error().WithContext((*addresses)[i].ToString());
  }
  // Our limit was shorter than the caller's deadline: that is the server's fault, not the caller's
  // impatience.
  const bool own_limit = error.code() == Code::kDeadline && !deadline.Passed(loop_.Now());
  if (own_limit) error = Error(Code::kUnavailable, error.message());
  co_return Fail(std::move(error).WithContext(where));
}

async::Task<Result<std::vector<Address>>> HttpClient::Pool::Addresses(async::Deadline deadline) {
  if (options_.server.scheme == Endpoint::Scheme::kUnix) {
    co_return std::vector<Address>{Address::Unix(options_.server.host)};
  }
  const Endpoint& next = options_.server.proxy ? options_.server.proxy->at : options_.server;
  co_return co_await resolver_.Resolve(next.host, next.port, deadline);
}

async::Task<Result<std::unique_ptr<Socket>>> HttpClient::Pool::Connect(Address address, const Tls& tls,
                                                                       async::Deadline deadline) {
  Result<std::unique_ptr<Socket>> socket = co_await Socket::Connect(loop_, address, deadline);
  if (!socket || options_.server.scheme != Endpoint::Scheme::kHttps) co_return socket;
  if (options_.server.proxy) {
    CAPSTAN_CO_CHECK_OK(co_await PassProxy(**socket, tls, deadline));
  }
  const std::string& given = tls.material->server_name;
  const std::string name(given.empty() ? options_.server.name() : std::string_view(given));
  CAPSTAN_CO_CHECK_OK(co_await (*socket)->StartTls(tls.context, name, deadline));
  co_return socket;
}

async::Task<Result<void>> HttpClient::Pool::PassProxy(Socket& socket, const Tls& tls, async::Deadline deadline) {
  const Proxy& proxy = *options_.server.proxy;
  if (proxy.at.scheme == Endpoint::Scheme::kHttps) {
    CAPSTAN_CO_CHECK_OK(co_await socket.StartTls(tls.proxy_context, proxy.at.host, deadline), "TLS with the proxy");
  }
  co_return co_await OpenTunnel(socket, proxy, options_.server, deadline);
}

void HttpClient::Pool::CloseIdle() { idle_.clear(); }

void HttpClient::Pool::ArmSweep() {
  if (sweep_ || idle_.empty()) return;
  sweep_ = loop_.Schedule(idle_.back()->idle_since + options_.idle_limit, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Sweep();
  });
}

void HttpClient::Pool::Sweep() {
  sweep_.reset();
  const Tick oldest = loop_.Now() - options_.idle_limit;
  std::erase_if(idle_, [&](const auto& connection) { return connection->idle_since <= oldest; });
  ArmSweep();
}

}  // namespace capstan::net
