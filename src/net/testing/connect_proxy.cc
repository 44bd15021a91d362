#include "net/testing/connect_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/text.h"
#include "net/testing/server_end.h"

namespace capstan::net::testing {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// The port of "CONNECT host:port HTTP/1.1"; 0 when there is none.
uint16_t PortAskedFor(const std::string& request) {
  const auto words = Words(std::string_view(request).substr(0, request.find('\r')));
  if (words.size() != 3 || words[0] != "CONNECT") return 0;
  return uint16_t(ParseInt(words[1].substr(words[1].rfind(':') + 1)).value_or(0));
}

}  // namespace

struct ConnectProxy::State {
  Options options;
  int listener = -1;
  int ending = -1;  // an eventfd that is never read: once written, every poll ends
  Owned<SSL_CTX> context;
  std::thread acceptor;

  std::mutex mutex;
  std::vector<std::string> requests;
  std::vector<std::thread> workers;

  void Accept();
  void Serve(int fd);
  bool Wait(std::initializer_list<int> fds) const;
  std::optional<std::string> ReadRequest(ServerEnd& client);
  void Relay(ServerEnd& client, ServerEnd& server);
};

// False once the proxy is to end.
bool ConnectProxy::State::Wait(std::initializer_list<int> fds) const {
  std::vector<pollfd> polled{{ending, POLLIN, 0}};
  for (const int fd : fds) polled.push_back({fd, POLLIN, 0});
  poll(polled.data(), polled.size(), -1);
  return polled[0].revents == 0;
}

std::optional<std::string> ConnectProxy::State::ReadRequest(ServerEnd& client) {
  std::string bytes;
  while (bytes.find("\r\n\r\n") == bytes.npos) {
    if (!client.HasMore() && !Wait({client.fd()})) return std::nullopt;
    if (!client.Read(bytes)) return std::nullopt;
  }
  return bytes;
}

void ConnectProxy::State::Relay(ServerEnd& client, ServerEnd& server) {
  while (true) {
    if (!client.HasMore() && !Wait({client.fd(), server.fd()})) return;
    for (const auto& [from, to] :
         {std::array<ServerEnd*, 2>{&client, &server}, std::array<ServerEnd*, 2>{&server, &client}}) {
      pollfd ready{from->fd(), POLLIN, 0};
      if (!from->HasMore() && poll(&ready, 1, 0) <= 0) continue;
      std::string bytes;
      if (!from->Read(bytes) || !to->Write(bytes)) return;
    }
  }
}

void ConnectProxy::State::Serve(int fd) {
  ServerEnd::BlockBrokenPipes();
  ServerEnd client(fd, context.get());
  if (options.silent) {
    Wait({});
    return;
  }
  if (!Wait({fd}) || !client.Handshake()) return;
  const std::optional<std::string> request = ReadRequest(client);
  if (!request) return;
  {
    const std::lock_guard lock(mutex);
    requests.push_back(*request);
  }
  if (!options.answer.starts_with("HTTP/1.1 2")) {
    client.Write(options.answer);
    return;
  }
  ServerEnd server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), nullptr);
  const sockaddr_in address = Loopback(PortAskedFor(*request));
  if (connect(server.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    client.Write("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
    return;
  }
  if (client.Write(options.answer)) Relay(client, server);
}

void ConnectProxy::State::Accept() {
  while (Wait({listener})) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) workers.emplace_back([this, fd] { Serve(fd); });
  }
}

ConnectProxy::ConnectProxy(Options options) : state_(std::make_unique<State>()) {
  state_->context = ServerContext(options.certificate_pem, options.key_pem);
  state_->options = std::move(options);
  state_->ending = eventfd(0, EFD_CLOEXEC);
  state_->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(0);
  if (bind(state_->listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(state_->listener, 64) != 0)
    std::abort();
  state_->acceptor = std::thread([state = state_.get()] { state->Accept(); });
}

ConnectProxy::~ConnectProxy() {
  eventfd_write(state_->ending, 1);
  state_->acceptor.join();
  for (std::thread& worker : state_->workers) worker.join();
  close(state_->listener);
  close(state_->ending);
}

uint16_t ConnectProxy::port() const {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(state_->listener, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

std::string ConnectProxy::url(const std::string& user_info) const {
  return std::string(state_->context ? "https://" : "http://") + (user_info.empty() ? "" : user_info + "@") +
         "127.0.0.1:" + std::to_string(port());
}

std::vector<std::string> ConnectProxy::requests() const {
  const std::lock_guard lock(state_->mutex);
  return state_->requests;
}

}  // namespace capstan::net::testing
