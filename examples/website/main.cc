// website-operator: keeps Websites. `website-operator crds` prints the definition of the kind.

#include <cstdio>
#include <map>
#include <string>
#include <string_view>

#include "decide.h"
#include "json/yaml_text.h"
#include "process/program.h"
#include "website.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "crds") {
    std::fputs(capstan::json::ToYaml(capstan::json::CrdOf(website::Definition())).c_str(), stdout);
    return 0;
  }
  const auto set_up = [](const capstan::process::ProgramParts& parts) {
    website::SetUp(parts.engine);
    return capstan::Result<void>();
  };
  capstan::process::ProgramOptions options{.name = "website-operator", .set_up = set_up};
  const std::map<std::string_view, std::string*> flags = {{"--kubeconfig", &options.kubeconfig},
                                                          {"--context", &options.context},
                                                          {"--health-address", &options.health_address},
                                                          {"--metrics-address", &options.metrics_address},
                                                          {"--log-level", &options.log_level}};
  for (int i = 1; i < argc; ++i) {
    const auto flag = flags.find(argv[i]);
    if (std::string_view(argv[i]) == "--leader-elect") {
      options.leader_elect = true;
    } else if (flag != flags.end() && i + 1 < argc) {
      *flag->second = argv[++i];
    } else {
      std::fprintf(stderr, "website-operator: \"%s\" is not a flag, or lacks its value\n", argv[i]);
      return 2;
    }
  }
  return capstan::process::RunProgram(std::move(options));
}
