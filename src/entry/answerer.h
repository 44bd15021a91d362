// Answers HTTP: one text for GET of one path, to whoever asks. For one thread, which polls.
//
// At most eight ask at once, with 2 KiB and within two seconds each; who is more, or slower, is cut off.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

class Answerer {
 public:
  using Clock = std::chrono::steady_clock;

  // Listens on all addresses. kUnavailable: it cannot.
  static Result<Answerer> Listen(uint16_t port, std::string path);

  Answerer(Answerer&& other) noexcept;
  Answerer& operator=(Answerer&&) = delete;
  ~Answerer();

  void AddTo(std::vector<pollfd>* waiting) const;  // what to poll for
  std::optional<Clock::time_point> next() const;   // when to call Serve at the latest
  // Never waits. `text`: the answer, now.
  void Serve(Clock::time_point now, const std::function<std::string()>& text);

 private:
  struct Caller {
    int fd;
    Clock::time_point deadline;
    std::string heard = {};
    std::string answer = {};  // what is left of it, once it has asked
  };

  Answerer(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  bool Goes(Caller& caller, const std::function<std::string()>& text) const;  // on with it: false once it is done with

  int fd_;
  std::string path_;
  std::list<Caller> callers_;
};

}  // namespace capstan::entry
