// A token that somebody else keeps in a file, such as a mounted Secret.
#pragma once

#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace capstan::slurm {

// Its text without blanks around it and without a leading "SLURM_JWT=", as `scontrol token` writes it. kUnauthenticated says
// what is wrong with the file, never what is in it. Reads a small file, on the caller's thread.
Result<Secret> TokenFrom(const std::string& path);

}  // namespace capstan::slurm
