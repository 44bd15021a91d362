// `capstan crds`: prints the custom resource definitions, or the page that describes them.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace capstan::cli {

struct CrdsFlags {
  std::string output = "yaml";  // or "json": one definition a line
  std::string directory;        // write one file a kind there instead of printing
  bool reference = false;       // print docs/reference.md instead
};

// Declares the flags on the subcommand.
void AddCrdsFlags(CLI::App& command, CrdsFlags& flags);

// Returns the exit status; says on stderr what went wrong.
int RunCrds(const CrdsFlags& flags);

}  // namespace capstan::cli
