// What standard output is to whoever reads it.
#pragma once

namespace capstan::cli {

// It is a terminal, and its user has not refused colours (NO_COLOR, https://no-color.org).
bool HasColours();

}  // namespace capstan::cli
