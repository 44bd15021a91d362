#include "operator/ssh_files.h"

#include "base/hash.h"
#include "base/secret.h"
#include "base/text.h"
#include "kube/client.h"
#include "operator/host_keys.h"
#include "operator/keys.h"
#include "operator/questions.h"
#include "plan/objects/secrets.h"
#include "plan/services.h"

namespace capstan::op {
namespace {

using Fetched = plan::Question::Fetched;

constexpr std::string_view kOpenSsh = "OPENSSH ";
constexpr std::string_view kMagic("openssh-key-v1\0\0\0\0\4none", 23);  // that is: no cipher

std::optional<Fetched> Told(std::string text) {
  const uint64_t digest = Fnv64(text);
  return Fetched{std::make_shared<const std::string>(std::move(text)), digest};
}

// What OpenSSH calls keys of that sort, as far as all of them are called so.
std::string_view TypeNamed(std::string_view type) {
  if (type == "rsa") return "ssh-rsa";
  return type == "ecdsa" ? "ecdsa-sha2-nistp" : "ssh-ed25519";
}

}  // namespace

std::string WrongWithSssdConf(std::string_view text) {
  bool in_section = false;
  size_t number = 0;
  for (std::string_view line : Split(text, '\n')) {
    const std::string where = "line " + std::to_string(++number);
    const bool continues = line.starts_with(' ') || line.starts_with('\t');
    line = Trim(line);
    if (line.find('\0') != line.npos) return "has a NUL byte in " + where;
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      if (!line.ends_with(']') || line.size() < 3)
        return "has a section in " + where + " whose name is not closed by ]";
      in_section = true;
      continue;
    }
    if (!in_section) return "has in " + where + " something before the first section, such as [sssd]";
    if (!continues && (line.find('=') == line.npos || line[0] == '='))
      return "has in " + where + " neither a section, nor a setting (name = value), nor a comment";
  }
  return in_section ? "" : "has no section, such as [sssd]";
}

std::string WrongWithHostKey(std::string_view type, std::string_view hidden, std::string_view open) {
  const std::string file = "ssh_host_" + std::string(type) + "_key";
  const std::vector<std::string_view> words = Words(Trim(open));
  const auto blob = words.size() < 2 ? std::nullopt : FromBase64(words[1]);
  if (!blob || !words[0].starts_with(TypeNamed(type)))
    return "has in \"" + file + ".pub\" no public key of type " + std::string(TypeNamed(type));
  constexpr std::string_view kBegin = "-----BEGIN ", kKey = "PRIVATE KEY-----", kEnd = "-----END ";
  hidden = Trim(hidden);
  const size_t key = hidden.find(kKey), end = hidden.rfind(kEnd);
  if (!hidden.starts_with(kBegin) || key == hidden.npos || end == hidden.npos || end < key)
    return "has in \"" + file + "\" no private key (-----BEGIN ... PRIVATE KEY-----)";
  const std::string_view form = hidden.substr(kBegin.size(), key - kBegin.size());
  const std::string_view body = hidden.substr(key + kKey.size(), end - key - kKey.size());
  std::string locked = "has in \"" + file + "\" a private key with a passphrase, which sshd cannot ask anybody for";
  if (form != kOpenSsh) return form.contains("ENCRYPTED") || body.contains("ENCRYPTED") ? locked : "";
  const auto bytes = FromBase64(body);
  if (!bytes || !bytes->starts_with(kMagic.substr(0, 15)))
    return "has in \"" + file + "\" a private key that is cut off, or changed on its way";
  if (!bytes->starts_with(kMagic)) return locked;
  if (!bytes->contains(*blob)) return "has in \"" + file + ".pub\" not the public key of \"" + file + "\"";
  return "";
}

async::Task<Result<std::optional<Fetched>>> SssdFile::Fetch(plan::Services& services, async::Deadline deadline) const {
  const auto text = co_await plan::ReadSecretKey(services.client, secret, file, deadline);
  if (text) co_return Told(WrongWithSssdConf(text->Reveal()));
  if (text.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  co_return Fail(text.error());
}

async::Task<Result<std::optional<Fetched>>> SssdDigest::Fetch(plan::Services& services,
                                                              async::Deadline deadline) const {
  const auto key = co_await plan::ReadSecretKey(services.client, {ns, salt.name}, salt.key, deadline);
  const auto text = key ? co_await plan::ReadSecretKey(services.client, {ns, conf.name}, conf.key, deadline) : key;
  if (text) co_return Told(Hex(HmacSha256(key->Reveal(), text->Reveal())));
  if (text.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  co_return Fail(text.error());
}

async::Task<Result<std::optional<Fetched>>> HostKeyFiles::Fetch(plan::Services& services,
                                                                async::Deadline deadline) const {
  const auto object = co_await services.client.Get<plan::SecretObject>(kube::kSecrets, secret, {}, deadline);
  if (!object && object.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!object) co_return Fail(object.error());
  for (const std::string_view type : kHostKeyTypes) {
    const std::string file = "ssh_host_" + std::string(type) + "_key";
    const std::optional<Secret> hidden = object->Value(file), open = object->Value(file + ".pub");
    std::string wrong;
    if (!hidden || !open)
      wrong = "has no key \"" + file + (hidden ? ".pub" : "") + "\"";
    else
      wrong = WrongWithHostKey(type, hidden->Reveal(), open->Reveal());
    if (!wrong.empty()) co_return Told(std::move(wrong));
  }
  co_return Told("");
}

bool IsAnswered(const plan::Answer<std::string>& answer, std::string_view about, Findings& findings) {
  if (answer.value != nullptr) return true;
  findings.Wait("ReadingReferences", std::string(about) + (answer.error.empty() ? " is being looked at"
                                                                                : " cannot be read: " + answer.error));
  return false;
}

bool IsGood(const plan::Answer<std::string>& wrong, const kube::Key& secret, std::string_view named,
            Findings& findings) {
  const std::string whose = "Secret " + secret.ToString() + std::string(named);
  if (!IsAnswered(wrong, whose, findings)) return false;
  if (!wrong.value->empty()) findings.Problem("ReferenceInvalid", whose + " " + *wrong.value);
  return wrong.value->empty();
}

bool FindSssdConf(const plan::World& world, std::string_view ns, const api::SecretKeySelector& ref,
                  std::string_view field, Findings& findings) {
  const FoundKey found = FindKey(world, ns, &ref, field);
  if (found.state == FoundKey::State::kUnknown) findings.Wait("ReadingReferences", found.message);
  if (found.state == FoundKey::State::kAbsent || found.state == FoundKey::State::kWrong)
    findings.Problem("ReferenceMissing", found.message);
  if (!found.known()) return false;
  const kube::Key secret{std::string(ns), ref.name};
  const std::string named = ", named in " + std::string(field) + ",";
  return IsGood(world.Ask(SssdFile(secret, ref.key), kReferenceAge), secret, named, findings);
}

}  // namespace capstan::op
