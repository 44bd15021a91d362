#include "kube/config/exec_plugin.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>

#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/value.h"
#include "kube/config/child_process.h"

namespace capstan::kube {
namespace {

struct Status {
  std::string expires;
  Secret token;
  std::string certificate_pem;
  Secret key_pem;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Status>({
        json::Field<&Status::expires>("expirationTimestamp"),
        json::Field<&Status::token>("token"),
        json::Field<&Status::certificate_pem>("clientCertificateData"),
        json::Field<&Status::key_pem>("clientKeyData"),
    });
    return schema;
  }
};

struct Answer {
  std::string kind;
  std::string api_version;
  std::optional<Status> status;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Answer>({
        json::Field<&Answer::kind>("kind"),
        json::Field<&Answer::api_version>("apiVersion"),
        json::Field<&Answer::status>("status"),
    });
    return schema;
  }
};

std::unexpected<Error> Wrong(std::string what) { return Fail(Code::kInvalid, std::move(what)); }

// When the first certificate in `pem` ends; nullopt when there is none.
std::optional<Time> EndOf(const std::string& pem) {
  BIO* const bio = BIO_new_mem_buf(pem.data(), int(pem.size()));
  X509* const certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  ERR_clear_error();
  std::tm end{};
  const bool known = certificate && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1;
  X509_free(certificate);
  if (!known) return std::nullopt;
  return FromUnixSeconds(timegm(&end));
}

std::string ValueOf(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return {};
}

// As Go has it: the last of two values for one name counts.
void Put(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

Result<ExecCredential> Asked(const ExecPlugin& plugin, std::vector<std::string> environment, std::string_view ca_pem,
                             Duration limit, int stop_fd) {
  CAPSTAN_TRY(std::string path, FindExecPlugin(plugin, ValueOf(environment, "PATH")));
  for (const auto& [name, value] : plugin.env) Put(environment, name, value);
  Put(environment, "KUBERNETES_EXEC_INFO", ExecInfo(plugin, ca_pem));
  const ChildProcess child{.path = std::move(path),
                           .arguments = plugin.args,
                           .environment = std::move(environment),
                           .limit = limit,
                           .stop_fd = stop_fd};
  CAPSTAN_TRY(const ChildOutput output, RunChild(child));
  if (output.status != 0) {
    return Wrong(child.path + " ended with status " + std::to_string(output.status) +
                 (output.last_line.empty() ? " and said nothing" : ": " + output.last_line));
  }
  return ReadExecCredential(output.text.Reveal(), plugin.api_version);
}

}  // namespace

std::string ExecInfo(const ExecPlugin& plugin, std::string_view ca_pem) {
  boost::json::object spec{{"interactive", false}};
  if (plugin.cluster) {
    const ExecCluster& from = *plugin.cluster;
    boost::json::object cluster{{"server", from.server}};
    if (!from.server_name.empty()) cluster["tls-server-name"] = from.server_name;
    if (!ca_pem.empty()) cluster["certificate-authority-data"] = Base64(ca_pem);
    if (!from.proxy_url.empty()) cluster["proxy-url"] = from.proxy_url;
    if (from.disable_compression) cluster["disable-compression"] = true;
    if (const auto config = json::Parse(from.config); config) cluster["config"] = *config;
    spec["cluster"] = std::move(cluster);
  }
  return json::Serialize(
      boost::json::object{{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}});
}

Result<ExecCredential> ReadExecCredential(std::string_view text, std::string_view api_version) {
  Result<Answer> answer = json::Decode<Answer>(text);
  if (!answer) return Wrong("its output is not an ExecCredential: " + answer.error().message());
  if (answer->kind != "ExecCredential") return Wrong("its output is not an ExecCredential: kind is another or missing");
  if (answer->api_version != api_version) {
    return Wrong("it answers with apiVersion " + JsonQuoted(answer->api_version) + ", where the kubeconfig says " +
                 std::string(api_version));
  }
  if (!answer->status) return Wrong("its ExecCredential has no status");
  Status& status = *answer->status;
  const bool certificate = !status.certificate_pem.empty();
  if (certificate != !status.key_pem.empty()) {
    return Wrong(std::string("its status has a ") + (certificate ? "clientCertificateData but no clientKeyData"
                                                                 : "clientKeyData but no clientCertificateData"));
  }
  if (!certificate && status.token.empty()) return Wrong("its status has neither a token nor a client certificate");

  ExecCredential credential;
  if (!status.expires.empty()) {
    credential.expires = ParseRfc3339(status.expires);
    if (!credential.expires) return Wrong("status.expirationTimestamp is not a time such as 2006-01-02T15:04:05Z");
  }
  if (certificate) {
    const std::optional<Time> end = EndOf(status.certificate_pem);
    if (!end) return Wrong("status.clientCertificateData is not a certificate in PEM form");
    credential.expires = std::min(credential.expires.value_or(*end), *end);
  }
  credential.token = std::move(status.token);
  credential.certificate_pem = std::move(status.certificate_pem);
  credential.key_pem = std::move(status.key_pem);
  return credential;
}

Result<std::string> FindExecPlugin(const ExecPlugin& plugin, std::string_view search_path) {
  Result<std::string> path = FindProgram(plugin.command, search_path);
  if (path || plugin.install_hint.empty()) return path;
  return Fail(path.error().code(), path.error().message() + ". " + plugin.install_hint);
}

Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin, std::vector<std::string> environment,
                                     std::string_view ca_pem, Duration limit, int stop_fd) {
  Result<ExecCredential> credential = Asked(plugin, std::move(environment), ca_pem, limit, stop_fd);
  if (credential) return credential;
  return Fail(Code::kUnauthenticated, plugin.field + ": " + credential.error().message());
}

}  // namespace capstan::kube
