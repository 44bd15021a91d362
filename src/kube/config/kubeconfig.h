// What kubeconfig files say about one context. Only text is read here; no file is opened and no program is
// run: config.h does that.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/config/auth.h"
#include "net/client.h"

namespace capstan::kube {

struct KubeconfigFile {
  std::string path = {};  // for messages, and for paths in the file, which are relative to its folder
  std::string text = {};
};

struct Kubeconfig {
  net::Endpoint server = {};       // with its proxy-url
  CredentialSources sources = {};  // none of them read yet
  std::string ns = {};             // "default" when none is named
  std::string source = {};         // "context demo of ~/.kube/config"
};

// The context called `context`; empty: the first current-context in the files. Several files are one as in
// kubectl: of two entries with one name the one in the earlier file counts, all of it.
//
// Fields that are not known are passed over; disable-compression has no effect, nothing is ever compressed.
// Refused by name, because leaving them out would mean to be somebody
// else than was asked for, or to believe whoever answers: insecure-skip-tls-verify, username and password,
// auth-provider, exec plugins that need a terminal (interactiveMode: Always), an http:// server with a
// proxy-url, socks5:// proxies.
//
// As in kubectl, a token or a client certificate beside `exec` means that the plugin is not run; data counts
// before the file of the same name; `as-uid`, `as-groups` and `as-user-extra` need `as`; two entries of one
// name in one file are a mistake. Unlike kubectl: when there are tokenFile and token the file must be readable
// (kubectl falls back to token); a context must be named, and its user, when it names one, must have a `user`.
//
// kInvalid names file and field: `~/.kube/config: users[admin].user.client-key-data: not base64`. It never
// quotes what may be secret.
Result<Kubeconfig> ReadKubeconfig(const std::vector<KubeconfigFile>& files, std::string_view context);

}  // namespace capstan::kube
