// Exec credential plugins: programs that a kubeconfig names and that say who we are
// (client.authentication.k8s.io, v1 and v1beta1).
//
// A plugin learns what is asked from the variable KUBERNETES_EXEC_INFO and answers with an ExecCredential on
// standard output. As in kubectl it has our environment, with the kubeconfig's variables on top, and is told
// whether it may talk to a person; here it never may, there is no terminal. What it says on standard error is
// not passed on (kubectl does): its last line stands in the error when the plugin fails.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace capstan::kube {

// What the plugin is told of the cluster, when the kubeconfig says provideClusterInfo.
struct ExecCluster {
  std::string server = {};
  std::string server_name = {};
  std::string proxy_url = {};
  bool disable_compression = false;
  std::string config = {};  // the cluster's own settings for the plugin, as JSON; empty: none
};

struct ExecPlugin {
  std::string field = {};        // for messages: "~/.kube/config: users[me].user.exec"
  std::string api_version = {};  // which of the two it speaks
  std::string command = {};      // a path, or a name to look for in $PATH
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::string install_hint = {};  // said when the command is not there
  std::optional<ExecCluster> cluster = {};
};

inline constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
inline constexpr std::string_view kExecV1beta1 = "client.authentication.k8s.io/v1beta1";

// What a plugin gives: a token, a client certificate with its key, or both.
struct ExecCredential {
  Secret token = {};
  std::string certificate_pem = {};
  Secret key_pem = {};
  // The plugin's expirationTimestamp, or the end of the certificate when that is earlier; absent: it is good
  // until the server refuses it.
  std::optional<Time> expires = {};
};

// The value of KUBERNETES_EXEC_INFO. `ca_pem` is the cluster's CA bundle.
std::string ExecInfo(const ExecPlugin& plugin, std::string_view ca_pem);

// What a plugin printed. kInvalid says what is wrong with it and quotes nothing of it but its apiVersion.
Result<ExecCredential> ReadExecCredential(std::string_view text, std::string_view api_version);

// The command's path, looked for in `search_path` ($PATH). kNotFound carries the install hint.
Result<std::string> FindExecPlugin(const ExecPlugin& plugin, std::string_view search_path);

// Runs the plugin; blocks, for `limit` at most. `environment` is ours, as "NAME=value"; it ends early when
// `stop_fd` can be read. Any thread. Every error is kUnauthenticated and begins with the plugin's field.
Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin, std::vector<std::string> environment,
                                     std::string_view ca_pem, Duration limit, int stop_fd);

}  // namespace capstan::kube
