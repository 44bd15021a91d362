// Whatever stands in somebody's kubeconfig, in $HTTPS_PROXY or in what an exec plugin prints: reading it never
// crashes, opens no file and runs no program; what is refused is refused with a place; and nothing that was
// read can break a header, an environment or the JSON that a plugin is given.
#include "kube/config/kubeconfig.h"

#include <cstdlib>
#include <string_view>

#include "json/value.h"
#include "net/proxy.h"

using namespace capstan;  // NOLINT: a program of one function

static void Require(bool holds) {
  if (!holds) abort();
}

static void ReadConfig(const std::string& text) {
  const auto config = kube::ReadKubeconfig({{"/dir/first", text}, {"/dir/second", text}}, "");
  if (!config) {
    Require(config.error().code() == Code::kInvalid);
    Require(config.error().message().starts_with("/dir/first: ") ||
            config.error().message().starts_with("/dir/second: "));
    return;
  }
  Require(!config->ns.empty());
  Require(!config->server.proxy || config->server.scheme == net::Endpoint::Scheme::kHttps);
  Require(net::Endpoint::Parse(config->server.ToString()).has_value());
  Require(config->sources.certificate.given() == config->sources.key.given());
  for (const auto& [name, value] : config->sources.impersonation) {
    Require(name.starts_with("Impersonate-") && name.find_first_of(" :\r\n") == name.npos);
    Require(value.find_first_of("\r\n") == value.npos);
  }
  if (!config->sources.exec) return;
  for (const auto& [name, value] : config->sources.exec->env) Require(!name.empty() && name.find('=') == name.npos);
  Require(json::Parse(kube::ExecInfo(*config->sources.exec, text)).has_value());
}

static void ReadProxy(std::string_view text) {
  const auto server = net::Endpoint::Parse("https://10.96.0.1:6443");
  if (!net::ProxyFromEnvironment(*server, "proxy:3128", text)) abort();
  const auto proxy = net::Proxy::Parse(text);
  if (proxy) Require(net::Proxy::Parse((*proxy)->ToString()).has_value());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  ReadConfig(text);
  ReadProxy(text);
  const auto credential = kube::ReadExecCredential(text, kube::kExecV1);
  if (credential) Require(!credential->token.empty() || !credential->certificate_pem.empty());
  return 0;
}
