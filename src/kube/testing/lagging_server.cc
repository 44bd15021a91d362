#include "kube/testing/lagging_server.h"

#include "kube/testing/fake_target.h"

namespace capstan::kube::testing {

LaggingServer::LaggingServer(async::Loop& loop, FakeApiServer& server, const std::vector<Resource>& kinds)
    : server_(server), past_(loop, 1) {
  for (const Resource& kind : kinds) past_.objects().Serve(kind);
  CatchUp();
}

FakeApiServer& LaggingServer::ToldBy(const net::Request& request) {
  if (request.method != "GET") return server_;
  const auto target = FakeTarget::Parse(request.target, server_.objects());
  if (!target || !target->key.name.empty()) return server_;
  const bool lags = lagging_.empty() || lagging_.contains(std::string(target->table->resource.plural));
  return lags ? past_ : server_;
}

}  // namespace capstan::kube::testing
