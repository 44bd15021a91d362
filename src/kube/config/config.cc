#include "kube/config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "kube/config/auth.h"
#include "kube/config/kubeconfig.h"
#include "net/proxy.h"

namespace capstan::kube {
namespace {

constexpr size_t kFileLimit = size_t{8} << 20;

Result<KubeconfigFile> ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Fail(Code::kInvalid, path + ": " + std::strerror(errno));
  KubeconfigFile file{path, {}};
  char piece[16 << 10];
  while (stream.read(piece, sizeof(piece)), stream.gcount() > 0) {
    file.text.append(piece, size_t(stream.gcount()));
    if (file.text.size() >= kFileLimit) return Fail(Code::kInvalid, path + ": the file is larger than 8 MiB");
  }
  if (stream.bad()) return Fail(Code::kInvalid, path + ": it cannot be read");
  return file;
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::string EitherOf(const char* name, const char* other) {
  const std::string value = Environment(name);
  return value.empty() ? Environment(other) : value;
}

Result<void> AddProxyOfEnvironment(net::Endpoint& server) {
  const std::string url = EitherOf("HTTPS_PROXY", "https_proxy");
  Result<std::shared_ptr<const net::Proxy>> proxy =
      net::ProxyFromEnvironment(server, url, EitherOf("NO_PROXY", "no_proxy"));
  if (!proxy) return Fail(Code::kInvalid, "$HTTPS_PROXY: " + proxy.error().message());
  server.proxy = *std::move(proxy);
  return {};
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

Result<Config> ConfigFromFiles(const std::vector<std::string>& paths, std::string_view context) {
  std::vector<KubeconfigFile> files;
  for (const std::string& path : paths) {
    CAPSTAN_TRY(KubeconfigFile file, ReadFile(path));
    files.push_back(std::move(file));
  }
  CAPSTAN_TRY(Kubeconfig read, ReadKubeconfig(files, context));
  Config config{.server = std::move(read.server), .ns = std::move(read.ns), .source = std::move(read.source)};
  if (!config.server.proxy) CAPSTAN_CHECK_OK(AddProxyOfEnvironment(config.server));
  CAPSTAN_TRY(config.credentials, MakeCredentials(std::move(read.sources)));
  return config;
}

Result<Config> ConfigFromServiceAccount(std::string_view host, std::string_view port, const std::string& folder) {
  const std::string bracketed = host.find(':') == host.npos ? std::string(host) : "[" + std::string(host) + "]";
  const std::string url = "https://" + bracketed + ":" + std::string(port);
  Result<net::Endpoint> endpoint = net::Endpoint::Parse(url);
  if (!endpoint) return Fail(Code::kInvalid, "KUBERNETES_SERVICE_HOST and _PORT: " + endpoint.error().message());

  CredentialSources sources;
  sources.token = Source::File(folder + "/token", "the service account's token");
  sources.ca = Source::File(folder + "/ca.crt", "the service account's CA");
  Source ns = Source::File(folder + "/namespace", "the service account's namespace");
  Config config;
  config.server = *std::move(endpoint);
  CAPSTAN_CHECK_OK(AddProxyOfEnvironment(config.server));
  CAPSTAN_TRY(config.credentials, MakeCredentials(std::move(sources)));
  const Result<const Secret*> name = ns.Read();
  config.ns = name ? Trim((*name)->Reveal()) : "";
  if (config.ns.empty()) config.ns = "default";
  config.source = "the pod's service account";
  return config;
}

Result<Config> LoadConfig(const ConfigOptions& options) {
  if (!options.kubeconfig.empty()) return ConfigFromFiles({options.kubeconfig}, options.context);

  const std::string listed = Environment("KUBECONFIG");
  std::vector<std::string> paths;
  for (const std::string_view path : Split(listed, ':')) {
    const bool repeated = std::ranges::find(paths, path) != paths.end();
    if (!path.empty() && !repeated && Exists(std::string(path))) paths.emplace_back(path);
  }
  if (!paths.empty()) return ConfigFromFiles(paths, options.context);
  if (!listed.empty()) return Fail(Code::kNotFound, "$KUBECONFIG is \"" + listed + "\", and there is no such file");

  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  if (!host.empty() && options.context.empty())
    return ConfigFromServiceAccount(host, Environment("KUBERNETES_SERVICE_PORT"));

  const std::string own = Environment("HOME") + "/.kube/config";
  if (Exists(own)) return ConfigFromFiles({own}, options.context);
  return Fail(Code::kNotFound,
              "no Kubernetes configuration: $KUBECONFIG is not set, no service account ($KUBERNETES_SERVICE_HOST is "
              "not set), and no " +
                  own);
}

}  // namespace capstan::kube
