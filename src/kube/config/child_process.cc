#include "kube/config/child_process.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/spawn_attributes.h"
#include "base/text.h"

namespace capstan::kube {
namespace {

constexpr size_t kErrorTail = 4096;  // kept of standard error
constexpr size_t kLineLimit = 300;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct Pipe {
  Fd read;
  Fd write;

  static Result<Pipe> Make() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return Fail(Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return Pipe{Fd(ends[0]), Fd(ends[1])};
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> Spawn(const ChildProcess& child, const Pipe& output, const Pipe& errors) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output.write.get(), 1);
  posix_spawn_file_actions_adddup2(&files, errors.write.get(), 2);
  posix_spawn_file_actions_addclosefrom_np(&files, 3);

  const SpawnAttributes attributes;

  std::vector<std::string> words{child.path};
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  pid_t pid = 0;
  const int error = posix_spawn(&pid, child.path.c_str(), &files, attributes.get(), Pointers(words).data(),
                                Pointers(child.environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return Fail(Code::kInvalid, child.path + " cannot be started: " + std::strerror(error));
  return pid;
}

// A running child and what it says.
class Run {
 public:
  Run(pid_t pid, Fd output, Fd errors, const ChildProcess& child)
      : pid_(pid),
        output_(std::move(output)),
        errors_(std::move(errors)),
        child_(child),
        end_(std::chrono::steady_clock::now() + child.limit) {
    text_.reserve(child.output_limit + 1);  // growing would leave copies of a secret behind
  }
  ~Run() {
    if (!status_) Kill();
    OPENSSL_cleanse(text_.data(), text_.size());
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<ChildOutput> ToItsEnd() {
    while (!status_) {
      CAPSTAN_CHECK_OK(WaitForMore());
      // Asked before the pipes are emptied: what it wrote until its end is in them then.
      Reap();
      Take(output_, text_, child_.output_limit + 1);
      Take(errors_, tail_, SIZE_MAX);
      if (tail_.size() > kErrorTail) tail_.erase(0, tail_.size() - kErrorTail);
      if (text_.size() > child_.output_limit)
        return Fail(Code::kInvalid, child_.path + " says more than " + std::to_string(child_.output_limit) + " bytes");
    }
    return ChildOutput{Secret(text_), LastLine(), *status_};
  }

 private:
  // Returns when there may be something to read, or every 50 ms to look whether the child has ended.
  Result<void> WaitForMore() {
    const Duration left = end_ - std::chrono::steady_clock::now();
    if (left <= Duration(0))
      return Fail(Code::kDeadline, child_.path + " took longer than " + FormatDuration(child_.limit));
    const Duration pause = output_.open() || errors_.open() ? 50ms : 2ms;
    pollfd fds[] = {{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}, {child_.stop_fd, POLLIN, 0}};
    poll(fds, 3, int(std::min(left, pause) / 1ms) + 1);
    if (fds[2].revents) return Fail(Code::kCancelled, child_.path + " was stopped");
    return {};
  }

  static void Take(Fd& from, std::string& into, size_t limit) {
    char buffer[4096];
    while (from.open() && into.size() < limit) {
      const ssize_t got = read(from.get(), buffer, std::min(sizeof buffer, limit - into.size()));
      if (got > 0) into.append(buffer, size_t(got));
      OPENSSL_cleanse(buffer, sizeof buffer);
      if (got > 0 || (got < 0 && errno == EINTR)) continue;
      if (got == 0 || errno != EAGAIN) from.Close();
      return;
    }
  }

  void Reap() {
    int status = 0;
    const pid_t ended = waitpid(pid_, &status, WNOHANG);
    if (ended == 0) return;
    status_ = ended < 0 ? 255 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  void Kill() {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  std::string LastLine() const {
    const std::string_view text = Trim(tail_);
    std::string line(Trim(text.substr(text.rfind('\n') + 1)));
    std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    if (line.size() > kLineLimit) line = line.substr(0, kLineLimit) + "...";
    return line;
  }

  const pid_t pid_;
  Fd output_, errors_;
  const ChildProcess& child_;
  const Tick end_;
  std::string text_;
  std::string tail_;
  std::optional<int> status_;
};

bool IsProgram(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<ChildOutput> RunChild(const ChildProcess& child) {
  CAPSTAN_TRY(Pipe output, Pipe::Make());
  CAPSTAN_TRY(Pipe errors, Pipe::Make());
  CAPSTAN_TRY(const pid_t pid, Spawn(child, output, errors));
  output.write.Close();
  errors.write.Close();
  return Run(pid, std::move(output.read), std::move(errors.read), child).ToItsEnd();
}

Result<std::string> FindProgram(const std::string& name, std::string_view search_path) {
  if (name.find('/') != name.npos) {
    if (IsProgram(name)) return name;
    return Fail(Code::kNotFound, "there is no program " + name);
  }
  for (const std::string_view folder : Split(search_path, ':')) {
    if (!folder.starts_with('/')) continue;  // where we happen to stand must not decide what is run
    std::string path = std::string(folder) + "/" + name;
    if (IsProgram(path)) return path;
  }
  return Fail(Code::kNotFound, "there is no program \"" + name + "\" in $PATH");
}

}  // namespace capstan::kube
