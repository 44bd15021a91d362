#include "kube/auth.h"

#include <openssl/crypto.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace capstan::kube {
namespace {

constexpr size_t kFileLimit = 1 << 20;

class SourceCredentials final : public net::Credentials {
 public:
  explicit SourceCredentials(CredentialSources sources) : sources_(std::move(sources)) {}

  async::Task<Result<Secret>> BearerToken(async::Deadline) override { co_return Token(); }

  Result<Secret> Token() {
    if (!sources_.token.given()) return Secret();
    const Result<const Secret*> token = sources_.token.Read();
    if (!token) return Fail(Code::kUnauthenticated, token.error().message());
    sent_ = sources_.token.generation();
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
    tls_generation_ = seen;
    tls_ = std::make_shared<const net::TlsMaterial>(std::move(material));
    return tls_;
  }

  // Only a file that has changed since the refused request can give something new.
  bool Rejected() override {
    if (!sources_.token.given() || !sources_.token.Read()) return false;
    return sources_.token.generation() != sent_;
  }

 private:
  CredentialSources sources_;
  uint64_t sent_ = 0;  // the generation of the token that was last handed out
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
  if (size_t(stamp.size) > kFileLimit) return Fail(Code::kInvalid, "the file is larger than 1 MiB");
  std::ifstream file(path_, std::ios::binary);
  if (!file) return Fail(Code::kInvalid, std::strerror(errno));
  std::string text(kFileLimit, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad()) return Fail(Code::kInvalid, "it cannot be read");
  Secret read(text.substr(0, size_t(file.gcount())));
  OPENSSL_cleanse(text.data(), size_t(file.gcount()));
  stamp_ = stamp;
  if (read == text_) return {};
  if (generation_++ > 0) log::Info("credentials changed", {{"field", field_}, {"file", path_}});
  text_ = std::move(read);
  return {};
}

Result<std::shared_ptr<net::Credentials>> MakeCredentials(CredentialSources sources) {
  auto credentials = std::make_shared<SourceCredentials>(std::move(sources));
  if (const Result<Secret> token = credentials->Token(); !token) return Fail(Code::kInvalid, token.error().message());
  CAPSTAN_CHECK_OK(credentials->Tls());
  return credentials;
}

}  // namespace capstan::kube
