#include "net/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "async/event.h"
#include "async/task_group.h"
#include "base/log.h"
#include "net/http1.h"
#include "net/socket.h"

namespace asio = boost::asio;

namespace capstan::net {
namespace {

constexpr Duration kStopLimit = 2s;
constexpr Duration kDiscardLimit = 1s;
constexpr Duration kBetweenWarnings = 1min;
constexpr std::string_view kOtherPath = "other";
constexpr size_t kWithHead = 16 << 10;  // of a body, that leaves in one piece with its head

Result<int> Listen(const HttpServer::Options& options) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_in);
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
  if (inet_pton(AF_INET, options.address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(options.port);
  } else if (inet_pton(AF_INET6, options.address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(options.port);
    size = sizeof v6;
  } else {
    return Fail(Code::kInvalid, "\"" + options.address + "\" is not an address to listen on");
  }
  const int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1, off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (storage.ss_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (bind(fd, reinterpret_cast<sockaddr*>(&storage), size) == 0 && listen(fd, 128) == 0) return fd;
  const std::string why = std::strerror(errno);
  if (fd >= 0) close(fd);
  return Fail(Code::kUnavailable,
              "listening on " + options.address + " port " + std::to_string(options.port) + ": " + why);
}

uint16_t PortOf(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(storage).sin_port
                                            : reinterpret_cast<sockaddr_in6&>(storage).sin6_port);
}

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

}  // namespace

Response TextResponse(std::string body, std::string_view content_type) {
  return {200, {{"Content-Type", std::string(content_type)}, {"X-Content-Type-Options", "nosniff"}}, std::move(body)};
}

Response Refusal(int status, std::string sentence) {
  Response response = TextResponse(std::move(sentence) + "\n");
  response.status = status;
  return response;
}

struct HttpServer::Service {
  Service(Options o, std::map<std::string, Handler, std::less<>> h, int fd)
      : options(std::move(o)),
        handlers(std::move(h)),
        port(PortOf(fd)),
        listener(loop.context(), fd),
        group(loop),
        changed(loop) {
    if (!options.metrics) return;
    connections = &options.metrics->AddGauge("capstan_http_connections", "Open connections to our own servers.");
    failed_handshakes = &options.metrics->AddCounter("capstan_http_failed_handshakes_total",
                                                     "TLS handshakes with our own servers that failed.");
  }

  void Stop();
  async::Task<void> Accept();
  async::Task<void> Serve(std::unique_ptr<Socket> socket);
  async::Task<bool> Handshake(Socket& socket);
  struct Live;
  using Place = std::list<Live>::iterator;
  async::Task<void> MakeRoom();
  async::Task<void> ServeRequests(Socket& socket, Place place);
  async::Task<void> Refuse(Socket& socket, Response refusal);
  struct Share;
  async::Task<Result<void>> ReadRequest(Socket& socket, MessageParser& parser, std::string& received, Place place,
                                        Share& share);
  async::Task<bool> Answer(Socket& socket, MessageParser& parser, async::Deadline deadline);
  async::Task<void> Drain();
  async::Task<Response> Handle(MessageParser& parser, const std::string& path);
  async::Task<std::optional<Response>> Refused(const Request& request);
  void NoteHandshake(const Error& error);
  void Note(std::string_view path, int status, Duration took) const;

  // A connection. Whoever is not busy may have to make room for others, idle ones first.
  enum class Phase : uint8_t {
    kIdle,       // shakes hands, or waits for a request
    kReceiving,  // a part of a request is here
    kBusy,       // the request is complete, its answer is not
  };
  struct Live {
    Socket* socket;
    Phase phase = Phase::kIdle;
  };
  void Enter(Place place, Phase phase);

  const Options options;
  const std::map<std::string, Handler, std::less<>> handlers;
  const uint16_t port;
  async::RealLoop loop;  // everything below belongs to its thread
  asio::posix::stream_descriptor listener;
  async::TaskGroup group;
  async::Event changed;       // a connection ended, or the server is to stop
  std::list<Live> live;       // in the order in which they entered their phase
  size_t received_bytes = 0;  // of all requests that are being received
  bool stopping = false;
  Tick warned{};
  Gauge* connections = nullptr;  // these two: null without metrics
  Counter* failed_handshakes = nullptr;
  std::atomic<bool> retiring{false};  // this one is any thread's
  std::thread thread;
};

// What one request has of `received_bytes`.
struct HttpServer::Service::Share {
  explicit Share(Service& of) : service(of) {}
  ~Share() { Set(0); }
  void Set(size_t now) {
    service.received_bytes += now - bytes;
    bytes = now;
  }
  bool TooMuch() const {
    return service.received_bytes > service.options.max_received_bytes && service.received_bytes > bytes;
  }
  Service& service;
  size_t bytes = 0;
};

void HttpServer::Service::Stop() {
  loop.Post([this] {
    stopping = true;
    listener.close();
    changed.Set();
    for (Live& connection : live) {
      if (connection.phase == Phase::kIdle) connection.socket->Shut();
    }
    asio::co_spawn(loop.executor(), Drain(), [this](const std::exception_ptr&) { loop.Stop(); });
  });
}

async::Task<void> HttpServer::Service::Drain() {
  const async::Deadline deadline = loop.After(kStopLimit);
  while (!live.empty()) {
    changed.Reset();
    if (!co_await changed.Wait(deadline)) break;
  }
  group.Cancel();
  co_await group.Join();
}

async::Task<void> HttpServer::Service::Accept() {
  while (!stopping) {
    auto [error] =
        co_await listener.async_wait(asio::posix::descriptor_base::wait_read, asio::as_tuple(asio::use_awaitable));
    if (error) co_return;  // closed, or cancelled
    if (live.size() >= options.max_connections) {
      co_await MakeRoom();
      continue;
    }
    const int fd = accept4(listener.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      // Owned from here on: one that is cancelled before its first step closes it, too.
      group.Spawn("connection", Serve(std::make_unique<Socket>(loop, fd)));
      continue;
    }
    // Out of descriptors: the connection stays in the queue and would wake us again at once.
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) co_await async::Sleep(loop, 100ms);
  }
}

void HttpServer::Service::Enter(Place place, Phase phase) {
  if (place->phase == phase) return;
  place->phase = phase;
  live.splice(live.end(), live, place);
}

// Somebody waits to be let in, and every place is taken: the one goes that has been idle longest, or else the one whose
// request has been on its way longest. (Whoever opens connections and says nothing, or a byte now and then, would keep a
// kubelet's probe out, and have us killed.)
async::Task<void> HttpServer::Service::MakeRoom() {
  changed.Reset();
  auto leaving = std::ranges::find(live, Phase::kIdle, &Live::phase);
  if (leaving == live.end()) leaving = std::ranges::find(live, Phase::kReceiving, &Live::phase);
  if (leaving != live.end()) leaving->socket->Shut();
  co_await changed.Wait(async::Deadline::Never());
}

async::Task<void> HttpServer::Service::Serve(std::unique_ptr<Socket> socket) {
  const Place place = live.insert(live.end(), Live{socket.get()});
  struct Listed {
    Service& service;
    Place place;
    ~Listed() {
      service.live.erase(place);
      if (service.connections) service.connections->Add(-1);
      service.changed.Set();
    }
  } listed{*this, place};
  if (connections) connections->Add(1);
  if (options.identity && !co_await Handshake(*socket)) co_return;
  co_await ServeRequests(*socket, place);
}

async::Task<bool> HttpServer::Service::Handshake(Socket& socket) {
  const std::shared_ptr<const TlsContext> context = options.identity->context();
  if (!context) co_return false;
  const Result<void> done = co_await socket.AcceptTls(context, loop.After(options.request_limit));
  if (!done) NoteHandshake(done.error());
  co_return bool(done);
}

// Whoever only tries the port fails here too; a refused certificate is a site that does not work.
void HttpServer::Service::NoteHandshake(const Error& error) {
  if (failed_handshakes) failed_handshakes->Add();
  if (error.code() != Code::kUnauthenticated) return log::Debug("TLS handshake", {{"error", error.message()}});
  if (warned != Tick() && loop.Now() - warned < kBetweenWarnings) return;
  warned = loop.Now();
  log::Warn("a client does not accept our certificate; has its CA bundle our CA?",
            {{"port", port}, {"error", error.message()}});
}

async::Task<void> HttpServer::Service::ServeRequests(Socket& socket, Place place) {
  std::string received;
  while (!stopping) {
    MessageParser parser(MessageParser::Kind::kRequest, {options.max_header_bytes, options.max_body_bytes});
    Share share(*this);
    const Result<void> read = co_await ReadRequest(socket, parser, received, place, share);
    const async::Deadline deadline = loop.After(options.request_limit);
    if (!read) {
      const Code code = read.error().code();
      share.Set(0);
      if (code == Code::kInvalid || code == Code::kThrottled)
        co_await Refuse(socket, Refusal(code == Code::kInvalid ? parser.refusal() : 503, read.error().message()));
      co_return;
    }
    const bool keep = co_await Answer(socket, parser, deadline);
    Enter(place, Phase::kIdle);
    changed.Set();
    if (!keep) co_return;
  }
}

// Reads on for a moment: a client that is still sending when we close would not see the answer.
async::Task<void> HttpServer::Service::Refuse(Socket& socket, Response refusal) {
  Note(kOtherPath, refusal.status, Duration(0));
  const std::string bytes = Head(refusal, false) + refusal.body;
  const async::Deadline deadline = loop.After(kDiscardLimit);
  if (!co_await socket.Write(bytes, deadline)) co_return;
  socket.EndWriting();
  std::string discarded;
  while (true) {
    discarded.clear();
    const Result<size_t> got = co_await socket.Read(discarded, deadline);
    if (!got || *got == 0) co_return;
  }
}

// Waits for a request as long as a connection may idle, and for the rest of it as long as a request may take.
async::Task<Result<void>> HttpServer::Service::ReadRequest(Socket& socket, MessageParser& parser, std::string& received,
                                                           Place place, Share& share) {
  async::Deadline deadline = loop.After(options.idle_limit);
  while (true) {
    if (!received.empty()) {
      if (place->phase == Phase::kIdle) deadline = loop.After(options.request_limit);
      Enter(place, Phase::kReceiving);
      CAPSTAN_CO_CHECK_OK(parser.Feed(received));
      share.Set(received.size() + parser.body().size());
      if (share.TooMuch()) co_return Fail(Code::kThrottled, "too many requests are being received already");
    }
    if (parser.done()) {
      Enter(place, Phase::kBusy);
      co_return Result<void>();
    }
    const Result<size_t> got = co_await socket.Read(received, deadline);
    if (!got) co_return Fail(got.error());
    if (*got == 0) co_return Fail(Code::kUnavailable, "the client closed the connection");
  }
}

async::Task<bool> HttpServer::Service::Answer(Socket& socket, MessageParser& parser, async::Deadline deadline) {
  const bool keep = parser.keep_alive() && !stopping && !retiring;
  const Tick begun = loop.Now();
  const std::string path(PathOf(parser.target()));
  const Response response = co_await Handle(parser, path);
  std::string bytes = Head(response, keep);
  std::string_view body = parser.method() == "HEAD" ? std::string_view() : response.body;
  bytes += body.substr(0, kWithHead);
  body.remove_prefix(std::min(body.size(), kWithHead));
  Result<void> written = co_await socket.Write(bytes, deadline);
  if (written) written = co_await socket.Write(body, deadline);
  Note(handlers.contains(path) ? path : kOtherPath, response.status, loop.Now() - begun);
  co_return written&& keep;
}

void HttpServer::Service::Note(std::string_view path, int status, Duration took) const {
  if (!options.metrics) return;
  options.metrics
      ->AddCounter("capstan_http_requests_total", "Requests to our own servers.",
                   {{"path", std::string(path)}, {"code", std::to_string(status)}})
      .Add();
  options.metrics
      ->AddHistogram("capstan_http_request_duration_seconds", "From a whole request to the last byte of its answer.",
                     Metrics::LatencyBounds(), {{"path", std::string(path)}})
      .Observe(took);
}

async::Task<Response> HttpServer::Service::Handle(MessageParser& parser, const std::string& path) {
  const auto handler = handlers.find(path);
  if (handler == handlers.end()) co_return Refusal(404, "nothing is served at this path");
  if (parser.method() != "GET" && parser.method() != "HEAD" && parser.method() != "POST") {
    Response response = Refusal(405, "only GET, HEAD and POST are served");
    response.headers.emplace_back("Allow", "GET, HEAD, POST");
    co_return response;
  }
  const Request request{parser.method(), parser.target(), std::move(parser.headers()), std::move(parser.body()), false};
  if (options.admit) {
    if (std::optional<Response> refusal = co_await Refused(request)) co_return *std::move(refusal);
  }
  co_return handler->second(request);
}

// What `admit` says comes from any thread, and perhaps when nobody waits for it any more.
async::Task<std::optional<Response>> HttpServer::Service::Refused(const Request& request) {
  struct Box {
    explicit Box(async::Loop& of) : loop(&of), told(of) {}
    std::mutex mutex;
    async::Loop* loop;  // null: nobody waits. Under mutex
    async::Event told;  // these two belong to the loop's thread
    std::optional<Response> refusal;
  };
  const auto box = std::make_shared<Box>(loop);
  struct Closing {
    Box& box;
    ~Closing() {
      const std::lock_guard lock(box.mutex);
      box.loop = nullptr;
    }
  } closing{*box};
  options.admit(request, [box](std::optional<Response> refusal) {
    const std::lock_guard lock(box->mutex);
    if (box->loop == nullptr) return;
    box->loop->Post([box, refusal = std::move(refusal)]() mutable {
      box->refusal = std::move(refusal);
      box->told.Set();
    });
  });
  if (!co_await box->told.Wait(loop.After(options.request_limit / 2)))
    co_return Refusal(503, "who may read this could not be found out in time");
  co_return std::move(box->refusal);
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(Options options,
                                                      std::map<std::string, Handler, std::less<>> handlers) {
  CAPSTAN_TRY(const int fd, Listen(options));
  auto service = std::make_unique<Service>(std::move(options), std::move(handlers), fd);
  // From within the loop, and before Stop() can be: Asio ends the process when a coroutine is cancelled
  // before it began.
  service->loop.Post([raw = service.get()] { raw->group.Spawn("accept", raw->Accept()); });
  service->thread = std::thread([raw = service.get()] { raw->loop.Run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(service)));
}

HttpServer::HttpServer(std::unique_ptr<Service> service) : service_(std::move(service)) {}

void HttpServer::Retire() { service_->retiring = true; }

HttpServer::~HttpServer() {
  service_->Stop();
  service_->thread.join();
}

uint16_t HttpServer::port() const { return service_->port; }

}  // namespace capstan::net
