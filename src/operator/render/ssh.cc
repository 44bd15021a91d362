#include "operator/render/ssh.h"

#include "operator/host_keys.h"
#include "operator/render/parts.h"

namespace capstan::op::render {
namespace {

constexpr int kOwnerOnly = 0600;
constexpr int kEverybodyReads = 0644;

}  // namespace

Result<bool> ReadsFilesLive(const json::Raw& container, std::string_view where, const Component& component,
                            const Settings& settings) {
  CAPSTAN_TRY(const Json parsed, json::ParseObject(container, where));
  const std::string_view image = json::FindText(parsed, {"image"});
  return image.empty() || image.starts_with(settings.image_prefix + "/" + std::string(component.app));
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
