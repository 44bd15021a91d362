#include "kube/config.h"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/hash.h"
#include "base/text.h"
#include "kube/auth.h"

namespace capstan::kube {
namespace {

constexpr std::streamsize kFileLimit = 8 << 20;

std::unexpected<Error> Wrong(const std::string& file, const std::string& field, std::string_view what) {
  return Fail(Code::kInvalid, file + ": " + (field.empty() ? "" : field + ": ") + std::string(what));
}

// One of a file's maps, and how to name its fields.
struct Section {
  YAML::Node node;
  std::string file;
  std::string field;  // "users[admin].user"

  std::string FieldOf(std::string_view name) const { return field + "." + std::string(name); }

  bool Has(const char* name) const { return node.IsMap() && node[name] && !node[name].IsNull(); }

  Result<std::string> Text(const char* name) const {
    if (!Has(name)) return std::string();
    if (!node[name].IsScalar()) return Wrong(file, FieldOf(name), "must be text");
    return node[name].Scalar();
  }

  // A path, as seen from the file's folder.
  Result<std::string> Path(const char* name) const {
    CAPSTAN_TRY(std::string path, Text(name));
    if (path.empty() || path.starts_with('/')) return path;
    return file.substr(0, file.rfind('/') + 1) + path;
  }
};

// What the files say together.
class Files {
 public:
  Result<void> Load(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return Fail(Code::kInvalid, path + ": " + std::strerror(errno));
    std::string text(kFileLimit, '\0');
    stream.read(text.data(), kFileLimit);
    if (stream.bad()) return Fail(Code::kInvalid, path + ": it cannot be read");
    if (stream.gcount() == kFileLimit) return Fail(Code::kInvalid, path + ": the file is larger than 8 MiB");
    text.resize(size_t(stream.gcount()));
    try {
      return Add(path, YAML::Load(text));
    } catch (const YAML::Exception& error) {
      return Fail(Code::kInvalid, path + ": not YAML: line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
    }
  }

  bool empty() const { return roots_.empty(); }
  const std::string& current_context() const { return current_context_; }
  const std::string& first_file() const { return roots_.front().file; }

  // The map `inner` of the entry of that name in the list `list`; the first file that has one counts.
  Result<Section> Find(const char* list, const char* inner, const std::string& name) const {
    for (const Section& root : roots_) {
      if (!root.Has(list)) continue;
      if (!root.node[list].IsSequence()) return Wrong(root.file, list, "must be a list");
      for (const YAML::Node& entry : root.node[list]) {
        if (!entry.IsMap() || !entry["name"] || !entry["name"].IsScalar() || entry["name"].Scalar() != name) continue;
        const std::string field = std::string(list) + "[" + name + "]." + inner;
        if (!entry[inner] || !entry[inner].IsMap()) return Wrong(root.file, field, "is missing");
        return Section{entry[inner], root.file, field};
      }
    }
    return Wrong(first_file(), list, "has no entry named \"" + name + "\"");
  }

 private:
  Result<void> Add(const std::string& path, const YAML::Node& root) {
    if (root.IsNull()) return {};  // an empty file is an empty configuration
    if (!root.IsMap()) return Wrong(path, "", "is not a kubeconfig: must be a map");
    roots_.push_back({root, path, ""});
    if (!current_context_.empty() || !roots_.back().Has("current-context")) return {};
    if (!root["current-context"].IsScalar()) return Wrong(path, "current-context", "must be text");
    current_context_ = root["current-context"].Scalar();
    return {};
  }

  std::vector<Section> roots_;
  std::string current_context_;
};

// `name` as a path, or `name`-data as base64; the data count when both are there.
Result<Source> FileOrData(const Section& section, const char* name) {
  const std::string data_name = std::string(name) + "-data";
  CAPSTAN_TRY(const std::string data, section.Text(data_name.c_str()));
  if (!data.empty()) {
    std::optional<std::string> bytes = FromBase64(data);
    if (!bytes) return Wrong(section.file, section.FieldOf(data_name), "not base64");
    return Source::Text(*std::move(bytes), section.file + ": " + section.FieldOf(data_name));
  }
  CAPSTAN_TRY(std::string path, section.Path(name));
  if (path.empty()) return Source();
  return Source::File(std::move(path), section.file + ": " + section.FieldOf(name));
}

// What we cannot do is refused by name: leaving it out quietly would mean to be somebody else than was asked
// for.
Result<void> RefuseUnsupported(const Section& section,
                               std::initializer_list<std::pair<const char*, const char*>> fields) {
  for (const auto& [name, why] : fields) {
    if (section.Has(name)) return Wrong(section.file, section.FieldOf(name), why);
  }
  return {};
}

Result<void> ReadCluster(const Section& cluster, Config& config, CredentialSources& sources) {
  CAPSTAN_CHECK_OK(RefuseUnsupported(cluster, {{"proxy-url", "proxies are not supported yet"}}));
  CAPSTAN_TRY(const std::string insecure, cluster.Text("insecure-skip-tls-verify"));
  if (insecure == "true") {
    return Wrong(cluster.file, cluster.FieldOf("insecure-skip-tls-verify"),
                 "the server's certificate is always checked; give certificate-authority instead");
  }
  CAPSTAN_TRY(const std::string server, cluster.Text("server"));
  if (server.empty()) return Wrong(cluster.file, cluster.FieldOf("server"), "is missing");
  Result<net::Endpoint> endpoint = net::Endpoint::Parse(server);
  if (!endpoint) return Wrong(cluster.file, cluster.FieldOf("server"), endpoint.error().message());
  config.server = *std::move(endpoint);
  CAPSTAN_TRY(sources.ca, FileOrData(cluster, "certificate-authority"));
  CAPSTAN_TRY(sources.server_name, cluster.Text("tls-server-name"));
  return {};
}

Result<void> ReadUser(const Section& user, CredentialSources& sources) {
  CAPSTAN_CHECK_OK(
      RefuseUnsupported(user, {{"exec", "exec plugins are not supported yet; give a token or a client certificate"},
                               {"auth-provider", "is no longer supported by Kubernetes itself"},
                               {"username", "passwords are not supported by Kubernetes since 1.19"},
                               {"password", "passwords are not supported by Kubernetes since 1.19"},
                               {"as", "impersonation is not supported yet"}}));
  CAPSTAN_TRY(sources.certificate, FileOrData(user, "client-certificate"));
  CAPSTAN_TRY(sources.key, FileOrData(user, "client-key"));
  if (sources.certificate.given() != sources.key.given()) {
    const char* const missing = sources.key.given() ? "client-certificate" : "client-key";
    return Wrong(user.file, user.FieldOf(missing), "is missing, but its counterpart is given");
  }
  CAPSTAN_TRY(std::string token_file, user.Path("tokenFile"));
  CAPSTAN_TRY(std::string token, user.Text("token"));
  if (!token_file.empty()) {
    sources.token = Source::File(std::move(token_file), user.file + ": " + user.FieldOf("tokenFile"));
  } else if (!token.empty()) {
    sources.token = Source::Text(std::move(token), user.file + ": " + user.FieldOf("token"));
  }
  return {};
}

Result<Config> Choose(const Files& files, const std::string& context_name) {
  if (context_name.empty()) return Wrong(files.first_file(), "current-context", "is missing; say which context to use");
  CAPSTAN_TRY(const Section context, files.Find("contexts", "context", context_name));
  CAPSTAN_TRY(const std::string cluster_name, context.Text("cluster"));
  if (cluster_name.empty()) return Wrong(context.file, context.FieldOf("cluster"), "is missing");
  CAPSTAN_TRY(const std::string user_name, context.Text("user"));

  Config config;
  CredentialSources sources;
  CAPSTAN_TRY(const Section cluster, files.Find("clusters", "cluster", cluster_name));
  CAPSTAN_CHECK_OK(ReadCluster(cluster, config, sources));
  if (!user_name.empty()) {
    CAPSTAN_TRY(const Section user, files.Find("users", "user", user_name));
    CAPSTAN_CHECK_OK(ReadUser(user, sources));
  }
  CAPSTAN_TRY(config.ns, context.Text("namespace"));
  if (config.ns.empty()) config.ns = "default";
  config.source = "context " + context_name + " of " + context.file;
  CAPSTAN_TRY(config.credentials, MakeCredentials(std::move(sources)));
  return config;
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

Result<Config> ConfigFromFiles(const std::vector<std::string>& paths, std::string_view context) {
  Files files;
  for (const std::string& path : paths) CAPSTAN_CHECK_OK(files.Load(path));
  if (files.empty()) return Fail(Code::kInvalid, Join(paths, ", ") + ": the file is empty");
  try {
    return Choose(files, context.empty() ? files.current_context() : std::string(context));
  } catch (const YAML::Exception& error) {
    return Fail(Code::kInvalid, Join(paths, ", ") + ": " + error.what());
  }
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
    if (!path.empty() && Exists(std::string(path))) paths.emplace_back(path);
  }
  if (!paths.empty()) return ConfigFromFiles(paths, options.context);

  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  if (!host.empty() && options.context.empty())
    return ConfigFromServiceAccount(host, Environment("KUBERNETES_SERVICE_PORT"));

  const std::string own = Environment("HOME") + "/.kube/config";
  if (Exists(own)) return ConfigFromFiles({own}, options.context);
  return Fail(Code::kNotFound, "no Kubernetes configuration: no file in $KUBECONFIG (\"" + listed +
                                   "\"), no service account ($KUBERNETES_SERVICE_HOST is not set), and no " + own);
}

}  // namespace capstan::kube
