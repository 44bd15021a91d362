#include "process/metrics_guard.h"

#include "base/log.h"

namespace capstan::process {
namespace {

net::Response Unauthorized(std::string why) {
  net::Response response = net::Refusal(401, std::move(why));
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace

net::HttpServer::Admit MetricsGuard::admit() {
  return [this](const net::Request& request, net::HttpServer::Tell tell) { Admit(request, std::move(tell)); };
}

// On the thread of the server.
void MetricsGuard::Admit(const net::Request& request, net::HttpServer::Tell tell) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = net::Find(request.headers, "Authorization");
  if (!authorization.starts_with(kBearer))
    return tell(Unauthorized("metrics are for bearers of a token that may get the path /metrics"));
  process_.loop().Post(
      [this, token = Secret(std::string(authorization.substr(kBearer.size()))), tell = std::move(tell)] {
        process_.tasks().Spawn("access review", TellWhetherAdmitted(token, tell));
      });
}

async::Task<void> MetricsGuard::TellWhetherAdmitted(Secret token, net::HttpServer::Tell tell) {
  const Result<void> may = co_await reviews_.MayGet(std::move(token), "/metrics");
  if (may) co_return tell(std::nullopt);
  const std::string& why = may.error().message();
  if (may.error().code() == Code::kUnauthenticated) co_return tell(Unauthorized(why));
  if (may.error().code() == Code::kForbidden) co_return tell(net::Refusal(403, why));
  log::Warn("somebody who asked for metrics was turned away", {{"reason", why}});
  tell(net::Refusal(503, why));
}

}  // namespace capstan::process
