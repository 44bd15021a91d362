// Certificates made when a test needs them, so that none expires in the repository.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace capstan::net::testing {

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;
};

// A certificate authority of the test's own.
class Authority {
 public:
  explicit Authority(std::string name = "test CA");

  const std::string& certificate_pem() const { return own_.certificate_pem; }

  struct Options {
    std::string common_name = "server";
    std::string organization = {};  // a client's group
    std::vector<std::string> names = {"localhost"};
    std::vector<std::string> addresses = {"127.0.0.1"};
    Duration begins_in = -1h;  // from now
    Duration ends_in = 24h;
  };
  // P-256, good for servers and clients.
  KeyPair Issue(const Options& options) const;

 private:
  KeyPair own_;
};

}  // namespace capstan::net::testing
