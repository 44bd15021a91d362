#include "cli/slurm_token.h"

#include <cstdlib>

#include "slurm/token_file.h"

namespace capstan::cli {

Result<slurm::TokenFactory> SlurmToken(const std::string& token_file) {
  if (!token_file.empty()) return [token_file](Duration) { return slurm::TokenFrom(token_file); };
  const char* token = std::getenv("SLURM_JWT");
  if (token == nullptr || *token == '\0')
    return Fail(Code::kInvalid, "no token for Slurm: set --token-file, or SLURM_JWT");
  CAPSTAN_TRY(Secret secret, slurm::TokenIn(token, "SLURM_JWT"));
  return [secret = std::move(secret)](Duration) -> Result<Secret> { return secret; };
}

}  // namespace capstan::cli
