// Secrets that the operator makes. No store shows them: nobody lists or watches Secrets for it. They are read by name,
// and written by name, so that a Decide asks (plan/question.h) what is there before it wants one written.
//
// Values are made at the moment of the write, by a SecretContent: they are in no World, no Plan, no log and no record of
// an action.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/secret.h"
#include "json/object_meta.h"
#include "json/schema.h"
#include "kube/client.h"
#include "kube/resource.h"
#include "plan/action.h"

namespace capstan::plan {

// Makes the values of a Secret. Held by an effect; Make may be called several times.
class SecretContent {
 public:
  virtual ~SecretContent() = default;
  // Of everything that the values are made from, as far as a Decide knows it.
  virtual uint64_t digest() const = 0;
  // By key of the Secret.
  virtual async::Task<Result<std::map<std::string, Secret>>> Make(Services& services,
                                                                  async::Deadline deadline) const = 0;
};

struct SecretOrder {
  kube::Key key;
  std::string metadata = "{}";  // JSON of labels, annotations and owner
  std::string type = "Opaque";
  bool immutable = false;
};

// Creates the Secret when there is none of that name, and never touches one that is there. Without an owner in its
// metadata it outlives everything that uses it.
std::shared_ptr<const Effect> CreateSecret(SecretOrder order, std::shared_ptr<const SecretContent> content);

// Creates the Secret, or gives the one of that name these values and no others, these labels and these annotations;
// other labels and annotations stay. Only one that `owner_uid` controls is written to: kAlreadyExists otherwise.
// kConflict: somebody else wrote it at the same moment.
std::shared_ptr<const Effect> WriteSecret(SecretOrder order, std::string owner_uid,
                                          std::shared_ptr<const SecretContent> content);

// `bytes` random bytes under `data_key`.
std::shared_ptr<const SecretContent> RandomBytes(std::string data_key, size_t bytes);

// The same as a text of twice as many hexadecimal digits, for people's programs.
std::shared_ptr<const SecretContent> RandomDigits(std::string data_key, size_t bytes);

// A text under `data_key`, put together from pieces: each is either as it stands here, or the value of another Secret.
struct SecretPiece {
  std::string text;
  // With a name: instead of `text`, the value of this key of this Secret, as `write` writes it down. An error of `write`
  // says what is wrong with the value, without the value; it is reported as `field` of a user's object.
  kube::Key secret = {};
  std::string data_key = {};
  std::string field = {};
  Result<std::string> (*write)(std::string_view value) = nullptr;
};
std::shared_ptr<const SecretContent> SecretText(std::string data_key, std::vector<SecretPiece> pieces);

// A Secret that was read by name. Its values are as the API server has them, in base64.
struct SecretObject {
  json::ObjectMeta metadata;
  std::map<std::string, Secret> data;
  bool immutable = false;
  static const json::Schema& Schema();

  // nullopt: nothing usable is under `key`.
  std::optional<Secret> Value(const std::string& key) const;
  // The uid of what controls it; "": nothing does.
  std::string controller_uid() const;
};

// The value of one key of a Secret. kNotFound: there is no such Secret, or nothing usable under that key.
async::Task<Result<Secret>> ReadSecretKey(kube::Client& client, kube::Key secret, std::string data_key,
                                          async::Deadline deadline);

}  // namespace capstan::plan
