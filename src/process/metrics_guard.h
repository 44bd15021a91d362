// Whom /metrics is for, where it is not for everybody: bearers of a token that the API server lets `get` that path
// (kube/access_reviews.h). The process needs the right to ask it.
#pragma once

#include "base/secret.h"
#include "kube/access_reviews.h"
#include "kube/client.h"
#include "process/process.h"

namespace capstan::process {

class MetricsGuard {
 public:
  // Both outlive it.
  MetricsGuard(Process& process, kube::Client& client) : process_(process), reviews_(process.loop(), client) {}

  // For Process::Addresses. May be called for as long as this object lives.
  net::HttpServer::Admit admit();

 private:
  void Admit(const net::Request& request, net::HttpServer::Tell tell);
  async::Task<void> TellWhetherAdmitted(Secret token, net::HttpServer::Tell tell);

  Process& process_;
  kube::AccessReviews reviews_;
};

}  // namespace capstan::process
