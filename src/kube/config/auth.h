// Who we are and whom we believe, from texts, from files that may be replaced at any time (a service account's
// projected token, a CA bundle, a client certificate that is renewed), and from exec plugins.
//
// Files are looked at before each request and read when they have changed. From then on new requests carry the
// new token, and connections made under an old CA or certificate are not used for new requests; a watch that
// runs on one lasts until its end. While new files cannot be used or do not fit together, such as a new
// certificate beside the old key, what worked so far stays in force, and the log names file and field.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/secret.h"
#include "kube/config/exec_plugin.h"
#include "net/credentials.h"

namespace capstan::kube {

// A text that was given outright, or that stands in a file. A file is read anew when it has been replaced or
// changed (looked up by name each time, so that symlinks that swap whole folders are followed). Once it was
// read, a file that vanishes, becomes unreadable or is empty leaves the old text in force: rotation may take a
// moment, an expired credential is refused by the server anyway, and an empty CA bundle must not come to mean
// everybody whom the machine trusts.
//
// `field` is what the text is called in error messages: "users[admin].user.token".
class Source {
 public:
  Source() = default;  // nothing; Read gives ""
  static Source Text(std::string text, std::string field);
  static Source File(std::string path, std::string field);

  bool given() const { return !field_.empty(); }
  const std::string& field() const { return field_; }

  // Where the text stands, for messages on what is wrong with it: the field, and the file when it is one.
  std::string Place() const { return path_.empty() ? field_ : field_ + ": " + path_; }

  // The text as it is now. kInvalid when the file never could be read, or was empty or larger than a MiB then.
  Result<const Secret*> Read();

  // Counts how often the text changed.
  uint64_t generation() const { return generation_; }

 private:
  // Which file was read; another one, or another state of it, is read anew.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static std::optional<Stamp> StampOf(const std::string& path);
  Result<void> ReadFile(Stamp stamp);

  std::string field_;
  std::string path_;
  std::optional<Stamp> stamp_;
  Secret text_;
  uint64_t generation_ = 0;
};

// All that a kubeconfig user and cluster, or a service account, can say.
struct CredentialSources {
  Source token = {};
  Source ca = {};
  Source certificate = {};
  Source key = {};
  std::string server_name = {};
  std::optional<ExecPlugin> exec = {};  // instead of token and certificate
  net::Headers impersonation = {};
};

// Whether TLS can be spoken with `material`, which is what `sources` gave: kInvalid begins with file and field.
Result<void> TryMaterial(const CredentialSources& sources, const net::TlsMaterial& material);

// Reads everything once and tries what it says, so that what is missing or cannot be used is said at start and not
// at the first request. An exec plugin must be there, and is run at the first request. kInvalid names file and
// field.
Result<std::shared_ptr<net::Credentials>> MakeCredentials(CredentialSources sources);

}  // namespace capstan::kube
