#include "operator/ask_pod.h"

namespace capstan::op {

async::Task<Result<net::Response>> AskPod(plan::Services& services, std::string address, int port, std::string path,
                                          Duration limit, async::Deadline deadline) {
  if (!services.ask) co_return Fail(Code::kUnavailable, "there is no way to pods");
  const std::string host = address.contains(':') ? "[" + address + "]" : address;
  net::Request request{.method = "GET", .target = std::move(path), .repeatable = true};
  co_return co_await services.ask("http://" + host + ":" + std::to_string(port), std::move(request),
                                  deadline.Earlier(services.loop.After(limit)));
}

bool IsNobodyThere(const Error& error) { return error.message().contains("Connection refused"); }

}  // namespace capstan::op
