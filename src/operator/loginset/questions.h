// What only a LoginSet's Decide asks: whether the files that people bring can be what they are for. No value of a Secret
// is in an answer.
#pragma once

#include <string>
#include <string_view>

#include "kube/resource.h"
#include "plan/question.h"

namespace capstan::op::loginset {

// What is wrong with a file sssd.conf, one key of a Secret; "": nothing that shows in its form. Absent: it is not there.
struct SssdFile final : plan::Question {
  using Value = std::string;
  SssdFile(kube::Key secret, std::string file) : secret(std::move(secret)), file(std::move(file)) {}
  std::string id() const override { return "sssd.conf " + secret.ToString() + " " + file; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key secret;
  std::string file;
};

// What is wrong with the host keys in a Secret; "": nothing. Absent: there is no Secret.
struct HostKeyFiles final : plan::Question {
  using Value = std::string;
  explicit HostKeyFiles(kube::Key secret) : secret(std::move(secret)) {}
  std::string id() const override { return "host keys " + secret.ToString(); }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key secret;
};

// The rest of a sentence that begins with whose file it is; "" when nothing is wrong. `text` is not in it.
std::string WrongWithSssdConf(std::string_view text);

// The same of one host key: its private file, and what stands beside it in .pub. `type`: "rsa", "ecdsa", "ed25519".
std::string WrongWithHostKey(std::string_view type, std::string_view hidden, std::string_view open);

}  // namespace capstan::op::loginset
