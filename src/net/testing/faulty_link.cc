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
constexpr size_t kMostWaiting = 8 << 20;  // bytes on the way to one peer; who sends more has to wait

sockaddr_in LoopbackAddress(uint16_t port) {
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

// One way of a connection.
struct Lane {
  int from, to;
  std::deque<Piece> pieces = {};
  size_t waiting = 0;  // bytes in pieces
  bool held = false;
  bool ended = false;               // `from` has
  std::optional<size_t> left = {};  // bytes that may still pass

  bool Due(Clock::time_point now) const { return !held && !pieces.empty() && pieces.front().due <= now; }
};

struct LinkConnection {
  int client, server;
  Lane to_client{server, client}, to_server{client, server};
  bool told_end = false;  // to the client, that the server has ended
};

}  // namespace

struct FaultyLink::State {
  uint16_t server_port;
  uint16_t port = 0;
  int listener = -1, wake = -1;
  std::atomic<size_t> accepted{0};
  std::mutex mutex;  // of all below
  bool stopping = false, refuse = false;
  struct Faults {
    Clock::duration delay{0};
    std::optional<size_t> cut_after;
  };
  Faults to_client, to_server;
  std::list<LinkConnection> connections;
  std::thread thread;

  void Run();
  int PollTimeout(Clock::time_point now);
  std::vector<pollfd> Wanted();
  void Accept();
  bool Serve(LinkConnection& connection, short client, short server);
  void Take(Lane& lane, Clock::duration delay);
  bool Deliver(Lane& lane);
  void Drop(LinkConnection& connection) {
    CloseWithReset(connection.client);
    CloseWithReset(connection.server);
  }
  static Lane& LaneOf(LinkConnection& connection, Toward toward) {
    return toward == Toward::kClient ? connection.to_client : connection.to_server;
  }
  Faults& FaultsOf(Toward toward) { return toward == Toward::kClient ? to_client : to_server; }
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
  sockaddr_in address = LoopbackAddress(0);
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
  for (LinkConnection& connection : state_->connections) state_->Drop(connection);
  close(state_->listener);
  close(state_->wake);
}

uint16_t FaultyLink::port() const { return state_->port; }
size_t FaultyLink::accepted() const { return state_->accepted; }

void FaultyLink::Cut() {
  state_->Do([this] {
    for (LinkConnection& connection : state_->connections) state_->Drop(connection);
    state_->connections.clear();
  });
}

void FaultyLink::Refuse(bool refuse) {
  state_->Do([&] { state_->refuse = refuse; });
}

void FaultyLink::Hold(bool hold, Toward toward) {
  state_->Do([&] {
    for (LinkConnection& connection : state_->connections) State::LaneOf(connection, toward).held = hold;
  });
}

void FaultyLink::Delay(Duration delay, Toward toward) {
  state_->Do([&] { state_->FaultsOf(toward).delay = delay; });
}

void FaultyLink::CutAfter(size_t bytes, Toward toward) {
  state_->Do([&] {
    state_->FaultsOf(toward).cut_after = bytes;
    for (LinkConnection& connection : state_->connections) State::LaneOf(connection, toward).left = bytes;
  });
}

void FaultyLink::Heal() {
  state_->Do([this] {
    state_->refuse = false;
    state_->to_client = state_->to_server = {};
    for (LinkConnection& connection : state_->connections) {
      for (Lane* const lane : {&connection.to_client, &connection.to_server}) {
        lane->held = false;
        lane->left.reset();
      }
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
    std::erase_if(connections, [&](LinkConnection& connection) {
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
  for (const LinkConnection& connection : connections) {
    const auto want = [&](int fd, const Lane& reads, const Lane& writes) {
      const bool room = reads.waiting < kMostWaiting;
      // One that has ended is not polled: it would be ready for ever.
      if (!reads.ended) polled.push_back({fd, short((room ? POLLIN : 0) | (writes.Due(now) ? POLLOUT : 0)), 0});
    };
    want(connection.client, connection.to_server, connection.to_client);
    want(connection.server, connection.to_client, connection.to_server);
  }
  return polled;
}

// Until the next delayed piece is due; -1 for ever.
int FaultyLink::State::PollTimeout(Clock::time_point now) {
  std::optional<Clock::time_point> next;
  for (const LinkConnection& connection : connections) {
    for (const Lane* const lane : {&connection.to_client, &connection.to_server}) {
      if (lane->held || lane->pieces.empty()) continue;
      const Clock::time_point due = lane->pieces.front().due;
      if (due > now) next = std::min(next.value_or(due), due);
    }
  }
  if (!next) return -1;
  return int(std::chrono::ceil<std::chrono::milliseconds>(*next - now).count());
}

void FaultyLink::State::Accept() {
  const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++accepted;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = LoopbackAddress(server_port);
  if (refuse || connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    CloseWithReset(client);
    close(server);
    return;
  }
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  LinkConnection& connection = connections.emplace_back(client, server);
  connection.to_client.left = to_client.cut_after;
  connection.to_server.left = to_server.cut_after;
}

// Moves bytes both ways. False: the connection is over.
bool FaultyLink::State::Serve(LinkConnection& connection, short client, short server) {
  Lane &up = connection.to_server, &down = connection.to_client;
  constexpr short kReadable = POLLIN | POLLHUP | POLLERR;
  if (client & kReadable && !up.ended) Take(up, to_server.delay);
  if (server & kReadable && !down.ended) Take(down, to_client.delay);
  // What a server that has ended was to be told is told to nobody.
  if (!down.ended && !Deliver(up)) down.ended = true;
  if (down.ended) {
    up.pieces.clear();
    up.waiting = 0;
  }
  if (up.ended) return !up.pieces.empty() && up.left != 0u;
  if (!Deliver(down)) return false;
  if (down.ended && down.pieces.empty() && !down.held && !connection.told_end) {
    connection.told_end = true;
    shutdown(connection.client, SHUT_WR);
  }
  return up.left != 0u && down.left != 0u;
}

void FaultyLink::State::Take(Lane& lane, Clock::duration delay) {
  Piece piece{Clock::now() + delay, {}};
  lane.ended = !ReadSome(lane.from, piece.bytes);
  lane.waiting += piece.bytes.size();
  if (!piece.bytes.empty()) lane.pieces.push_back(std::move(piece));
}

// False: broken.
bool FaultyLink::State::Deliver(Lane& lane) {
  if (!lane.Due(Clock::now())) return true;
  Piece& piece = lane.pieces.front();
  if (lane.left && *lane.left < piece.bytes.size()) piece.bytes.resize(*lane.left);
  const size_t before = piece.bytes.size();
  if (!WriteSome(lane.to, piece.bytes)) return false;
  const size_t sent = before - piece.bytes.size();
  lane.waiting -= std::min(lane.waiting, sent);
  if (lane.left) *lane.left -= sent;
  if (piece.bytes.empty()) lane.pieces.pop_front();
  return true;
}

}  // namespace capstan::net::testing
