// How to reach an API server, and as whom: a kubeconfig file, or what a pod is given.
//
//   auto config = kube::LoadConfig();
//   net::HttpClient http(loop, {.server = config->server, .credentials = config->credentials});
//
// What it supports, field by field, and where it differs from kubectl, stands in
//   kubeconfig.h        what is read, merged and refused
//   auth.h              tokens, certificates and CAs in files that rotate
//   exec_credentials.h  exec plugins: when they run, how long their answer is kept
//   net/proxy.h         proxies: proxy-url, else $HTTPS_PROXY and $NO_PROXY as Go programs read them
//
// Environment and kubeconfig are read once; the files that the kubeconfig names are followed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/client.h"
#include "net/credentials.h"

namespace capstan::kube {

struct Config {
  net::Endpoint server = {};  // with the proxy on the way to it
  std::shared_ptr<net::Credentials> credentials = {};
  std::string ns = {};      // the context's or the pod's own namespace; "default" when none is named
  std::string source = {};  // for messages: "context demo of ~/.kube/config", "the pod's service account"
};

struct ConfigOptions {
  std::string kubeconfig = {};  // a path; empty: look where everybody looks, see LoadConfig
  std::string context = {};     // empty: the file's current-context
};

// The first of these that exists, as other Kubernetes programs choose: options.kubeconfig; the files in
// $KUBECONFIG; the service account, when $KUBERNETES_SERVICE_HOST is set; ~/.kube/config. Of the files in
// $KUBECONFIG those that do not exist are passed over; when none does that is an error, and nobody's other
// cluster is taken instead.
//
// kInvalid names file and field: `~/.kube/config: users[admin].user.client-key-data: not base64`.
// kNotFound when there is no configuration anywhere, with the places that were tried. TLS checks cannot be
// switched off.
Result<Config> LoadConfig(const ConfigOptions& options = {});

// From kubeconfig files; of two entries with one name the one in the earlier file counts. Relative paths in a
// file are relative to its folder.
Result<Config> ConfigFromFiles(const std::vector<std::string>& paths, std::string_view context = {});

// From the files of a service account. REQUIRES: host and port as in KUBERNETES_SERVICE_HOST and _PORT.
Result<Config> ConfigFromServiceAccount(std::string_view host, std::string_view port,
                                        const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");

}  // namespace capstan::kube
