#include "net/testing/faulty_link.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace capstan::net::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kMostWaiting = 8 << 20;  // bytes on the way to a client; a server that sends more has to wait

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void CloseWithReset(int fd) {
  const linger none{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
  close(fd);
}

// Appends what there is to read. False: the peer has ended, or the connection is broken.
bool ReadSome(int fd, std::string& into) {
  char buffer[kPieceBytes];
  const ssize_t got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0) into.append(buffer, size_t(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// Sends from the front. False: broken.
bool WriteSome(int fd, std::string& from) {
  const ssize_t sent = send(fd, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) from.erase(0, size_t(sent));
  return sent >= 0 || errno == EAGAIN || errno == EINTR;
}

struct Piece {
  Clock::time_point due;
  std::string bytes;
};

struct Connection {
  int client, server;
  std::string to_server;
  std::deque<Piece> to_client;
  size_t waiting = 0;  // bytes in to_client
  bool held = false;
  bool server_ended = false;
  bool told_end = false;       // to the client
  std::optional<size_t> left;  // bytes that may still come from the server
};

}  // namespace

struct FaultyLink::State {
  uint16_t server_port;
  uint16_t port = 0;
  int listener = -1, wake = -1;
  std::atomic<size_t> accepted{0};
  std::mutex mutex;  // of all below
  bool stopping = false, refuse = false;
  Clock::duration delay{0};
  std::optional<size_t> cut_after;
  std::list<Connection> connections;
  std::thread thread;

  void Run();
  int PollTimeout(Clock::time_point now);
  std::vector<pollfd> Wanted();
  void Accept();
  bool Serve(Connection& connection, short client, short server);
  bool Deliver(Connection& connection, bool writable);
  void Drop(Connection& connection) {
    CloseWithReset(connection.client);
    CloseWithReset(connection.server);
  }
  template <class Change>
  void Do(Change change) {
    {
      const std::lock_guard lock(mutex);
      change();
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake, &one, sizeof one);
  }
};

FaultyLink::FaultyLink(uint16_t server_port) : state_(std::make_unique<State>()) {
  state_->server_port = server_port;
  state_->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  state_->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  bind(state_->listener, reinterpret_cast<sockaddr*>(&address), size);
  listen(state_->listener, 64);
  getsockname(state_->listener, reinterpret_cast<sockaddr*>(&address), &size);
  state_->port = ntohs(address.sin_port);
  state_->thread = std::thread([this] { state_->Run(); });
}

FaultyLink::~FaultyLink() {
  state_->Do([this] { state_->stopping = true; });
  state_->thread.join();
  for (Connection& connection : state_->connections) state_->Drop(connection);
  close(state_->listener);
  close(state_->wake);
}

uint16_t FaultyLink::port() const { return state_->port; }
size_t FaultyLink::accepted() const { return state_->accepted; }

void FaultyLink::Cut() {
  state_->Do([this] {
    for (Connection& connection : state_->connections) state_->Drop(connection);
    state_->connections.clear();
  });
}

void FaultyLink::Refuse(bool refuse) {
  state_->Do([&] { state_->refuse = refuse; });
}

void FaultyLink::Hold(bool hold) {
  state_->Do([&] {
    for (Connection& connection : state_->connections) connection.held = hold;
  });
}

void FaultyLink::Delay(Duration delay) {
  state_->Do([&] { state_->delay = delay; });
}

void FaultyLink::CutAfter(size_t bytes) {
  state_->Do([&] {
    state_->cut_after = bytes;
    for (Connection& connection : state_->connections) connection.left = bytes;
  });
}

void FaultyLink::Heal() {
  state_->Do([this] {
    state_->refuse = false;
    state_->delay = {};
    state_->cut_after.reset();
    for (Connection& connection : state_->connections) {
      connection.held = false;
      connection.left.reset();
    }
  });
}

// --- The thread ------------------------------------------------------------------------------------------------------

void FaultyLink::State::Run() {
  while (true) {
    std::vector<pollfd> polled;
    int timeout;
    {
      const std::lock_guard lock(mutex);
      if (stopping) return;
      polled = Wanted();
      timeout = PollTimeout(Clock::now());
    }
    poll(polled.data(), polled.size(), timeout);
    uint64_t ignored;
    [[maybe_unused]] const ssize_t drained = read(wake, &ignored, sizeof ignored);
    const std::lock_guard lock(mutex);
    const auto events = [&](int fd) {
      const auto at = std::ranges::find(polled, fd, &pollfd::fd);
      return at == polled.end() ? short(0) : at->revents;
    };
    std::erase_if(connections, [&](Connection& connection) {
      if (Serve(connection, events(connection.client), events(connection.server))) return false;
      Drop(connection);
      return true;
    });
    if (events(listener) != 0) Accept();
  }
}

std::vector<pollfd> FaultyLink::State::Wanted() {
  std::vector<pollfd> polled{{wake, POLLIN, 0}, {listener, POLLIN, 0}};
  const Clock::time_point now = Clock::now();
  for (const Connection& connection : connections) {
    const bool due = !connection.held && !connection.to_client.empty() && connection.to_client.front().due <= now;
    const bool room = connection.waiting < kMostWaiting;
    polled.push_back({connection.client, short(POLLIN | (due ? POLLOUT : 0)), 0});
    if (connection.server_ended) continue;
    polled.push_back({connection.server, short((room ? POLLIN : 0) | (connection.to_server.empty() ? 0 : POLLOUT)), 0});
  }
  return polled;
}

// Until the next delayed piece is due; -1 for ever.
int FaultyLink::State::PollTimeout(Clock::time_point now) {
  std::optional<Clock::time_point> next;
  for (const Connection& connection : connections) {
    if (connection.held || connection.to_client.empty()) continue;
    const Clock::time_point due = connection.to_client.front().due;
    if (due > now) next = std::min(next.value_or(due), due);
  }
  if (!next) return -1;
  return int(std::chrono::ceil<std::chrono::milliseconds>(*next - now).count());
}

void FaultyLink::State::Accept() {
  const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++accepted;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_port);
  if (refuse || connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    CloseWithReset(client);
    close(server);
    return;
  }
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Connection& connection = connections.emplace_back();
  connection.client = client;
  connection.server = server;
  connection.left = cut_after;
}

// Moves bytes both ways. False: the connection is over.
bool FaultyLink::State::Serve(Connection& connection, short client, short server) {
  if (client & (POLLIN | POLLHUP | POLLERR) && !ReadSome(connection.client, connection.to_server)) return false;
  if (connection.server_ended) connection.to_server.clear();
  if (!connection.to_server.empty() && !WriteSome(connection.server, connection.to_server))
    connection.server_ended = true;
  if (server & (POLLIN | POLLHUP | POLLERR) && !connection.server_ended) {
    Piece piece{Clock::now() + delay, {}};
    connection.server_ended = !ReadSome(connection.server, piece.bytes);
    connection.waiting += piece.bytes.size();
    if (!piece.bytes.empty()) connection.to_client.push_back(std::move(piece));
  }
  return Deliver(connection, (client & POLLOUT) != 0);
}

bool FaultyLink::State::Deliver(Connection& connection, bool writable) {
  if (connection.held) return true;
  if (writable && !connection.to_client.empty()) {
    Piece& piece = connection.to_client.front();
    if (connection.left && *connection.left < piece.bytes.size()) piece.bytes.resize(*connection.left);
    const size_t before = piece.bytes.size();
    if (!WriteSome(connection.client, piece.bytes)) return false;
    const size_t sent = before - piece.bytes.size();
    connection.waiting -= std::min(connection.waiting, sent);
    if (connection.left) *connection.left -= sent;
    if (piece.bytes.empty()) connection.to_client.pop_front();
  }
  if (connection.server_ended && connection.to_client.empty() && !connection.told_end) {
    connection.told_end = true;
    shutdown(connection.client, SHUT_WR);
  }
  return connection.left != 0u;
}

}  // namespace capstan::net::testing
