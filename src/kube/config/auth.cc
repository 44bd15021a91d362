#include "kube/config/auth.h"

#include <openssl/crypto.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "kube/config/exec_credentials.h"
#include "net/tls_fault.h"

namespace capstan::kube {
namespace {

constexpr size_t kCredentialFileLimit = 1 << 20;

class SourceCredentials final : public net::Credentials {
 public:
  explicit SourceCredentials(CredentialSources sources) : sources_(std::move(sources)) {}

  async::Task<Result<Secret>> BearerToken(async::Loop&, async::Deadline) override { co_return Token(); }

  Result<Secret> Token() {
    if (!sources_.token.given()) return Secret();
    const Result<const Secret*> token = sources_.token.Read();
    if (!token) return Fail(Code::kUnauthenticated, token.error().message());
    const std::string_view word = Trim((*token)->Reveal());
    if (word.empty()) return Fail(Code::kUnauthenticated, sources_.token.field() + ": the token is empty");
    return Secret(std::string(word));
  }

  Result<std::shared_ptr<const net::TlsMaterial>> Tls() override {
    uint64_t seen = 0;
    net::TlsMaterial material;
    material.server_name = sources_.server_name;
    CAPSTAN_TRY(const Secret* ca, sources_.ca.Read());
    CAPSTAN_TRY(const Secret* certificate, sources_.certificate.Read());
    CAPSTAN_TRY(const Secret* key, sources_.key.Read());
    for (const Source* source : {&sources_.ca, &sources_.certificate, &sources_.key}) seen += source->generation();
    if (tls_ && seen == tls_generation_) return tls_;
    material.ca_pem = ca->Reveal();
    material.certificate_pem = certificate->Reveal();
    material.key_pem = *key;
    const Result<void> tried = TryMaterial(sources_, material);
    if (!tried && !tls_) return Fail(tried.error());
    tls_generation_ = seen;
    if (tried)
      tls_ = std::make_shared<const net::TlsMaterial>(std::move(material));
    else
      log::Warn("new TLS files cannot be used", {{"why", tried.error().message()}});
    return tls_;
  }

  net::Headers Impersonation() const override { return sources_.impersonation; }

  // Only a file that has changed since the refused request can give something new.
  bool Rejected(const Secret& refused, const net::TlsMaterial* material) override {
    const Result<Secret> token = Token();
    if (token && *token != refused) return true;
    const Result<std::shared_ptr<const net::TlsMaterial>> tls = Tls();
    return material && tls && tls->get() != material;
  }

 private:
  CredentialSources sources_;
  uint64_t tls_generation_ = 0;
  std::shared_ptr<const net::TlsMaterial> tls_;
};

}  // namespace

Source Source::Text(std::string text, std::string field) {
  Source source;
  source.text_ = Secret(std::move(text));
  source.field_ = std::move(field);
  return source;
}

Source Source::File(std::string path, std::string field) {
  Source source;
  source.path_ = std::move(path);
  source.field_ = std::move(field);
  return source;
}

std::optional<Source::Stamp> Source::StampOf(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Stamp{info.st_dev, info.st_ino, info.st_size,
               int64_t(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Result<const Secret*> Source::Read() {
  if (path_.empty()) return &text_;
  const std::optional<Stamp> stamp = StampOf(path_);
  const int error = errno;
  if (stamp && stamp == stamp_) return &text_;
  const Result<void> read = stamp ? ReadFile(*stamp) : Fail(Code::kInvalid, std::strerror(error));
  if (read || stamp_) return &text_;
  return Fail(Code::kInvalid, field_ + ": reading " + path_ + ": " + read.error().message());
}

Result<void> Source::ReadFile(Stamp stamp) {
  if (size_t(stamp.size) > kCredentialFileLimit) return Fail(Code::kInvalid, "the file is larger than 1 MiB");
  std::ifstream file(path_, std::ios::binary);
  if (!file) return Fail(Code::kInvalid, std::strerror(errno));
  std::string text(kCredentialFileLimit, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad()) return Fail(Code::kInvalid, "it cannot be read");
  Secret read(text.substr(0, size_t(file.gcount())));
  OPENSSL_cleanse(text.data(), size_t(file.gcount()));
  if (Trim(read.Reveal()).empty()) return Fail(Code::kInvalid, "the file is empty");
  stamp_ = stamp;
  if (read == text_) return {};
  if (generation_++ > 0) log::Info("credentials changed", {{"field", field_}, {"file", path_}});
  text_ = std::move(read);
  return {};
}

Result<void> TryMaterial(const CredentialSources& sources, const net::TlsMaterial& material) {
  const std::optional<net::TlsFault> fault = net::FindTlsFault(material);
  if (!fault) return {};
  const Source& source = fault->part == net::TlsPart::kCa            ? sources.ca
                         : fault->part == net::TlsPart::kCertificate ? sources.certificate
                                                                     : sources.key;
  return Fail(Code::kInvalid, source.Place() + ": " + fault->why);
}

Result<std::shared_ptr<net::Credentials>> MakeCredentials(CredentialSources sources) {
  if (sources.exec) {
    const char* const search_path = std::getenv("PATH");
    const Result<std::string> program = FindExecPlugin(*sources.exec, search_path ? search_path : "");
    if (!program) return Fail(Code::kInvalid, sources.exec->field + ".command: " + program.error().message());
    CAPSTAN_TRY(const Secret* ca, sources.ca.Read());
    CAPSTAN_CHECK_OK(TryMaterial(sources, {.ca_pem = std::string(ca->Reveal())}));
    return std::make_shared<ExecCredentials>(std::move(sources),
                                             ExecCredentials::Options{.seed = std::random_device{}()});
  }
  auto credentials = std::make_shared<SourceCredentials>(std::move(sources));
  if (const Result<Secret> token = credentials->Token(); !token) return Fail(Code::kInvalid, token.error().message());
  CAPSTAN_CHECK_OK(credentials->Tls());
  return credentials;
}

}  // namespace capstan::kube
