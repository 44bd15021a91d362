#include "kube/fence.h"

namespace capstan::kube {

Fence::Fence(async::Loop& loop, net::Transport& transport, std::function<Tick()> good_until)
    : loop_(loop), transport_(transport), good_until_(std::move(good_until)) {}

Result<async::Deadline> Fence::Pass(const net::Request& request, async::Deadline deadline) const {
  // Slurm has a GET that changes something (reconfigure): what is a read says so by being repeatable.
  if ((request.method == "GET" || request.method == "HEAD") && request.repeatable) return deadline;
  const async::Deadline until(good_until_());
  if (until.Passed(loop_.Now())) return Fail(Code::kCancelled, "not sent: this process does not hold the lease");
  return deadline.Earlier(until);
}

async::Task<Result<net::Response>> Fence::Send(net::Request request, async::Deadline deadline) {
  const Result<async::Deadline> until = Pass(request, deadline);
  if (!until) co_return Fail(until.error());
  co_return co_await transport_.Send(std::move(request), *until);
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> Fence::Open(net::Request request, async::Deadline deadline) {
  const Result<async::Deadline> until = Pass(request, deadline);
  if (!until) co_return Fail(until.error());
  co_return co_await transport_.Open(std::move(request), *until);
}

}  // namespace capstan::kube
