#include "net/credentials.h"

namespace capstan::net {

async::Task<Result<Secret>> Credentials::BearerToken(async::Loop&, async::Deadline) { co_return Secret(); }

Result<std::shared_ptr<const TlsMaterial>> Credentials::Tls() {
  static const auto nobody = std::make_shared<const TlsMaterial>();
  return nobody;
}

bool Credentials::Rejected(const Secret&, const TlsMaterial*) { return false; }

}  // namespace capstan::net
