// `capstan render`: what the operator would make of files of custom resources.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace capstan::cli {

struct RenderFlags {
  std::vector<std::string> files;
  std::string ns = "default";
  bool diff = false;
  std::string output = "yaml";
  std::string kubeconfig;
  std::string context;
  std::string image_prefix = "capstan";
  std::string image_tag = "26.05";
  std::string cluster_domain = "cluster.local";
};

void AddRenderFlags(CLI::App& command, RenderFlags& flags);

// The exit status, as the help says.
int RunRender(const RenderFlags& flags);

}  // namespace capstan::cli
