// The keys by which hosts that people come to by SSH are known, as OpenSSH reads them: those of a LoginSet, and the workers
// of a NodeSet. They are made once, in a Secret <name>-ssh-host-keys that nobody owns: it outlives who asked for it, so that
// people who come back to hosts that were made anew meet those that they know.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "operator/findings.h"
#include "operator/names.h"
#include "plan/plan.h"
#include "plan/world.h"

namespace capstan::op {

inline constexpr auto kHostKeyTypes = std::to_array<std::string_view>({"rsa", "ecdsa", "ed25519"});
inline constexpr std::array<std::string_view, 6> kHostKeyFiles = {"ssh_host_rsa_key",     "ssh_host_rsa_key.pub",
                                                                  "ssh_host_ecdsa_key",   "ssh_host_ecdsa_key.pub",
                                                                  "ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"};

// The files above, in OpenSSH's own format, without a passphrase. Takes some tenths of a second of computing, for the RSA
// key. kInternal: OpenSSL cannot make one.
Result<std::map<std::string, Secret>> MakeHostKeys();

// A digest of all of them, of the hosts that `set` runs as `component`. nullopt: they are not known to be there and good. The
// findings say why, and `plan` has them made when there is no such Secret.
std::optional<std::string> FindHostKeys(const plan::World& world, const kube::Key& set, const Component& component,
                                        plan::Plan& plan, Findings& findings);

}  // namespace capstan::op
