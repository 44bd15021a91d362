// A token that somebody else keeps, in a file such as a mounted Secret, or in a variable.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace capstan::slurm {

// Its text without blanks around it and without a leading "SLURM_JWT=", as `scontrol token` writes it. kUnauthenticated says
// what is wrong with it, of `place`, never what it is.
Result<Secret> TokenIn(std::string_view text, const std::string& place);

// The token in a file. Reads a small file, on the caller's thread.
Result<Secret> TokenFrom(const std::string& path);

}  // namespace capstan::slurm
