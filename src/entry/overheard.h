// A daemon's standard error: passed on to ours, where a container's log is, and heard.
//
// One for all starts of a daemon. While nobody reads our log nothing is read here either, so that the daemon waits as it would
// with our standard error as its own; passing it on never waits. For one thread, which polls.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

class Overheard {
 public:
  using Hear = std::function<void(std::string_view bytes)>;

  // kInternal: there is no pipe to be had.
  static Result<Overheard> Begin();

  Overheard(Overheard&& other) noexcept;
  Overheard& operator=(Overheard&&) = delete;
  ~Overheard();

  int end() const { return write_; }  // for the daemon
  void AddTo(std::vector<pollfd>* waiting) const;
  // Passes on what there is, as far as it can be without waiting.
  void Turn(const Hear& hear);
  // Hears all that an ended daemon has left, and passes it on as far as that goes.
  void Finish(const Hear& hear);

 private:
  Overheard(int read, int write) : read_(read), write_(write) {}
  bool Take(const Hear& hear);
  bool PassOn();

  int read_, write_;
  std::string left_;  // heard and not passed on
};

}  // namespace capstan::entry
