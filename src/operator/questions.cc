#include "operator/questions.h"

#include <algorithm>
#include <iterator>

#include "api/common.h"
#include "base/hash.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/object_meta.h"
#include "json/schema.h"
#include "json/value.h"
#include "kube/client.h"
#include "operator/ask_pod.h"
#include "operator/names.h"
#include "plan/services.h"
#include "slurm/conf.h"
#include "slurm/conf_check.h"
#include "slurm/named_nodes.h"

namespace capstan::op {
namespace {

// The values as they come (base64 in a Secret): only their digest is wanted.
struct Data {
  std::map<std::string, std::string> data;
  std::map<std::string, std::string> binary_data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Data>({
        json::Field<&Data::data>("data"),
        json::Field<&Data::binary_data>("binaryData"),
    });
    return schema;
  }
};

struct TextFiles {
  std::map<std::string, std::string> data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<TextFiles>({json::Field<&TextFiles::data>("data")});
    return schema;
  }
};

std::string WrongWithJwks(const TextFiles& files, const std::string& file) {
  const auto found = files.data.find(file);
  if (found == files.data.end()) return "has no key \"" + file + "\"";
  const auto jwks = json::Parse(found->second);
  if (!jwks) return "is no JSON in \"" + file + "\": " + jwks.error().message();
  const json::Value* keys = json::Find(*jwks, {"keys"});
  if (keys == nullptr || !keys->is_array() || keys->get_array().empty())
    return "has no list \"keys\" in \"" + file + "\", as a JWKS file has";
  return "";
}

struct ClaimSpec {
  std::vector<std::string> access_modes;
  std::string volume_mode;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClaimSpec>(
        {json::Field<&ClaimSpec::access_modes>("accessModes"), json::Field<&ClaimSpec::volume_mode>("volumeMode")});
    return schema;
  }
};
struct ClaimObject {
  json::ObjectMeta metadata;
  ClaimSpec spec;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClaimObject>(
        {json::Field<&ClaimObject::metadata>("metadata"), json::Field<&ClaimObject::spec>("spec")});
    return schema;
  }
};

using Fetched = plan::Question::Fetched;

// What every digest of a Secret's value says under that value.
constexpr std::string_view kDigestText = "capstan: digest of a key";

Fetched DigestOf(const Data& secret, const SecretDigest&) {
  auto value = std::make_shared<SecretDigest::Value>();
  uint64_t digest = Fnv64("");
  for (const auto& [key, text] : secret.data) {
    std::string hmac = Hex(HmacSha256(FromBase64(text).value_or(text), kDigestText));
    digest = Fnv64(key + " " + hmac + "\n", digest);
    value->digests.emplace(key, std::move(hmac));
  }
  return {std::move(value), digest};
}

constexpr size_t kMostTold = 10;  // texts that are no scripts; a ConfigMap may have 100,000

// What keeps Slurm from reading a file of this name; one sentence a file.
void Refusals(const std::string& name, const std::string& text, std::vector<std::string>& refused) {
  const auto file = slurm::ConfFileNamed(name);
  if (!file) return;
  if (text.size() > size_t(api::kLongestConf)) {
    refused.push_back(name + ", which has " + std::to_string(text.size()) + " bytes, more than the " +
                      std::to_string(api::kLongestConf) + " that a file may have; shorten it");
    return;
  }
  for (const slurm::ConfFinding& finding : slurm::CheckConf(*file, text)) {
    if (!finding.refused) continue;
    const std::string line = finding.line == 0 ? "" : "line " + std::to_string(finding.line) + ": ";
    refused.push_back(name + ", " + line + finding.text);
    return;
  }
}

ConfigMapDigest::Included IncludedOf(std::string_view text) {
  ConfigMapDigest::Included found;
  const auto read = slurm::ForEachConfLine(text, [&found](const slurm::ConfLine& line) {
    const slurm::ConfItem& first = line.items.front();
    if (EqualsIgnoreCase(first.key, "Include")) found.files.insert(first.value);
    if (EqualsIgnoreCase(first.key, "PartitionName") && !EqualsIgnoreCase(first.value, "DEFAULT"))
      found.partitions.insert(first.value);
    return true;
  });
  return read ? found : ConfigMapDigest::Included();
}

// Of a text that Slurm reads, such as plugstack.conf with its includes: the words with a dot in them, the last part of a path.
void AddNamed(const std::string& file, std::string_view text, std::set<std::string>& named) {
  constexpr std::string_view kInNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  constexpr size_t kMostNamed = 1000;
  if (!file.ends_with(".conf") && !file.ends_with(".yaml")) return;
  while (!text.empty() && named.size() < kMostNamed) {
    const size_t begin = std::min(text.find_first_of(kInNames), text.size());
    const size_t end = std::min(text.find_first_not_of(kInNames, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (word.contains('.')) named.emplace(word);
    text.remove_prefix(end);
  }
}

// Why no kernel starts it as a script; "": it may. (execve(2): without an interpreter a text is ENOEXEC, with CR LF the
// interpreter's name ends in a CR.)
std::string WrongWithScript(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with("#!")) return "does not begin with #! and the path of what runs it, such as #!/bin/bash";
  if (line.ends_with('\r'))
    return "has lines that end in CR and LF, so that no program of that name is found; save it with LF";
  const size_t path = line.find_first_not_of(" \t", 2);
  if (path == line.npos || line[path] != '/') return "names no path behind #! of what runs it, such as #!/bin/bash";
  return "";
}

Fetched DigestOf(const Data& config_map, const ConfigMapDigest&) {
  auto value = std::make_shared<ConfigMapDigest::Value>();
  std::string all;
  for (const auto* part : {&config_map.data, &config_map.binary_data}) {
    for (const auto& [key, text] : *part) {
      value->keys.push_back(key);
      if (part == &config_map.data) {
        Refusals(key, text, value->refused);
        AddNamed(key, text, value->named);
        std::string wrong = WrongWithScript(text);
        if (!wrong.empty() && value->no_scripts.size() < kMostTold) value->no_scripts.emplace(key, std::move(wrong));
        std::ranges::move(slurm::NamedNodes(key, text), std::back_inserter(value->nodes));
        auto included = IncludedOf(text);
        if (!included.partitions.empty() || !included.files.empty()) value->included.emplace(key, std::move(included));
      }
      const std::string bytes = part == &config_map.binary_data ? FromBase64(text).value_or(text) : text;
      value->files.emplace(key, Sha256Hex(bytes));
      all += bytes;
    }
  }
  value->sha256 = Sha256Hex(all);
  uint64_t digest = Fnv64(value->sha256);
  for (const std::string& key : value->keys) digest = Fnv64(key, digest);
  return {std::move(value), digest};
}

template <class Question>
async::Task<Result<std::optional<Fetched>>> FetchDigest(plan::Services& services, kube::Resource resource,
                                                        Question question, async::Deadline deadline) {
  const auto object = co_await services.client.Get<Data>(resource, question.key, {}, deadline);
  if (object) co_return std::optional(DigestOf(*object, question));
  if (object.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  co_return Fail(object.error());
}

json::Value ParsedOr(const UserPart& part, json::Value otherwise) {
  if (part.text.empty()) return otherwise;
  auto value = json::Parse(part.text);
  return value ? *std::move(value) : otherwise;
}

// The server has looked at the object and refused it for whatever reason, which says enough: fields that it does not know
// come before all others.
bool IsVerdict(Code code) {
  return code == Code::kInvalid || code == Code::kForbidden || code == Code::kAlreadyExists ||
         code == Code::kConflict || code == Code::kNotFound;
}

// A directive of a merge ("$patch"), which never reaches the server.
bool IsDirective(std::string_view path) { return path.substr(path.rfind('.') + 1).starts_with('$'); }

}  // namespace

async::Task<Result<std::optional<plan::Question::Fetched>>> SecretDigest::Fetch(plan::Services& services,
                                                                                async::Deadline deadline) const {
  return FetchDigest(services, kube::kSecrets, *this, deadline);
}

async::Task<Result<std::optional<plan::Question::Fetched>>> ConfigMapDigest::Fetch(plan::Services& services,
                                                                                   async::Deadline deadline) const {
  return FetchDigest(services, kube::kConfigMaps, *this, deadline);
}

async::Task<Result<std::optional<Fetched>>> VolumeClaim::Fetch(plan::Services& services,
                                                               async::Deadline deadline) const {
  const auto claim = co_await services.client.Get<ClaimObject>(kube::kPersistentVolumeClaims, key, {}, deadline);
  if (!claim && claim.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!claim) co_return Fail(claim.error());
  auto value = std::make_shared<Value>(Value{claim->metadata.uid, claim->spec.access_modes});
  if (claim->metadata.Label(std::string(kLabelName)) == kRoot.app)
    value->root = claim->metadata.Label(std::string(kLabelInstance));
  value->is_block = claim->spec.volume_mode == "Block";
  const uint64_t digest =
      Fnv64(value->uid + " " + Join(value->access_modes, ",") + " " + value->root + (value->is_block ? " Block" : ""));
  co_return Fetched{std::move(value), digest};
}

async::Task<Result<std::optional<Fetched>>> JwksFile::Fetch(plan::Services& services, async::Deadline deadline) const {
  const auto files = co_await services.client.Get<TextFiles>(kube::kConfigMaps, key, {}, deadline);
  if (!files && files.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  if (!files) co_return Fail(files.error());
  std::string wrong = WrongWithJwks(*files, file);
  const uint64_t digest = Fnv64(wrong);
  co_return Fetched{std::make_shared<const Value>(std::move(wrong)), digest};
}

// --- StartTrouble ----------------------------------------------------------------------------------------------------

namespace {

constexpr Duration kStartLimit = 3s;
constexpr size_t kLongestTrouble = 500;

struct StartAnswer {
  std::optional<std::string> message;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<StartAnswer>({json::Field<&StartAnswer::message>("message")});
    return schema;
  }
};

}  // namespace

Result<StartTrouble::Value> StartTrouble::Parse(std::string_view json) {
  CAPSTAN_TRY(StartAnswer answer, json::Decode<StartAnswer>(json));
  if (!answer.message) return Fail(Code::kInvalid, "what it answers does not say how its daemon started");
  return OneLine(*answer.message, kLongestTrouble);
}

async::Task<Result<std::optional<Fetched>>> StartTrouble::Fetch(plan::Services& services,
                                                                async::Deadline deadline) const {
  const auto answer = co_await AskPod(services, address, kConfigurationPort, "/start", kStartLimit, deadline);
  if (!answer && IsNobodyThere(answer.error())) co_return std::optional<Fetched>();
  if (!answer) co_return Fail(answer.error());
  if (answer->status != 200) co_return std::optional<Fetched>();  // somebody else's port
  CAPSTAN_CO_TRY(Value value, Parse(answer->body));
  const uint64_t digest = Fnv64(value);
  co_return Fetched{std::make_shared<const Value>(std::move(value)), digest};
}

// --- UnknownFields ---------------------------------------------------------------------------------------------------

UnknownFields::UnknownFields(kube::Key owner, UserPart pod_spec, std::vector<UserPart> containers)
    : resource(&kube::kPods), owner(std::move(owner)), spec(std::move(pod_spec)), containers(std::move(containers)) {}

UnknownFields::UnknownFields(kube::Key owner, UserPart service_spec)
    : resource(&kube::kServices), owner(std::move(owner)), spec(std::move(service_spec)) {}

std::string UnknownFields::id() const {
  uint64_t digest = Fnv64(spec.text);
  for (const UserPart& part : containers) digest = Fnv64(part.field + "\n" + part.text, digest);
  return "unknown fields of " + std::string(resource->kind) + " " + owner.ToString() + " " + std::to_string(digest);
}

std::string UnknownFields::Body() const {
  json::Value tried = ParsedOr(spec, boost::json::object());
  if (resource == &kube::kPods && tried.is_object()) {
    json::Value& list = tried.get_object()["containers"];
    if (!list.is_array()) list.emplace_array();
    for (const UserPart& part : containers) list.get_array().push_back(ParsedOr(part, boost::json::object()));
  }
  const boost::json::object metadata{{"name", owner.name}, {"namespace", owner.ns}};
  return json::SerializeCanonical(boost::json::object{{"apiVersion", resource->ApiVersion()},
                                                      {"kind", resource->kind},
                                                      {"metadata", metadata},
                                                      {"spec", std::move(tried)}});
}

size_t UnknownFields::OwnContainers() const {
  const json::Value value = ParsedOr(spec, boost::json::object());
  const json::Value* list = json::Find(value, {"containers"});
  return list != nullptr && list->is_array() ? list->get_array().size() : 0;
}

UnknownFields::Value UnknownFields::Named(std::string_view refusal) const {
  constexpr std::string_view kBefore = "unknown field \"spec.";
  constexpr std::string_view kContainers = "containers[";
  Value fields;
  for (size_t at = refusal.find(kBefore); at != std::string_view::npos; at = refusal.find(kBefore, at)) {
    at += kBefore.size();
    std::string_view path = refusal.substr(at, refusal.find('"', at) - at);
    if (IsDirective(path)) continue;
    const UserPart* part = &spec;
    if (resource == &kube::kPods && path.starts_with(kContainers)) {
      const size_t end = path.find("].");
      const auto index = ParseInt(path.substr(kContainers.size(), end - kContainers.size()));
      const size_t own = OwnContainers();
      if (index && end != std::string_view::npos && size_t(*index) >= own && size_t(*index) < own + containers.size()) {
        part = &containers[size_t(*index) - own];
        path.remove_prefix(end + 2);
      }
    }
    fields.push_back(part->field + "." + std::string(path));
  }
  return fields;
}

async::Task<Result<std::optional<Fetched>>> UnknownFields::Fetch(plan::Services& services,
                                                                 async::Deadline deadline) const {
  kube::WriteOptions options{.dry_run = true, .strict = true};
  const auto tried = co_await services.client.Create(*resource, owner, Body(), std::move(options), deadline);
  if (!tried && !IsVerdict(tried.error().code())) co_return Fail(tried.error());
  auto fields = std::make_shared<Value>();
  if (!tried) *fields = Named(tried.error().message());
  const uint64_t digest = Fnv64(Join(*fields, "\n"));
  co_return Fetched{std::move(fields), digest};
}

}  // namespace capstan::op
