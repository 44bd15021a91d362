#include "bridge/config.h"

#include <yaml-cpp/yaml.h>

#include "base/hash.h"
#include "base/text.h"

namespace capstan::bridge {
namespace {

constexpr size_t kLongestFile = 256 << 10;
constexpr size_t kLongestLabel = 63, kKeptOfName = 46;
constexpr int64_t kMostIds = int64_t{1} << 31;

class Reader {
 public:
  Reader(const YAML::Node& root, std::string_view file) : root_(root), file_(file) {}

  Result<void> Text(const char* key, std::string& value) const {
    const YAML::Node found = root_[key];
    if (!found.IsDefined() || found.IsNull()) return {};
    if (!found.IsScalar() || found.Scalar().empty()) return Wrong(key, "must be a text that is not empty");
    value = found.Scalar();
    return {};
  }
  Result<void> Seconds(const char* key, int64_t& value) const {
    std::string text = std::to_string(value);
    CAPSTAN_CHECK_OK(Text(key, text));
    const auto seconds = ParseInt(text);
    if (!seconds || *seconds < 1 || *seconds > 86'400) return Wrong(key, "must be a number of seconds from 1 to 86400");
    value = *seconds;
    return {};
  }

  Result<void> Truth(const char* key, bool& value) const {
    std::string text = value ? "true" : "false";
    CAPSTAN_CHECK_OK(Text(key, text));
    if (text != "true" && text != "false") return Wrong(key, "must be true or false");
    value = text == "true";
    return {};
  }

 private:
  std::unexpected<Error> Wrong(const char* key, std::string_view what) const {
    return Fail(Code::kInvalid, std::string(file_) + ": " + key + " " + std::string(what));
  }
  const YAML::Node& root_;
  std::string_view file_;
};

Result<Config> Read(const YAML::Node& root, std::string_view name) {
  Config config;
  if (root.IsNull()) return config;
  if (!root.IsMap()) return Fail(Code::kInvalid, std::string(name) + " must be a map of keys and values");
  const Reader reader(root, name);
  CAPSTAN_CHECK_OK(reader.Text("schedulerName", config.scheduler_name));
  CAPSTAN_CHECK_OK(reader.Text("targetSchedulerName", config.target_scheduler_name));
  CAPSTAN_CHECK_OK(reader.Text("slurmRestApi", config.slurm_rest_api));
  CAPSTAN_CHECK_OK(reader.Text("mcsLabel", config.mcs_label));
  CAPSTAN_CHECK_OK(reader.Text("sharing", config.sharing));
  CAPSTAN_CHECK_OK(reader.Text("partition", config.partition));
  CAPSTAN_CHECK_OK(reader.Text("jobIds", config.job_ids));
  CAPSTAN_CHECK_OK(reader.Seconds("bindTimeout", config.bind_timeout_seconds));
  CAPSTAN_CHECK_OK(reader.Text("nodeTaint", config.node_taint));
  CAPSTAN_CHECK_OK(reader.Text("nodeReserveCpu", config.reserved_cpu));
  CAPSTAN_CHECK_OK(reader.Text("nodeReserveMemory", config.reserved_memory));
  CAPSTAN_CHECK_OK(reader.Truth("policyRequired", config.policy_required));
  CAPSTAN_CHECK_OK(reader.Truth("policyAllowIdentity", config.allow_identity));
  CAPSTAN_CHECK_OK(reader.Truth("takeOver", config.take_over));
  CAPSTAN_CHECK_OK(reader.Truth("ungate", config.ungate));
  return config;
}

}  // namespace

Result<Config> ReadConfig(std::string_view text, std::string_view name) {
  if (text.size() > kLongestFile) return Fail(Code::kInvalid, std::string(name) + " is larger than 256 KiB");
  try {
    return Read(YAML::Load(std::string(text)), name);
  } catch (const YAML::Exception& error) {
    const std::string line = error.mark.is_null() ? "" : ", line " + std::to_string(error.mark.line + 1);
    return Fail(Code::kInvalid, std::string(name) + line + " is not YAML: " + error.msg);
  }
}

namespace {

Result<kube::Quantity> Reserved(std::string_view key, const std::string& text) {
  const auto quantity = kube::Quantity::Parse(text);
  if (quantity && !quantity->is_negative()) return *quantity;
  return Fail(Code::kInvalid,
              std::string(key) + " is " + JsonQuoted(text) + ", and must be a quantity, such as 500m or 2Gi");
}

}  // namespace

Result<Settings> SettingsFrom(const Config& config, std::string bridge, std::string token_file) {
  const std::string_view ids = config.job_ids;
  const size_t dash = ids.find('-');
  const auto first = ParseInt(ids.substr(0, dash));
  const auto last = dash == ids.npos ? std::nullopt : ParseInt(ids.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first || *last >= kMostIds) {
    return Fail(Code::kInvalid,
                "jobIds is " + JsonQuoted(ids) +
                    ", and must be the first and the last id of the bridge's jobs, such as 40000000-67043327");
  }
  if (config.sharing != "mcs" && config.sharing != "any")
    return Fail(Code::kInvalid, "sharing is " + JsonQuoted(config.sharing) + ", and must be mcs or any");
  if (config.node_taint != "NoSchedule" && config.node_taint != "NoExecute" && config.node_taint != "none") {
    return Fail(Code::kInvalid,
                "nodeTaint is " + JsonQuoted(config.node_taint) + ", and must be NoSchedule, NoExecute or none");
  }
  CAPSTAN_TRY(const kube::Quantity cpu, Reserved("nodeReserveCpu", config.reserved_cpu));
  CAPSTAN_TRY(const kube::Quantity memory, Reserved("nodeReserveMemory", config.reserved_memory));
  return Settings{.bridge = std::move(bridge),
                  .slurm_rest_api = config.slurm_rest_api,
                  .token_file = std::move(token_file),
                  .scheduler_name = config.scheduler_name,
                  .mcs_label = config.mcs_label,
                  .shared = config.sharing == "any" ? "" : config.sharing,
                  .partition = config.partition,
                  .first_id = *first,
                  .ids = *last - *first + 1,
                  .bind_timeout = std::chrono::seconds(config.bind_timeout_seconds),
                  .node_taint = config.node_taint == "none" ? "" : config.node_taint,
                  .reserved_cpu = cpu,
                  .reserved_memory = memory,
                  .policy_required = config.policy_required,
                  .allow_identity = config.allow_identity,
                  .take_over = config.take_over,
                  .ungate = config.ungate};
}

std::string BridgeName(std::string_view ns, std::string_view fullname) {
  const std::string name = std::string(ns) + "." + std::string(fullname);
  if (name.size() <= kLongestLabel) return name;
  return name.substr(0, kKeptOfName) + "-" + Fnv64Hex(name);
}

}  // namespace capstan::bridge
