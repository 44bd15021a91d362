#include "operator/render/ssh.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "operator/host_keys.h"
#include "operator/render/parts.h"

namespace capstan::op::render {
namespace {

constexpr int kOwnerOnly = 0600;
constexpr int kEverybodyReads = 0644;

// MaxAuthTries is as many keys as an agent offers. With passwords allowed, LoginGraceTime must do for typing one.
constexpr std::string_view kLimits = "LoginGraceTime 60\nMaxAuthTries 6\nMaxStartups 50:30:200\n";

// The values of a line of this option, nullopt for any other line. sshd takes a name in quotes, and "=" after it.
std::optional<std::string_view> ValuesOf(std::string_view option, std::string_view line) {
  line = Trim(line);
  if (line.starts_with('"')) line.remove_prefix(1);
  const bool is_it = line.size() > option.size() && EqualsIgnoreCase(line.substr(0, option.size()), option) &&
                     std::string_view(" \t=\"").contains(line[option.size()]);
  return is_it ? std::optional(line.substr(option.size())) : std::nullopt;
}

// Whether the first line of this option, which is the one that counts, has `word` in it.
bool Names(std::string_view text, std::string_view option, std::string_view word) {
  for (const std::string_view line : Split(text, '\n')) {
    if (const auto values = ValuesOf(option, line)) return ToLower(values->substr(0, values->find('#'))).contains(word);
  }
  return false;
}

// Where the first Match block begins: what stands after it holds for whom it matches only.
size_t FirstMatch(std::string_view text) {
  size_t at = 0;
  for (const std::string_view line : Split(text, '\n')) {
    if (ValuesOf("Match", line)) return at;
    at += line.size() + 1;
  }
  return text.size();
}

}  // namespace

std::string SshdConfig(std::string_view own, std::string_view extra, bool sees_callers) {
  const size_t match = FirstMatch(extra);
  const std::string_view of_all = extra.substr(0, match);
  std::string text = "#\n### GENERAL ###\nInclude /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n";
  text.append(own).append("#\n### EXTRA CONFIG ###\n").append(of_all);
  // The image has these files, as another one's sshd may not know their options; where there is none, sshd passes that over.
  text.append("\n#\n### DEFAULTS ###\n");
  constexpr std::string_view kMethods = "AuthenticationMethods";
  if (!Names(of_all, kMethods, "password")) text.append("PasswordAuthentication no\n");
  if (!Names(of_all, kMethods, "keyboard-interactive")) text.append("KbdInteractiveAuthentication no\n");
  text.append(kLimits).append("Include /etc/ssh/capstan/");
  text.append(sees_callers ? "penalties.conf\n" : "no-penalties.conf\n");
  if (match < extra.size())
    text.append("#\n### EXTRA CONFIG, CONTINUED ###\n").append(extra.substr(match)).append("\n");
  return text;
}

Result<bool> ReadsFilesLive(const json::ObjectMeta& metadata, const json::Raw& container, std::string_view where,
                            const Component& component, const Settings& settings) {
  CAPSTAN_TRY(const Json parsed, json::ParseObject(container, where));
  const std::string_view image = json::FindText(parsed, {"image"});
  const auto begins = [&](const std::string& prefix) {
    return !prefix.empty() && image.starts_with(prefix + "/" + std::string(component.app));
  };
  return image.empty() || begins(settings.image_prefix) ||
         begins(metadata.Annotation(std::string(kAnnotationImagePrefix)));
}

JsonObject HostKeysVolume(std::string_view secret) {
  JsonArray items;
  for (const std::string_view file : kHostKeyFiles) {
    const int mode = file.ends_with(".pub") ? kEverybodyReads : kOwnerOnly;
    items.push_back(JsonObject{{"key", file}, {"path", file}, {"mode", mode}});
  }
  JsonObject source{{"name", secret}, {"items", std::move(items)}};
  return ProjectedVolume("ssh-host-keys", kOwnerOnly, JsonArray{JsonObject{{"secret", std::move(source)}}});
}

JsonObject SshConfigVolume(std::string_view config_map, std::initializer_list<std::string_view> files) {
  JsonArray sources;
  for (const std::string_view file : files) sources.push_back(ConfigMapFile(config_map, file, file));
  return ProjectedVolume("ssh-config", kOwnerOnly, std::move(sources));
}

JsonObject SssdVolume(const api::SecretKeySelector& conf) {
  return ProjectedVolume("sssd-conf", kOwnerOnly, JsonArray{SecretFile(conf.name, conf.key, "sssd.conf")});
}

void AddLiveMounts(JsonArray& mounts) {
  mounts.push_back(Mount("ssh-host-keys", "/mnt/ssh-host-keys", true));
  mounts.push_back(Mount("ssh-config", "/mnt/ssh-config", true));
  mounts.push_back(Mount("sssd-conf", "/mnt/sssd-conf", true));
}

}  // namespace capstan::op::render
