#include "kube/config/kubeconfig.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/text.h"
#include "json/value.h"
#include "kube/config/yaml_section.h"
#include "net/proxy.h"

namespace capstan::kube {
namespace {

// What the files say together.
class Files {
 public:
  Result<void> Add(const KubeconfigFile& file) {
    const YAML::Node root = YAML::Load(file.text);
    if (root.IsNull()) return {};  // an empty file is an empty configuration
    if (!root.IsMap()) return Fail(Code::kInvalid, file.path + ": is not a kubeconfig: must be a map");
    roots_.push_back({root, file.path, ""});
    if (!current_context_.empty()) return {};
    CAPSTAN_TRY(current_context_, roots_.back().Text("current-context"));
    return {};
  }

  bool empty() const { return roots_.empty(); }
  const std::string& current_context() const { return current_context_; }
  const Section& first() const { return roots_.front(); }

  // The map `inner` of the entry of that name in the list `list`; the first file that has one counts.
  Result<Section> Find(const char* list, const char* inner, const std::string& name) const {
    for (const Section& root : roots_) {
      CAPSTAN_TRY(const std::vector<Section> entries, root.Entries(list));
      std::optional<Section> found;
      for (const Section& entry : entries) {
        if (entry.Text("name").value_or("") != name) continue;
        const Section named{entry.node, entry.file, std::string(list) + "[" + name + "]"};
        if (found) return named.Wrong("", "is there twice in this file");
        CAPSTAN_TRY(found, named.Map(inner));
      }
      if (found) return *found;
    }
    return first().Wrong(list, "has no entry named \"" + name + "\"");
  }

 private:
  std::vector<Section> roots_;
  std::string current_context_;
};

// `name` as a path, or `name`-data as base64; the data count when both are there.
Result<Source> FileOrData(const Section& section, const char* name) {
  const std::string data_name = std::string(name) + "-data";
  CAPSTAN_TRY(const std::string data, section.Text(data_name.c_str()));
  if (!data.empty()) {
    std::optional<std::string> bytes = FromBase64(data);
    if (!bytes) return section.Wrong(data_name, "not base64");
    return Source::Text(*std::move(bytes), section.Place(data_name));
  }
  CAPSTAN_TRY(std::string path, section.Path(name));
  if (path.empty()) return Source();
  return Source::File(std::move(path), section.Place(name));
}

// --- Cluster --------------------------------------------------------------------------------------------

Result<void> ReadServer(const Section& cluster, net::Endpoint& server) {
  CAPSTAN_TRY(const std::string url, cluster.Text("server"));
  if (url.empty()) return cluster.Wrong("server", "is missing");
  Result<net::Endpoint> endpoint = net::Endpoint::Parse(url);
  if (!endpoint) return cluster.Wrong("server", endpoint.error().message());
  server = *std::move(endpoint);

  CAPSTAN_TRY(const std::string proxy_url, cluster.Text("proxy-url"));
  if (proxy_url.empty()) return {};
  if (server.scheme != net::Endpoint::Scheme::kHttps)
    return cluster.Wrong("proxy-url", "a proxy is used for https:// servers only");
  Result<std::shared_ptr<const net::Proxy>> proxy = net::Proxy::Parse(proxy_url);
  if (!proxy) return cluster.Wrong("proxy-url", proxy.error().message());
  server.proxy = *std::move(proxy);
  return {};
}

Result<void> ReadCluster(const Section& cluster, Kubeconfig& config) {
  CAPSTAN_TRY(const bool insecure, cluster.Flag("insecure-skip-tls-verify"));
  if (insecure) {
    return cluster.Wrong("insecure-skip-tls-verify",
                         "the server's certificate is always checked; give certificate-authority instead");
  }
  CAPSTAN_CHECK_OK(ReadServer(cluster, config.server));
  CAPSTAN_TRY(config.sources.ca, FileOrData(cluster, "certificate-authority"));
  CAPSTAN_TRY(config.sources.server_name, cluster.Text("tls-server-name"));
  const auto is_control = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  const std::string& name = config.sources.server_name;
  if (name.starts_with('.') || std::ranges::any_of(name, is_control)) {
    return cluster.Wrong("tls-server-name", "must be a host name or an address");
  }
  return {};
}

// What an exec plugin is told of the cluster.
Result<ExecCluster> ReadExecCluster(const Section& cluster) {
  ExecCluster told;
  CAPSTAN_TRY(told.server, cluster.Text("server"));
  CAPSTAN_TRY(told.server_name, cluster.Text("tls-server-name"));
  CAPSTAN_TRY(told.proxy_url, cluster.Text("proxy-url"));
  CAPSTAN_TRY(told.disable_compression, cluster.Flag("disable-compression"));
  CAPSTAN_TRY(const std::vector<Section> extensions, cluster.Entries("extensions"));
  for (const Section& extension : extensions) {
    if (extension.Text("name").value_or("") != "client.authentication.k8s.io/exec") continue;
    CAPSTAN_TRY(told.config, extension.Json("extension"));
  }
  return told;
}

// --- User -----------------------------------------------------------------------------------------------

std::string InsteadOf(const std::string& provider) {
  if (provider == "gcp") return "; use the exec plugin gke-gcloud-auth-plugin";
  if (provider == "azure") return "; use the exec plugin kubelogin";
  if (provider == "oidc") return "; use an exec plugin for OpenID Connect";
  return "; use an exec plugin";
}

Result<void> RefuseUnsupported(const Section& user) {
  if (user.Has("auth-provider")) {
    CAPSTAN_TRY(const Section provider, user.Map("auth-provider"));
    CAPSTAN_TRY(const std::string name, provider.Text("name"));
    return user.Wrong("auth-provider", "the auth-provider \"" + name + "\" is not supported" + InsteadOf(name));
  }
  for (const char* const field : {"username", "password"}) {
    CAPSTAN_TRY(const std::string text, user.Text(field));
    if (!text.empty())
      return user.Wrong(field, "passwords are not supported by Kubernetes since 1.19; use a token or a certificate");
  }
  return {};
}

Result<std::string> ReadApiVersion(const Section& exec) {
  CAPSTAN_TRY(std::string version, exec.Text("apiVersion"));
  if (version == kExecV1 || version == kExecV1beta1) return version;
  return exec.Wrong("apiVersion", "must be " + std::string(kExecV1) + " or " + std::string(kExecV1beta1));
}

// There is no terminal here: Never and IfAvailable come to the same.
Result<void> CheckInteractiveMode(const Section& exec, std::string_view api_version) {
  CAPSTAN_TRY(const std::string mode, exec.Text("interactiveMode"));
  if (mode == "Never" || mode == "IfAvailable") return {};
  if (mode.empty() && api_version == kExecV1beta1) return {};
  if (mode == "Always")
    return exec.Wrong("interactiveMode", "is Always, and there is no terminal; use a plugin that works without one");
  return exec.Wrong("interactiveMode", "must be Never or IfAvailable");
}

Result<ExecPlugin> ReadExec(const Section& exec, const Section& cluster) {
  ExecPlugin plugin;
  plugin.field = exec.file + ": " + exec.field;
  CAPSTAN_TRY(plugin.api_version, ReadApiVersion(exec));
  CAPSTAN_CHECK_OK(CheckInteractiveMode(exec, plugin.api_version));
  CAPSTAN_TRY(plugin.command, exec.Text("command"));
  if (plugin.command.empty()) return exec.Wrong("command", "is missing");
  if (plugin.command.find('/') != plugin.command.npos) {
    CAPSTAN_TRY(plugin.command, exec.Path("command"));
  }
  CAPSTAN_TRY(plugin.args, exec.Texts("args"));
  CAPSTAN_TRY(const std::vector<Section> variables, exec.Entries("env"));
  for (const Section& variable : variables) {
    CAPSTAN_TRY(std::string name, variable.Text("name"));
    CAPSTAN_TRY(std::string value, variable.Text("value"));
    if (name.empty() || name.find('=') != name.npos)
      return exec.Wrong("env", "every variable needs a name without '='");
    plugin.env.emplace_back(std::move(name), std::move(value));
  }
  CAPSTAN_TRY(plugin.install_hint, exec.Text("installHint"));
  CAPSTAN_TRY(const bool told, exec.Flag("provideClusterInfo"));
  if (told) {
    CAPSTAN_TRY(plugin.cluster, ReadExecCluster(cluster));
  }
  return plugin;
}

// Besides letters and digits; the rest of a header's name goes percent-encoded, and the server decodes it.
constexpr std::string_view kPlainInHeaderName = "!#$&'*+-.^_`|~";

Result<void> AddHeader(const Section& user, const char* field, std::string name, std::string value,
                       net::Headers& headers) {
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != value.npos)
    return user.Wrong(field, "must be one line each");
  headers.emplace_back(std::move(name), std::move(value));
  return {};
}

Result<net::Headers> ReadImpersonation(const Section& user) {
  net::Headers headers;
  CAPSTAN_TRY(const std::string as, user.Text("as"));
  CAPSTAN_TRY(const std::string uid, user.Text("as-uid"));
  CAPSTAN_TRY(const std::vector<std::string> groups, user.Texts("as-groups"));
  CAPSTAN_TRY(const auto extras, user.TextLists("as-user-extra"));
  if (as.empty()) {
    const char* const other = !uid.empty() ? "as-uid" : !groups.empty() ? "as-groups" : "as-user-extra";
    if (uid.empty() && groups.empty() && extras.empty()) return headers;
    return user.Wrong("as", "is missing, but " + std::string(other) + " is given");
  }
  CAPSTAN_CHECK_OK(AddHeader(user, "as", "Impersonate-User", as, headers));
  if (!uid.empty()) CAPSTAN_CHECK_OK(AddHeader(user, "as-uid", "Impersonate-Uid", uid, headers));
  for (const std::string& group : groups)
    CAPSTAN_CHECK_OK(AddHeader(user, "as-groups", "Impersonate-Group", group, headers));
  for (const auto& [key, values] : extras) {
    for (const std::string& value : values)
      CAPSTAN_CHECK_OK(AddHeader(user, "as-user-extra", "Impersonate-Extra-" + PercentEncoded(key, kPlainInHeaderName),
                                 value, headers));
  }
  return headers;
}

Result<Source> ReadToken(const Section& user) {
  CAPSTAN_TRY(std::string token_file, user.Path("tokenFile"));
  if (!token_file.empty()) return Source::File(std::move(token_file), user.Place("tokenFile"));
  CAPSTAN_TRY(std::string token, user.Text("token"));
  if (token.empty()) return Source();
  return Source::Text(std::move(token), user.Place("token"));
}

Result<void> ReadUser(const Section& user, const Section& cluster, CredentialSources& sources) {
  CAPSTAN_CHECK_OK(RefuseUnsupported(user));
  CAPSTAN_TRY(sources.certificate, FileOrData(user, "client-certificate"));
  CAPSTAN_TRY(sources.key, FileOrData(user, "client-key"));
  if (sources.certificate.given() != sources.key.given()) {
    const char* const missing = sources.key.given() ? "client-certificate" : "client-key";
    return user.Wrong(missing, "is missing, but its counterpart is given");
  }
  CAPSTAN_TRY(sources.token, ReadToken(user));
  CAPSTAN_TRY(sources.impersonation, ReadImpersonation(user));
  if (!user.Has("exec")) return {};
  CAPSTAN_TRY(const Section exec, user.Map("exec"));
  CAPSTAN_TRY(ExecPlugin plugin, ReadExec(exec, cluster));
  if (!sources.token.given() && !sources.certificate.given()) sources.exec = std::move(plugin);
  return {};
}

// --- Context --------------------------------------------------------------------------------------------

Result<Kubeconfig> Choose(const Files& files, const std::string& context_name) {
  if (context_name.empty()) return files.first().Wrong("current-context", "is missing; say which context to use");
  CAPSTAN_TRY(const Section context, files.Find("contexts", "context", context_name));
  CAPSTAN_TRY(const std::string cluster_name, context.Text("cluster"));
  if (cluster_name.empty()) return context.Wrong("cluster", "is missing");
  CAPSTAN_TRY(const std::string user_name, context.Text("user"));

  Kubeconfig config;
  CAPSTAN_TRY(const Section cluster, files.Find("clusters", "cluster", cluster_name));
  CAPSTAN_CHECK_OK(ReadCluster(cluster, config));
  if (!user_name.empty()) {
    CAPSTAN_TRY(const Section user, files.Find("users", "user", user_name));
    CAPSTAN_CHECK_OK(ReadUser(user, cluster, config.sources));
  }
  CAPSTAN_TRY(config.ns, context.Text("namespace"));
  if (config.ns.empty()) config.ns = "default";
  config.source = "context " + context_name + " of " + context.file;
  return config;
}

Result<Kubeconfig> ReadAll(const std::vector<KubeconfigFile>& files, std::string_view context) {
  Files read;
  for (const KubeconfigFile& file : files) {
    try {
      CAPSTAN_CHECK_OK(read.Add(file));
    } catch (const YAML::Exception& error) {
      return Fail(Code::kInvalid,
                  file.path + ": not YAML: line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    }
  }
  if (read.empty()) return Fail(Code::kInvalid, (files.empty() ? "" : files.front().path) + ": the file is empty");
  return Choose(read, context.empty() ? read.current_context() : std::string(context));
}

}  // namespace

Result<Kubeconfig> ReadKubeconfig(const std::vector<KubeconfigFile>& files, std::string_view context) {
  try {
    return ReadAll(files, context);
  } catch (const YAML::Exception& error) {
    return Fail(Code::kInvalid, (files.empty() ? "" : files.front().path) + ": " + error.msg);
  }
}

}  // namespace capstan::kube
