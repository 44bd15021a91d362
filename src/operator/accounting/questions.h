// What only an Accounting's Decide asks.
#pragma once

#include <string>

#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::op::accounting {

// The database's password, and the Secret with slurmdbd.conf that was made from it. No value of a Secret is in the answer.
// Never absent.
struct ConfState final : plan::Question {
  struct Value {
    // An HMAC-SHA-256 of the password under Slurm's key: people choose passwords that can be guessed, and whoever reads
    // the annotation that this ends in does not have the key. "": there is no password, and `password_wrong` says why.
    std::string password_digest;
    std::string password_wrong;
    bool present = false;        // the Secret with slurmdbd.conf
    std::string controller_uid;  // of it
    std::string made_from;       // its annotation
  };
  // All in one namespace. `salt` is Slurm's key.
  ConfState(kube::Key conf, kube::Key password, std::string password_key, kube::Key salt, std::string salt_key)
      : conf(std::move(conf)),
        password(std::move(password)),
        password_key(std::move(password_key)),
        salt(std::move(salt)),
        salt_key(std::move(salt_key)) {}
  std::string id() const override {
    return "secret " + conf.ToString() + " with password " + password.name + " " + password_key + " under " +
           salt.name + " " + salt_key;
  }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key conf;
  kube::Key password;
  std::string password_key;
  kube::Key salt;
  std::string salt_key;
};

}  // namespace capstan::op::accounting
