#include "operator/sharedroot/jobs.h"

#include <charconv>

#include "base/hash.h"
#include "base/text.h"
#include "operator/names.h"
#include "operator/render/merge.h"
#include "operator/render/metadata.h"
#include "operator/render/parts.h"
#include "operator/render/workload.h"

namespace capstan::op::sharedroot {
namespace {

using namespace render;  // NOLINT: this file is made of its parts

constexpr int kRetries = 5;
constexpr int kForGood = 64;       // exit status: another try would fail, too (entry/root/jobs.h)
constexpr int kKeptSeconds = 600;  // a Job that has ended; then one that failed is made anew
constexpr int kFillSeconds = 6 * 3600;
constexpr int kSwitchSeconds = 600;
constexpr int kRemoveSeconds = 6 * 3600;
constexpr std::string_view kContainer = kRoot.app, kBringer = "entry";
constexpr std::string_view kProgram = "/usr/local/bin/capstan-entry";

struct JobParts {
  std::string prefix;  // of its name; a hash of all that follows is behind it
  std::string claim_uid;
  std::string reason;
  JsonObject container;
  JsonArray init_containers, volumes;
  int seconds = 0;
  int64_t kept_seconds = kKeptSeconds;
};

JsonArray Words(std::string_view program, std::string_view what) {
  return {program, "root", what, "--volume", kVolumePath};
}

// Kubernetes replaces $(NAME) in a command, and makes $ of $$.
void Add(JsonArray& words, std::string_view option, const std::string& value) {
  words.emplace_back(option);
  std::string word;
  for (const char c : value) word.append(c == '$' ? 2 : 1, c);
  words.emplace_back(word);
}

void Add(JsonArray& words, std::string_view option, const std::vector<std::string>& values) {
  for (const std::string& value : values) Add(words, option, value);
}

std::string Octal(int32_t number) {
  char digits[16];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number, 8);
  return std::string(digits, end.ptr);
}

// Root, who can do what he must and no more.
JsonObject AsRoot(std::initializer_list<std::string_view> capabilities) {
  JsonArray added;
  for (const std::string_view capability : capabilities) added.emplace_back(capability);
  return {{"runAsUser", 0},
          {"runAsGroup", 0},
          {"runAsNonRoot", false},
          {"allowPrivilegeEscalation", false},
          {"capabilities", JsonObject{{"drop", JsonArray{"ALL"}}, {"add", std::move(added)}}}};
}

std::string JobImage(const api::SharedRoot& root, const Settings& settings) {
  return root.spec.job_image.empty() ? settings.Image(kWorker.app) : root.spec.job_image;
}

JsonObject Container(std::string_view name, const std::string& image, JsonArray command) {
  return {{"name", name},
          {"image", image},
          {"command", std::move(command)},
          {"terminationMessagePolicy", "FallbackToLogsOnError"}};
}

// The user's template is for both Jobs: of the container that only the other has there is nothing to lay over.
Result<json::Raw> TemplateFor(const api::SharedRoot& root, bool brings) {
  const json::Raw& user = root.spec.pod_template.spec;
  if (brings || user.empty()) return user;
  CAPSTAN_TRY(Json spec, json::ParseObject(user, "spec.template.spec"));
  if (Json* containers = json::Find(spec, {"initContainers"}); containers != nullptr && containers->is_array()) {
    JsonArray others;
    for (const Json& container : containers->get_array()) {
      if (json::FindText(container, {"name"}) != kBringer) others.push_back(container);
    }
    *containers = std::move(others);
  }
  return json::Raw{json::Serialize(spec)};
}

Result<plan::Child> Job(const api::SharedRoot& root, JobParts parts) {
  JsonObject pod{{"restartPolicy", "Never"}, {"automountServiceAccountToken", false}, {"enableServiceLinks", false}};
  if (!root.spec.source.pull_secrets.empty()) {
    JsonArray& secrets = pod["imagePullSecrets"].emplace_array();
    for (const api::LocalObjectReference& secret : root.spec.source.pull_secrets)
      secrets.push_back(JsonObject{{"name", secret.name}});
  }
  CAPSTAN_TRY(const json::Raw user, TemplateFor(root, !parts.init_containers.empty()));
  if (!parts.init_containers.empty()) pod["initContainers"] = std::move(parts.init_containers);
  pod["containers"] = JsonArray{std::move(parts.container)};
  parts.volumes.push_back(ClaimVolume("root", ClaimName(root)));
  pod["volumes"] = std::move(parts.volumes);
  CAPSTAN_TRY(pod, MergePodSpec(std::move(pod), user, "spec.template.spec"));
  const JsonObject for_good{
      {"action", "FailJob"},
      {"onExitCodes",
       JsonObject{{"containerName", kContainer}, {"operator", "In"}, {"values", JsonArray{kForGood, kNotOnVolume}}}}};
  JsonObject pod_template{{"metadata", PodMetadata(root.metadata, kRoot, root.spec.pod_template.metadata).ToJson()},
                          {"spec", std::move(pod)}};
  JsonObject spec{{"backoffLimit", kRetries},
                  {"activeDeadlineSeconds", parts.seconds},
                  {"ttlSecondsAfterFinished", parts.kept_seconds},
                  {"podFailurePolicy", JsonObject{{"rules", JsonArray{for_good}}}},
                  {"template", std::move(pod_template)}};
  constexpr size_t kLetters = 8;
  const std::string hash = Sha256Hex(parts.claim_uid + "\n" + json::SerializeCanonical(Json(spec))).substr(0, kLetters);
  JsonObject body = OwnedObject(kube::kJobs, parts.prefix + hash,
                                Metadata{ComponentLabels(kRoot, root.metadata.name), {}}, OwnerOf(root));
  body["spec"] = std::move(spec);
  return AsChild(kube::kJobs, std::move(body), std::move(parts.reason));
}

}  // namespace

std::string ClaimName(const api::SharedRoot& root) {
  const std::string& existing = root.spec.claim.existing;
  return existing.empty() ? root.metadata.name + "-root" : existing;
}

std::vector<std::string> MountPaths(const api::SharedRootSpec& spec) {
  std::vector<std::string> paths;
  for (const api::RootMount& mount : spec.mounts) paths.push_back(mount.path);
  return paths;
}

std::string GenerationName(const api::SharedRootSpec& spec) {
  constexpr size_t kLetters = 10;
  return "g-" + Sha256Hex(spec.source.image + "\n" + spec.revision).substr(0, kLetters);
}

std::optional<int64_t> SwitchedBy(const api::SharedRoot& root, std::string_view job) {
  const std::string prefix = root.metadata.name + std::string(kSwitch);
  if (!job.starts_with(prefix)) return std::nullopt;
  job.remove_prefix(prefix.size());
  return ParseInt(job.substr(0, job.find('-')));
}

std::string ClaimBody(const api::SharedRoot& root) {
  JsonObject spec{{"accessModes", JsonArray{"ReadWriteMany"}},
                  {"resources", JsonObject{{"requests", JsonObject{{"storage", root.spec.claim.size}}}}}};
  if (!root.spec.claim.storage_class_name.empty()) spec["storageClassName"] = root.spec.claim.storage_class_name;
  JsonObject metadata{{"name", ClaimName(root)},
                      {"namespace", root.metadata.namespace_},
                      {"labels", ToJson(ComponentLabels(kRoot, root.metadata.name))}};
  return json::SerializeCanonical(Json(JsonObject{{"apiVersion", "v1"},
                                                  {"kind", kube::kPersistentVolumeClaims.kind},
                                                  {"metadata", std::move(metadata)},
                                                  {"spec", std::move(spec)}}));
}

// The container is of the image itself, whatever that is: the program comes with it, static, in a volume.
Result<plan::Child> FillJob(const api::SharedRoot& root, const std::string& claim_uid, const Settings& settings) {
  constexpr std::string_view kBrought = "/capstan/bin/capstan-entry";
  const api::RootSource& source = root.spec.source;
  JsonObject bring = Container(kBringer, JobImage(root, settings), {"cp", kProgram, kBrought});
  bring["securityContext"] = AsRoot({});
  bring["volumeMounts"] = JsonArray{Mount("bin", "/capstan/bin")};
  JsonArray words = Words(kBrought, "fill");
  Add(words, "--generation", GenerationName(root.spec));
  JsonObject fill = Container(kContainer, source.image, std::move(words));
  if (!source.image_pull_policy.empty()) fill["imagePullPolicy"] = source.image_pull_policy;
  fill["workingDir"] = "/";
  fill["securityContext"] = AsRoot({"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "SETFCAP"});
  fill["volumeMounts"] = JsonArray{Mount("bin", "/capstan/bin", true), Mount("root", kVolumePath)};
  return Job(root, {.prefix = root.metadata.name + std::string(kFill),
                    .claim_uid = claim_uid,
                    .reason = "the image is to be a root",
                    .container = std::move(fill),
                    .init_containers = {std::move(bring)},
                    .volumes = {MemoryDir("bin", kSmallSize)},
                    .seconds = kFillSeconds});
}

Result<plan::Child> SwitchJob(const api::SharedRoot& root, const std::string& generation, const std::string& claim_uid,
                              const Settings& settings) {
  const std::string number = std::to_string(root.metadata.generation);
  JsonArray words = Words(kProgram, "switch");
  Add(words, "--generation", generation);
  Add(words, "--keep", *root.spec.keep);
  Add(words, "--node-local", root.spec.node_local);
  Add(words, "--mount", MountPaths(root.spec));
  Add(words, "--order", OrderOf(root, root.metadata.generation));
  JsonObject container = Container(kContainer, JobImage(root, settings), std::move(words));
  container["securityContext"] = AsRoot({"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"});
  container["volumeMounts"] = JsonArray{Mount("root", kVolumePath)};
  return Job(root, {.prefix = root.metadata.name + std::string(kSwitch) + number + "-",
                    .claim_uid = claim_uid,
                    .reason = "new sessions are to have that root",
                    .container = std::move(container),
                    .init_containers = {},
                    .volumes = {},
                    .seconds = kSwitchSeconds});
}

// The texts are in the pod under numbers: no part of a key becomes a path.
Result<plan::Child> FilesJob(const api::SharedRoot& root, const std::string& generation,
                             const std::vector<KnownFile>& files, const std::string& claim_uid,
                             const Settings& settings) {
  constexpr std::string_view kVolume = "files", kFolder = "/capstan/files";
  JsonArray words = Words(kProgram, "files"), sources;
  Add(words, "--generation", generation);
  for (size_t i = 0; i < files.size(); ++i) {
    const auto& [file, sha256] = files[i];
    const std::string number = std::to_string(i), from = std::string(kFolder) + "/" + number;
    Add(words, "--file", Octal(*file.mode) + ":" + sha256 + ":" + from + ":" + file.path);
    sources.push_back(ConfigMapFile(file.config_map, file.key, number));
  }
  JsonObject container = Container(kContainer, JobImage(root, settings), std::move(words));
  container["securityContext"] = AsRoot({"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID"});
  container["volumeMounts"] = JsonArray{Mount(kVolume, kFolder, true), Mount("root", kVolumePath)};
  return Job(root, {.prefix = root.metadata.name + std::string(kFiles),
                    .claim_uid = claim_uid,
                    .reason = "files of the root are those of ConfigMaps",
                    .container = std::move(container),
                    .init_containers = {},
                    .volumes = {ProjectedVolume(kVolume, 0600, std::move(sources))},
                    .seconds = kSwitchSeconds});
}

std::string RemovalPrefix(const api::SharedRoot& root, const std::vector<std::string>& generations) {
  constexpr size_t kLetters = 6;  // a name has 63
  const std::string what = OrderOf(root, root.status.current.observed_generation) + "\n" + Join(generations, "\n");
  return root.metadata.name + std::string(kRemove) + Sha256Hex(what).substr(0, kLetters) + "-";
}

Result<plan::Child> RemoveJob(const api::SharedRoot& root, const std::vector<std::string>& generations,
                              const std::vector<std::string>& pods, const std::string& claim_uid,
                              const Settings& settings) {
  JsonArray words = Words(kProgram, "remove");
  Add(words, "--generation", generations);
  Add(words, "--order", OrderOf(root, root.status.current.observed_generation));
  Add(words, "--pod", pods);
  JsonObject container = Container(kContainer, JobImage(root, settings), std::move(words));
  container["securityContext"] = AsRoot({"DAC_OVERRIDE", "FOWNER"});
  container["volumeMounts"] = JsonArray{Mount("root", kVolumePath)};
  return Job(root, {.prefix = RemovalPrefix(root, generations),
                    .claim_uid = claim_uid,
                    .reason = "spec.history asks for fewer generations",
                    .container = std::move(container),
                    .init_containers = {},
                    .volumes = {},
                    .seconds = kRemoveSeconds,
                    .kept_seconds = std::chrono::duration_cast<std::chrono::seconds>(kRemovalsEvery).count()});
}

std::string OrderOf(const api::SharedRoot& root, int64_t generation) {
  return root.metadata.uid + "/" + std::to_string(generation);
}

}  // namespace capstan::op::sharedroot
