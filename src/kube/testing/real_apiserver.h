// A real etcd and kube-apiserver, for tests and benchmarks: what a fake says is only what its author
// believes.
//
//   auto server = RealApiserver::Start({.tools = "build/tools"});  // about 3 s; apiserver_environment.h: once a program
//   Config admin = (*server)->Admin();
//   Config viewer = (*server)->User("viewer", "viewers");
//
// Both listen on loopback only, on ports that were free. Certificates are made at start; files live in a
// folder of their own that goes when the object does. The programs end with the thread that started them,
// however it ends: use the main thread. There are no other components: nothing schedules, collects garbage or
// runs pods.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/config/config.h"
#include "net/testing/certificates.h"

namespace capstan::kube::testing {

class RealApiserver {
 public:
  struct Options {
    // The folder of etcd and kube-apiserver, unless the environment variable CAPSTAN_TOOLS names another.
    std::string tools;
    std::vector<std::string> more_flags = {};  // of kube-apiserver
    Duration ready_limit = 90s;
  };
  static constexpr const char* kToolsVariable = "CAPSTAN_TOOLS";

  // Returns once /readyz says ok. The error holds the end of the log of the program that failed. kNotFound: a program is
  // not in the folder.
  static Result<std::unique_ptr<RealApiserver>> Start(Options options);
  ~RealApiserver();
  RealApiserver(const RealApiserver&) = delete;
  RealApiserver& operator=(const RealApiserver&) = delete;

  Config Admin() const { return User("admin", "system:masters"); }
  // Somebody with a client certificate of that name, and of that group when there is one.
  Config User(const std::string& name, const std::string& group = {}) const;
  // Somebody who shows that token; WithToken(kKnownToken) is the user "token-user".
  Config WithToken(const std::string& token) const;
  static constexpr const char* kKnownToken = "capstan-test-token";

  // Writes a kubeconfig of the admin, for programs; its path.
  std::string WriteKubeconfig() const;

  // Ends kube-apiserver (SIGTERM; SIGKILL with `hard`), and starts it again on the same port.
  void StopApiserver(bool hard = false);
  Result<void> StartApiserver();
  // Forgets old revisions, so that watches from before get 410.
  Result<void> CompactEtcd();

  const net::Endpoint& endpoint() const { return endpoint_; }
  const std::string& folder() const { return folder_; }
  // One JSON object a line, for each request that was answered.
  std::string audit_log() const { return folder_ + "/audit.log"; }

 private:
  RealApiserver(Options options, std::string folder);
  Result<void> StartEtcd();
  Result<void> WaitUntilReady();
  void WriteFiles();
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  Options options_;
  std::string folder_;
  net::testing::Authority authority_;
  net::Endpoint endpoint_;
  uint16_t etcd_port_ = 0, etcd_peer_port_ = 0;
  pid_t etcd_ = 0, apiserver_ = 0;
};

}  // namespace capstan::kube::testing
