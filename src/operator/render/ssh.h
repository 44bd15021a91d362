// Pieces of pods that people come into by SSH: logins, and workers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "api/common.h"
#include "base/result.h"
#include "json/types.h"
#include "operator/names.h"
#include "operator/render/json.h"
#include "operator/settings.h"

namespace capstan::op::render {

// The image of `container`, the user's at `where` in an object with `metadata`, is Capstan's of this component by its prefix
// (the operator's, or that of kAnnotationImagePrefix), or made from one under its name, or none is named: its entrypoint reads
// files that change while it runs. In any other image the files lie where the daemons read them. kInvalid: it is no object.
Result<bool> ReadsFilesLive(const json::ObjectMeta& metadata, const json::Raw& container, std::string_view where,
                            const Component& component, const Settings& settings);

// sshd_config. sshd takes the first value that it reads for an option: those of the image's sshd_config.d, of `own` (lines) and
// of the user's `extra` go before the defaults, by which people come in by key alone and strangers are held to what a login on
// the Internet bears. What `extra` names in AuthenticationMethods is not refused: sshd would not start. `sees_callers`: an address is a caller's own, so that who fails too often may be shut out by it.
std::string SshdConfig(std::string_view own, std::string_view extra, bool sees_callers);

// --- Volumes: ssh-host-keys, ssh-config, sssd-conf -------------------------------------------------------------------
JsonObject HostKeysVolume(std::string_view secret);
JsonObject SshConfigVolume(std::string_view config_map, std::initializer_list<std::string_view> files);
JsonObject SssdVolume(const api::SecretKeySelector& conf);

// Where an image that reads them live looks for all three.
void AddLiveMounts(JsonArray& mounts);

}  // namespace capstan::op::render
