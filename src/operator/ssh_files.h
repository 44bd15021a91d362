// Whether the files that people bring for logins, and for workers with ssh, can be what they are for. No value of a Secret is
// in an answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/common.h"
#include "kube/resource.h"
#include "operator/findings.h"
#include "plan/question.h"
#include "plan/world.h"

namespace capstan::op {

// What is wrong with a file sssd.conf, one key of a Secret; "": nothing that shows in its form. Absent: it is not there.
struct SssdFile final : plan::Question {
  using Value = std::string;
  SssdFile(kube::Key secret, std::string file) : secret(std::move(secret)), file(std::move(file)) {}
  std::string id() const override { return "sssd.conf " + secret.ToString() + " " + file; }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  kube::Key secret;
  std::string file;
};

// An HMAC-SHA-256 (hex) of such a file under Slurm's key. A password for the directory may be in it, which people choose: whoever
// reads the annotation that this ends in does not have the key. Both Secrets are in one namespace. Absent: one is not there.
struct SssdDigest final : plan::Question {
  using Value = std::string;
  SssdDigest(std::string ns, api::SecretKeySelector conf, api::SecretKeySelector salt)
      : ns(std::move(ns)), conf(std::move(conf)), salt(std::move(salt)) {}
  std::string id() const override {
    return "digest of " + ns + "/" + conf.name + " " + conf.key + " under " + salt.name + " " + salt.key;
  }
  async::Task<Result<std::optional<Fetched>>> Fetch(plan::Services& services, async::Deadline deadline) const override;

  std::string ns;
  api::SecretKeySelector conf, salt;
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

// `about`: "Secret ns/name", of which the question is. False: there is no answer, and the findings say why.
bool IsAnswered(const plan::Answer<std::string>& answer, std::string_view about, Findings& findings);

// `wrong`: what is wrong with the content of `secret`, where others have said what is missing. False: it is not known to be
// good, and the findings say why. `named`: by whom, ", named in spec.sssdConfRef,", or "".
bool IsGood(const plan::Answer<std::string>& wrong, const kube::Key& secret, std::string_view named,
            Findings& findings);

// Whether the sssd.conf that the field `field` of a resource names is there and can be what it is for; the findings say why not.
bool FindSssdConf(const plan::World& world, std::string_view ns, const api::SecretKeySelector& ref,
                  std::string_view field, Findings& findings);

}  // namespace capstan::op
