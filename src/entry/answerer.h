// Answers HTTP GET, to whoever asks. For one thread, which polls.
//
// At most eight ask at once, with 2 KiB and within two seconds each. Who is slower is cut off, and so is, at once, who says
// anything else; one more takes the place of the one who has been asking for longest.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

class Answerer {
 public:
  using Clock = std::chrono::steady_clock;
  struct Answer {
    std::string status = "404 Not Found";
    std::string text = {};  // JSON, or nothing
  };
  using Answering = std::function<Answer(std::string_view path)>;

  // Listens on all addresses. kUnavailable: it cannot.
  static Result<Answerer> Listen(uint16_t port);

  Answerer(Answerer&& other) noexcept;
  Answerer& operator=(Answerer&&) = delete;
  ~Answerer();

  void AddTo(std::vector<pollfd>* waiting) const;  // what to poll for
  std::optional<Clock::time_point> next() const;   // when to call Serve at the latest
  // Never waits. `answering`: what is to be answered now.
  void Serve(Clock::time_point now, const Answering& answering);

 private:
  struct Caller {
    int fd;
    Clock::time_point deadline;
    std::string heard = {};
    std::string answer = {};  // what is left of it, once it has asked
  };

  explicit Answerer(int fd) : fd_(fd) {}
  static bool Goes(Caller& caller, const Answering& answering);  // on with it: false once it is done with
  void Admit(int fd, Clock::time_point now, const Answering& answering);

  int fd_;
  std::list<Caller> callers_;
};

}  // namespace capstan::entry
