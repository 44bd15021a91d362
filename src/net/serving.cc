#include "net/serving.h"

#include "net/tls.h"

namespace capstan::net {

Result<void> ServingIdentity::Replace(const ServingMaterial& material) {
  CAPSTAN_TRY(std::shared_ptr<const TlsContext> context, TlsContext::ForServer(material));
  const std::lock_guard lock(mutex_);
  context_ = std::move(context);
  return {};
}

std::shared_ptr<const TlsContext> ServingIdentity::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

}  // namespace capstan::net
