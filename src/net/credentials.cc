#include "net/credentials.h"

namespace capstan::net {

async::Task<Result<Secret>> Credentials::BearerToken(async::Deadline) { co_return Secret(); }

Result<std::shared_ptr<const TlsMaterial>> Credentials::Tls() {
  static const auto nobody = std::make_shared<const TlsMaterial>();
  return nobody;
}

}  // namespace capstan::net
