// The certificate of a server out of files that somebody else renews: cert-manager's Secret, mounted, or an
// administrator's. The alternative to keeper.h; caBundles are then that somebody's business, too.
#pragma once

#include <memory>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "kube/config/auth.h"
#include "net/serving.h"

namespace capstan::kube {

// Files that do not fit together yet (one of two was replaced) leave the old ones in force and are tried again.
class ServingFiles {
 public:
  struct Paths {
    std::string certificate;     // PEM, with its chain
    std::string key;             // PEM
    std::string client_ca = {};  // PEM; "": clients need no certificate
  };
  ServingFiles(async::Loop& loop, std::shared_ptr<net::ServingIdentity> identity, Paths paths, Duration interval = 10s);

  // Reads them; the error names the file, and the identity is as before.
  Result<void> Load();

  // Loads whenever a file has changed, until it is cancelled. Errors are logged when they begin.
  async::Task<void> Run();

 private:
  async::Loop& loop_;
  std::shared_ptr<net::ServingIdentity> identity_;
  Source certificate_, key_, client_ca_;
  Duration interval_;
  uint64_t loaded_ = 0;  // sum of the sources' generations when the identity was last replaced
};

}  // namespace capstan::kube
