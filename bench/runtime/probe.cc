#include "runtime/probe.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>

namespace capstan::bench {
namespace {

Probe* measuring = nullptr;

Tick Now() { return Tick(std::chrono::steady_clock::now().time_since_epoch()); }

}  // namespace

// Hands over every complete line of a watch.
class Probe::Stream final : public net::BodyStream {
 public:
  Stream(Probe& probe, std::unique_ptr<net::BodyStream> stream) : probe_(probe), stream_(std::move(stream)) {}

  int status() const override { return stream_->status(); }
  const net::Headers& headers() const override { return stream_->headers(); }

  async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline deadline) override {
    const Result<size_t> bytes = co_await stream_->Read(buffer, deadline);
    if (bytes) text_.append(buffer.data(), *bytes);
    for (size_t end = 0; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
      probe_.EventRead(std::string_view(text_).substr(0, end));
    }
    co_return bytes;
  }

 private:
  Probe& probe_;
  std::unique_ptr<net::BodyStream> stream_;
  std::string text_;
};

Probe::Probe(net::Transport& transport, std::string plural, bool measure, std::function<void(size_t)> accepted)
    : transport_(transport), plural_(std::move(plural)), measure_(measure), accepted_(std::move(accepted)) {
  if (measure_) measuring = this;
}

Probe::~Probe() { measuring = nullptr; }

async::Task<Result<net::Response>> Probe::Send(net::Request request, async::Deadline deadline) {
  const bool write = request.method != "GET";
  if (write && measure_) {
    const std::string_view path = std::string_view(request.target).substr(0, request.target.find('?'));
    const auto event = read_at_.find(path.substr(path.rfind('/') + 1));
    if (event != read_at_.end()) {
      leaving_.push_back(event->second);
      read_at_.erase(event);
    }
  }
  auto response = co_await transport_.Send(std::move(request), deadline);
  if (write && response && response->status < 300) accepted_(++writes_);
  co_return response;
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Probe::Open(net::Request request, async::Deadline deadline) {
  const bool counts = measure_ && request.target.find("/" + plural_ + "?") != std::string::npos;
  auto stream = co_await transport_.Open(std::move(request), deadline);
  if (!stream || !counts) co_return stream;
  co_return std::make_unique<Stream>(*this, *std::move(stream));
}

void Probe::EventRead(std::string_view line) {
  constexpr std::string_view kName = "\"name\":\"";
  if (!line.starts_with("{\"type\":\"MODIFIED\"")) return;
  const size_t at = line.find(kName);
  if (at == std::string_view::npos) return;
  line.remove_prefix(at + kName.size());
  read_at_.insert_or_assign(std::string(line.substr(0, line.find('"'))), last_read_);
}

void Probe::BytesRead() { last_read_ = Now(); }

void Probe::BytesWritten() {
  if (leaving_.empty()) return;
  latencies_.push_back(Now() - leaving_.front());
  leaving_.pop_front();
}

}  // namespace capstan::bench

// The C library's, as far as Asio calls them, with a look at the clock.
extern "C" {

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  const auto result = ssize_t(syscall(SYS_recvmsg, fd, message, flags));
  if (result > 0 && capstan::bench::measuring) capstan::bench::measuring->BytesRead();
  return result;
}

ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  const auto result = ssize_t(syscall(SYS_recvfrom, fd, buffer, size, flags, nullptr, nullptr));
  if (result > 0 && capstan::bench::measuring) capstan::bench::measuring->BytesRead();
  return result;
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (capstan::bench::measuring) capstan::bench::measuring->BytesWritten();
  return ssize_t(syscall(SYS_sendmsg, fd, message, flags));
}

ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  if (capstan::bench::measuring) capstan::bench::measuring->BytesWritten();
  return ssize_t(syscall(SYS_sendto, fd, buffer, size, flags, nullptr, 0));
}
}
