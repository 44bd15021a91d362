#include "entry/overheard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace capstan::entry {
namespace {

constexpr size_t kMostLeft = size_t{256} << 10;  // of what nobody reads
constexpr int kPiecesAtOnce = 64;                // so that a daemon that talks cannot keep signals waiting

}  // namespace

Result<Overheard> Overheard::Begin() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(Code::kInternal, std::string("no pipe: ") + strerror(errno));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Overheard(ends[0], ends[1]);
}

Overheard::Overheard(Overheard&& other) noexcept
    : read_(std::exchange(other.read_, -1)),
      write_(std::exchange(other.write_, -1)),
      left_(std::exchange(other.left_, {})) {}

Overheard::~Overheard() {
  if (read_ >= 0) close(read_);
  if (write_ >= 0) close(write_);
}

void Overheard::AddTo(std::vector<pollfd>* waiting) const {
  if (left_.empty())
    waiting->push_back({.fd = read_, .events = POLLIN, .revents = 0});
  else
    waiting->push_back({.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0});
}

bool Overheard::Take(const Hear& hear) {
  char buffer[PIPE_BUF];
  const ssize_t count = read(read_, buffer, sizeof buffer);
  if (count <= 0) return false;
  hear({buffer, static_cast<size_t>(count)});
  left_.append(buffer, static_cast<size_t>(count));
  return true;
}

// A pipe that can be written to takes PIPE_BUF bytes without waiting.
bool Overheard::PassOn() {
  while (!left_.empty()) {
    pollfd ours = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (poll(&ours, 1, 0) <= 0) return false;
    const ssize_t count = write(STDERR_FILENO, left_.data(), std::min<size_t>(left_.size(), PIPE_BUF));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    left_.erase(0, count < 0 ? left_.size() : static_cast<size_t>(count));  // nobody will ever read it
  }
  return true;
}

void Overheard::Turn(const Hear& hear) {
  for (int i = 0; i < kPiecesAtOnce && PassOn() && Take(hear); ++i) {
  }
  PassOn();
}

void Overheard::Finish(const Hear& hear) {
  for (int i = 0; i < kPiecesAtOnce && Take(hear); ++i) {
  }
  PassOn();
  if (left_.size() > kMostLeft) left_.erase(0, left_.size() - kMostLeft);
}

}  // namespace capstan::entry
