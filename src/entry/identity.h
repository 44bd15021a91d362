// Under which name the slurmd of this container registers with Slurm, for whoever may delete its pod.
//
// From before slurmd is started until the container ends, GET /slurmd of kIdentityPort answers
//
//   {"node": "rack-0", "steps": true}
//
// `steps`: job steps are in this container, or were a tenth of a second ago. Jobs share the pod's network and could answer in our stead,
// so the answer is a reason to keep a pod and no other.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "entry/answerer.h"

namespace capstan::entry {

inline constexpr uint16_t kIdentityPort = 6816;

// The name that slurmd would have with `arguments`, where `wanted` is the one that whoever made the pod knows it by ("": none).
// Every -N is taken out of the arguments, and one put back unless the name is that of `host` anyway. One that names another
// node than the wanted one is said.
std::string SettleNodeName(const std::string& wanted, std::string_view host, std::vector<std::string>* arguments);

std::string IdentityText(std::string_view node, bool steps);

// For one thread, which polls.
class Identity {
 public:
  using HasSteps = std::function<bool()>;

  // `has_steps` looks at all processes, and is asked ten times a second at most, however many call. kUnavailable: it cannot listen.
  static Result<Identity> Listen(uint16_t port, std::string node, HasSteps has_steps);

  void AddTo(std::vector<pollfd>* waiting) const { answerer_.AddTo(waiting); }
  std::optional<Answerer::Clock::time_point> next() const { return answerer_.next(); }
  // Never waits. True: somebody has asked.
  bool Serve(Answerer::Clock::time_point now);

 private:
  Identity(Answerer answerer, std::string node, HasSteps has_steps)
      : answerer_(std::move(answerer)), node_(std::move(node)), has_steps_(std::move(has_steps)) {}

  Answerer answerer_;
  std::string node_;
  HasSteps has_steps_;
  std::string text_;                                 // that was answered last
  std::optional<Answerer::Clock::time_point> made_;  // when
};

}  // namespace capstan::entry
