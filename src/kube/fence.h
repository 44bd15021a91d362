// Lets no write leave that would be late: a net::Transport in front of another.
//
//   Fence fence(loop, http, [&] { return lease.good_until(); });
//   Client client(loop, fence, {});                // everybody's but the lease's own
//
// A write that begins after `good_until` is refused with kCancelled. One that begins before gets that moment as its
// deadline, so that neither a wait for a free connection nor a handshake carries it beyond. Who asks MayWrite before
// deciding to write is not spared this: between the two the process may have been frozen. What no program can rule out
// is the one write that was between its last check and the kernel, some microseconds, when the process froze.
//
// Reads pass: a GET or HEAD that is repeatable.
//
// REQUIRES: loop and transport outlive it.
#pragma once

#include <functional>

#include "async/loop.h"
#include "net/http.h"

namespace capstan::kube {

class Fence final : public net::Transport {
 public:
  // `good_until`: until when writes may leave, as known at the moment of asking; the past: none may.
  Fence(async::Loop& loop, net::Transport& transport, std::function<Tick()> good_until);

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

 private:
  // The deadline that holds for the request.
  Result<async::Deadline> Pass(const net::Request& request, async::Deadline deadline) const;

  async::Loop& loop_;
  net::Transport& transport_;
  std::function<Tick()> good_until_;
};

}  // namespace capstan::kube
