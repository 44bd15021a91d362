#include "cli/crds.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/kinds.h"
#include "operator/reasons.h"

namespace capstan::cli {
namespace {

bool WriteFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace

void AddCrdsFlags(CLI::App& command, CrdsFlags& flags) {
  command.add_option("-o,--output", flags.output, "yaml or json")->check(CLI::IsMember({"yaml", "json"}));
  command.add_option("--dir", flags.directory, "Write one YAML file a kind into this folder instead of printing");
  command.add_flag("--reference", flags.reference, "Print the reference page instead");
}

int RunCrds(const CrdsFlags& flags) {
  if (flags.reference) {
    std::fputs(op::ReferencePage().c_str(), stdout);
    return 0;
  }
  for (const api::KindInfo& kind : api::Kinds()) {
    if (!flags.directory.empty()) {
      const std::string path = flags.directory + "/" + api::CrdFileName(kind);
      if (!WriteFile(path, api::CrdYaml(kind))) {
        std::fprintf(stderr, "capstan: cannot write %s\n", path.c_str());
        return 1;
      }
    } else if (flags.output == "json") {
      std::printf("%s\n", api::CrdJson(kind).c_str());
    } else {
      std::printf("---\n%s", api::CrdYaml(kind).c_str());
    }
  }
  return 0;
}

}  // namespace capstan::cli
