#include "net/testing/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "net/testing/server_end.h"

namespace capstan::net::testing {
namespace {

// The tests' own machinery failed; there is nothing to test then.
[[noreturn]] void Die(std::string_view what) {
  log::Error("scripted server", {{"failed", what}, {"error", std::strerror(errno)}});
  std::abort();
}

std::string StatusLine(int status) { return "HTTP/1.1 " + std::to_string(status) + " Scripted\r\n"; }

Answer Whole(std::string_view body, int status, const Headers& headers, std::string_view type) {
  std::string bytes = StatusLine(status);
  bytes += "Content-Type: " + std::string(type) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  for (const auto& [name, value] : headers) bytes += name + ": " + value + "\r\n";
  return Answer(bytes + "\r\n" + std::string(body));
}

bool Matches(std::string_view pattern, const Seen& seen) {
  if (pattern == "*") return true;
  const std::string line = seen.Line();
  if (pattern == line) return true;
  return pattern.find('?') == pattern.npos && line.starts_with(pattern) && line[pattern.size()] == '?';
}

// The request at the front of `bytes`, taken out of it; nullopt while it is not complete. One that is answered `early`
// is complete after its header.
std::optional<Seen> TakeRequest(std::string& bytes, const std::function<bool(const Seen&)>& early) {
  const size_t header_end = bytes.find("\r\n\r\n");
  if (header_end == bytes.npos) return std::nullopt;
  Seen seen;
  size_t length = 0;
  bool first = true;
  for (std::string_view line : Split(std::string_view(bytes).substr(0, header_end), '\n')) {
    line = Trim(line);
    if (std::exchange(first, false)) {
      const auto words = Words(line);
      if (words.size() >= 2) seen.method = words[0], seen.target = words[1];
      continue;
    }
    const size_t colon = line.find(':');
    seen.headers.emplace_back(Trim(line.substr(0, colon)), Trim(line.substr(colon + 1)));
    if (EqualsIgnoreCase(seen.headers.back().first, "Content-Length")) {
      length = size_t(ParseInt(seen.headers.back().second).value_or(0));
    }
  }
  if (bytes.size() < header_end + 4 + length && !early(seen)) return std::nullopt;
  seen.body = bytes.substr(header_end + 4, length);
  bytes.erase(0, std::min(bytes.size(), header_end + 4 + length));
  return seen;
}

int Listen(const ScriptedServer::Options& options) {
  const int fd = socket(options.unix_path.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int bound;
  if (options.unix_path.empty()) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options.unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
    bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  if (bound != 0 || listen(fd, 64) != 0) Die("listening on loopback");
  return fd;
}

uint16_t PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

void Wake(int event) { eventfd_write(event, 1); }

}  // namespace

Answer Text(std::string_view body, int status, const Headers& headers) {
  return Whole(body, status, headers, "text/plain");
}
Answer Json(std::string_view body, int status, const Headers& headers) {
  return Whole(body, status, headers, "application/json");
}

std::string Chunk(std::string_view bytes) {
  char size[24];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + std::string(bytes) + "\r\n";
}

Answer Chunked(const std::vector<std::string>& pieces, bool complete, int status) {
  Answer answer(StatusLine(status) + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (const std::string& piece : pieces) answer.Then(Chunk(piece));
  if (complete) answer.Then(std::string(kLastChunk));
  return answer;
}

Answer Nothing() { return Answer(); }

// --------------------------------------------------------------------------------------------------------

namespace {

struct Rule {
  std::string pattern;
  Answer answer;
};

// What the test's thread tells a connection's thread; guarded by State::mutex.
struct Orders {
  bool cut = false;
  bool reset = false;
  std::string push;
};

class Connection {
 public:
  Connection(int fd, SSL_CTX* context) : end_(fd, context), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Connection() {
    if (reset_) {
      const linger hard{1, 0};
      setsockopt(end_.fd(), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    close(event_);
  }

  void SetReset() { reset_ = true; }

  // Closing with something unread would reset the connection, and the peer would lose what we said last.
  void CloseGently() {
    shutdown(end_.fd(), SHUT_WR);
    char buffer[4096];
    while (WaitReadable(1000) && read(end_.fd(), buffer, sizeof buffer) > 0) {
    }
  }

  ServerEnd& end() { return end_; }
  int event() const { return event_; }

  // Waits until the peer sent something, an order came, or `timeout` passed. True when there is something to
  // read.
  bool WaitReadable(int timeout_ms) {
    if (end_.HasMore()) return true;
    pollfd fds[] = {{end_.fd(), POLLIN, 0}, {event_, POLLIN, 0}};
    if (poll(fds, 2, timeout_ms) <= 0) return false;
    eventfd_t ignored;
    if (fds[1].revents) eventfd_read(event_, &ignored);
    return fds[0].revents != 0;
  }
  void WaitForOrder() {
    pollfd fds[] = {{event_, POLLIN, 0}};
    poll(fds, 1, -1);
    eventfd_t ignored;
    eventfd_read(event_, &ignored);
  }
  // Waits that long; shorter when an order comes.
  void Pause(Duration wait) {
    pollfd fds[] = {{event_, POLLIN, 0}};
    poll(fds, 1, int(wait / 1ms));
  }

 private:
  ServerEnd end_;
  const int event_;
  bool reset_ = false;
};

}  // namespace

struct ScriptedServer::State {
  Options options;
  int listener = -1;
  int event = -1;  // wakes the accepting thread
  Owned<SSL_CTX> context;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  std::list<Rule> expected;
  std::vector<Rule> always;
  std::vector<Seen> seen;
  std::map<size_t, std::pair<Connection*, Orders>> live;
  size_t accepted = 0;
  bool frozen = false;
  bool ending = false;
  std::thread acceptor;
  std::vector<std::thread> workers;

  void Accept();
  void Serve(size_t number, int fd);
  void ServeRequests(size_t number, Connection& connection);
  Answer Choose(Seen seen);
  bool Play(size_t number, Connection& connection, const Answer& answer);
  void HoldOpen(size_t number, Connection& connection, bool reads);
  bool AnswersEarly(const Seen& request) const;
  bool Cut(size_t number, Connection& connection);
};

// True once the test wants this connection gone.
bool ScriptedServer::State::Cut(size_t number, Connection& connection) {
  const std::lock_guard lock(mutex);
  const Orders& orders = live.at(number).second;
  if (orders.reset) connection.SetReset();
  return orders.cut || ending;
}

Answer ScriptedServer::State::Choose(Seen request) {
  const std::lock_guard lock(mutex);
  seen.push_back(std::move(request));
  changed.notify_all();
  const auto matches = [&](const Rule& rule) { return Matches(rule.pattern, seen.back()); };
  if (const auto rule = std::ranges::find_if(expected, matches); rule != expected.end()) {
    Answer answer = std::move(rule->answer);
    expected.erase(rule);
    return answer;
  }
  if (const auto rule = std::ranges::find_if(always, matches); rule != always.end()) return rule->answer;
  const std::string message = "no script for " + seen.back().Line();
  return Json(R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":)" +
                  JsonQuoted(message) + "}",
              404);
}

bool ScriptedServer::State::AnswersEarly(const Seen& request) const {
  const std::lock_guard lock(mutex);
  const auto matches = [&](const Rule& rule) { return Matches(rule.pattern, request); };
  if (const auto rule = std::ranges::find_if(expected, matches); rule != expected.end()) return rule->answer.early();
  const auto rule = std::ranges::find_if(always, matches);
  return rule != always.end() && rule->answer.early();
}

bool ScriptedServer::State::Play(size_t number, Connection& connection, const Answer& answer) {
  for (const Answer::Piece& piece : answer.pieces()) {
    if (piece.wait > Duration(0)) connection.Pause(piece.wait);
    const size_t step = answer.piece_size() ? answer.piece_size() : std::max<size_t>(piece.bytes.size(), 1);
    for (size_t at = 0; at < piece.bytes.size(); at += step) {
      if (Cut(number, connection) || !connection.end().Write(std::string_view(piece.bytes).substr(at, step)))
        return false;
      if (answer.piece_size()) std::this_thread::yield();
    }
  }
  if (answer.end() == Answer::End::kReset) connection.SetReset();
  if (answer.end() == Answer::End::kCloseHalf) shutdown(connection.end().fd(), SHUT_WR);
  if (answer.end() == Answer::End::kHold || answer.end() == Answer::End::kCloseHalf) HoldOpen(number, connection, true);
  if (answer.end() == Answer::End::kStall) HoldOpen(number, connection, false);
  return answer.end() == Answer::End::kKeepAlive;
}

void ScriptedServer::State::HoldOpen(size_t number, Connection& connection, bool reads) {
  while (!Cut(number, connection)) {
    std::string push;
    {
      const std::lock_guard lock(mutex);
      push.swap(live.at(number).second.push);
    }
    if (!push.empty() && !connection.end().Write(push)) return;
    std::string ignored;
    if (!reads)
      connection.WaitForOrder();
    else if (connection.WaitReadable(-1) && !connection.end().Read(ignored))
      return;
  }
}

void ScriptedServer::State::ServeRequests(size_t number, Connection& connection) {
  std::string bytes;
  while (!Cut(number, connection)) {
    const auto early = [this](const Seen& seen_header) { return AnswersEarly(seen_header); };
    if (std::optional<Seen> request = TakeRequest(bytes, early)) {
      request->connection = number;
      if (!Play(number, connection, Choose(*std::move(request)))) return;
      continue;
    }
    if (connection.WaitReadable(-1) && !connection.end().Read(bytes)) return;
  }
}

void ScriptedServer::State::Serve(size_t number, int fd) {
  ServerEnd::BlockBrokenPipes();
  {
    Connection connection(fd, context.get());
    {
      const std::lock_guard lock(mutex);
      live[number].first = &connection;
    }
    if (connection.end().Handshake()) {
      ServeRequests(number, connection);
    } else {
      connection.CloseGently();
    }
    const std::lock_guard lock(mutex);
    live.at(number).first = nullptr;
  }
  const std::lock_guard lock(mutex);
  live.erase(number);
  changed.notify_all();
}

void ScriptedServer::State::Accept() {
  while (true) {
    bool take;
    {
      const std::lock_guard lock(mutex);
      if (ending) return;
      take = !frozen;
    }
    pollfd fds[] = {{event, POLLIN, 0}, {listener, POLLIN, 0}};
    poll(fds, take ? 2 : 1, -1);
    eventfd_t ignored;
    if (fds[0].revents) eventfd_read(event, &ignored);
    if (!take || !fds[1].revents) continue;
    const std::lock_guard lock(mutex);
    if (frozen) continue;  // since the poll began
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const size_t number = accepted++;
    workers.emplace_back([this, number, fd] { Serve(number, fd); });
  }
}

ScriptedServer::ScriptedServer(Options options) : state_(std::make_shared<State>()) {
  state_->context = ServerContext(options.certificate_pem, options.key_pem, options.client_ca_pem);
  state_->listener = Listen(options);
  state_->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  state_->options = std::move(options);
  state_->acceptor = std::thread([state = state_.get()] { state->Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    Wake(state_->event);
  }
  state_->acceptor.join();
  CutAll();
  for (std::thread& worker : state_->workers) worker.join();
  close(state_->listener);
  close(state_->event);
  if (!state_->options.unix_path.empty()) unlink(state_->options.unix_path.c_str());
}

void ScriptedServer::Expect(std::string pattern, Answer answer) {
  const std::lock_guard lock(state_->mutex);
  state_->expected.push_back({std::move(pattern), std::move(answer)});
}

void ScriptedServer::Always(std::string pattern, Answer answer) {
  const std::lock_guard lock(state_->mutex);
  state_->always.push_back({std::move(pattern), std::move(answer)});
}

void ScriptedServer::Push(const std::string& bytes) {
  const std::lock_guard lock(state_->mutex);
  for (auto& [number, connection] : state_->live) {
    connection.second.push += bytes;
    if (connection.first) Wake(connection.first->event());
  }
}

void ScriptedServer::CutAll(bool reset) {
  const std::lock_guard lock(state_->mutex);
  for (auto& [number, connection] : state_->live) {
    connection.second.cut = true;
    connection.second.reset = reset;
    if (connection.first) Wake(connection.first->event());
  }
}

void ScriptedServer::Freeze(bool frozen) {
  const std::lock_guard lock(state_->mutex);
  state_->frozen = frozen;
  Wake(state_->event);
}

uint16_t ScriptedServer::port() const { return PortOf(state_->listener); }

Endpoint ScriptedServer::endpoint() const {
  if (!state_->options.unix_path.empty()) return {Endpoint::Scheme::kUnix, state_->options.unix_path, 0, ""};
  return {state_->context ? Endpoint::Scheme::kHttps : Endpoint::Scheme::kHttp, "127.0.0.1", port(), ""};
}

std::vector<Seen> ScriptedServer::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->seen;
}

std::vector<std::string> ScriptedServer::lines() const {
  std::vector<std::string> lines;
  for (const Seen& seen : requests()) lines.push_back(seen.Line());
  return lines;
}

size_t ScriptedServer::connections() const {
  const std::lock_guard lock(state_->mutex);
  return state_->accepted;
}

size_t ScriptedServer::open() const {
  const std::lock_guard lock(state_->mutex);
  return state_->live.size();
}

bool ScriptedServer::WaitForRequests(size_t count, Duration limit) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, limit, [&] { return state_->seen.size() >= count; });
}

bool ScriptedServer::WaitForOpen(size_t count, Duration limit) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, limit, [&] { return state_->live.size() <= count; });
}

}  // namespace capstan::net::testing
