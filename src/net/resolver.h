// Names to addresses, without holding up the loop. Internal to net/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "base/result.h"
#include "net/socket.h"

namespace capstan::net {

// Asks the C library (nsswitch.conf, /etc/hosts, DNS with its search domains), anew each time. getaddrinfo
// can block for as long as resolv.conf allows and cannot be interrupted: it runs on a thread of its own, at
// most one for each Resolver, and who waits for it is let go at the deadline. Callers meanwhile join the
// question under way. An answer that comes when nobody waits any more is nobody's: the next caller asks anew.
//
// Thread: the loop's. REQUIRES: always the same host and port; one Resolver serves one client.
class Resolver {
 public:
  // Blocks; called on a thread of its own.
  using Lookup = std::function<Result<std::vector<Address>>(const std::string& host, uint16_t port)>;
  static Result<std::vector<Address>> AskSystem(const std::string& host, uint16_t port);

  explicit Resolver(async::Loop& loop, Lookup lookup = AskSystem);
  ~Resolver();

  // In the order in which they should be tried; never empty. kUnavailable: no such name, or no answer.
  async::Task<Result<std::vector<Address>>> Resolve(std::string host, uint16_t port, async::Deadline deadline);

  bool asking() const;  // a question is under way; for tests

 private:
  struct Question;
  async::Loop& loop_;
  Lookup lookup_;
  std::shared_ptr<Question> asked_;  // under way; empty when there is none
};

}  // namespace capstan::net
