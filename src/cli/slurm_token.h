// Where a command has Slurm's token from.
#pragma once

#include <string>

#include "base/result.h"
#include "slurm/rest_client.h"

namespace capstan::cli {

// The token of a file, read again when the one that it held is four fifths old or is refused; without a file, of the variable
// SLURM_JWT. kInvalid: neither is there. kUnauthenticated: the
// variable holds no token.
Result<slurm::TokenFactory> SlurmToken(const std::string& token_file);

}  // namespace capstan::cli
