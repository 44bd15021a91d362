#include "bridge/group/order.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/taken.h"

namespace capstan::bridge::group {
namespace {

using kube::Quantity;

constexpr int64_t kMiB = int64_t{1} << 20, kMostMemory = int64_t{1} << 60;
constexpr int64_t kMostMinutes = int64_t{366} * 24 * 60;
constexpr int64_t kMostNodes = 65'533, kMostPodsPerNode = 1024, kMostGpus = 1024;
constexpr int64_t kMostCpus = 65'533;  // of a task: 16 bits, whose last two values mean none and infinite
constexpr size_t kLongestText = 1024;  // of one annotation

std::string Annotation(std::string_view suffix) { return std::string(kJobAnnotations) + std::string(suffix); }

std::unexpected<Error> Malformed(std::string_view suffix, const std::string& value, std::string_view wanted) {
  return Fail(Code::kInvalid, "annotation " + Annotation(suffix) + " is " + JsonQuoted(OneLine(value, 100)) +
                                  ", and must be " + std::string(wanted));
}

// Texts that go to Slurm as they are.
struct TextMember {
  std::string_view suffix;
  std::string slurm::ExternalJob::* member;
};
constexpr auto kTexts = std::to_array<TextMember>({
    {"account", &slurm::ExternalJob::account},
    {"qos", &slurm::ExternalJob::qos},
    {"reservation", &slurm::ExternalJob::reservation},
    {"wckey", &slurm::ExternalJob::wckey},
    {"constraints", &slurm::ExternalJob::constraints},
    {"licenses", &slurm::ExternalJob::licenses},
    {"partition", &slurm::ExternalJob::partition},
    {"job-name", &slurm::ExternalJob::name},
    {"gres", &slurm::ExternalJob::gres},
});

// Texts of which a policy may allow some alone.
struct LimitedMember {
  std::string_view list, suffix, what;  // of the policy, of the pod's annotation, in messages
  std::string slurm::ExternalJob::* member;
};
constexpr auto kIdentity = std::to_array<std::string_view>({"user-id", "group-id", "priority"});
constexpr auto kLimited = std::to_array<LimitedMember>({
    {"accounts", "account", "account", &slurm::ExternalJob::account},
    {"partitions", "partition", "partition", &slurm::ExternalJob::partition},
    {"qos", "qos", "QOS", &slurm::ExternalJob::qos},
    {"reservations", "reservation", "reservation", &slurm::ExternalJob::reservation},
    {"wckeys", "wckey", "WCKey", &slurm::ExternalJob::wckey},
});

const std::string& Value(const Shape& shape, std::string_view suffix) {
  static const std::string none;
  const auto found = shape.annotations.find(Annotation(suffix));
  return found == shape.annotations.end() ? none : found->second;
}

Result<void> TakeTexts(const Shape& shape, slurm::ExternalJob& job) {
  for (const TextMember& text : kTexts) {
    const std::string& value = Value(shape, text.suffix);
    if (value.empty()) continue;
    if (value.size() > kLongestText) return Malformed(text.suffix, value, "at most 1024 bytes long");
    if (std::ranges::any_of(value, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
      return Malformed(text.suffix, value, "one line without control characters");
    job.*text.member = value;
  }
  return {};
}

// The most that one of them takes.
Result<Quantity> MostTaken(std::span<const Pod* const> pods, const std::string& resource) {
  Quantity most;
  for (const Pod* pod : pods) {
    CAPSTAN_TRY(const Quantity taken, Taken(*pod, resource));
    most = std::max(most, taken);
  }
  return most;
}

// nullopt: the annotation is not there.
Result<std::optional<Quantity>> Annotated(const Shape& shape, std::string_view suffix) {
  const std::string& value = Value(shape, suffix);
  if (value.empty()) return std::nullopt;
  const auto quantity = Quantity::Parse(value);
  if (!quantity || quantity->is_negative() || quantity->is_zero())
    return Malformed(suffix, value, "a quantity above zero, such as \"2\" or \"4Gi\"");
  return *quantity;
}

Result<std::optional<int64_t>> Number(const Shape& shape, std::string_view suffix, int64_t most,
                                      const std::string& of_what) {
  const std::string& value = Value(shape, suffix);
  if (value.empty()) return std::nullopt;
  const auto number = ParseInt(value);
  if (!number || *number < 1 || *number > most)
    return Malformed(suffix, value, "a whole number of " + of_what + " from 1 to " + std::to_string(most));
  return *number;
}

// A user, a group or a priority that an annotation names; nullopt: none does.
Result<std::optional<int64_t>> Identity(const Shape& shape, std::string_view suffix, bool allowed) {
  const std::string& value = Value(shape, suffix);
  if (value.empty()) return std::nullopt;
  if (!allowed) {
    return Fail(Code::kForbidden, "annotation " + Annotation(suffix) + " is not allowed in namespace " +
                                      shape.policy.ns +
                                      ": its policy says as whom its jobs run, and with which priority; remove it");
  }
  const auto number = ParseInt(value);
  if (number && *number >= 1 && *number <= kMostId) return *number;
  return Malformed(suffix, value, "a number from 1 to " + std::to_string(kMostId) + ", and no name");
}

// `own`: of the policy.
Result<void> IsTheOnly(const Policy& policy, std::optional<int64_t> own, std::optional<int64_t> named,
                       std::string_view suffix) {
  if (!own || !named || *own == *named) return {};
  return Fail(Code::kForbidden, "annotation " + Annotation(suffix) + " is " + std::to_string(*named) +
                                    ", and namespace " + policy.ns + " may only have " + std::to_string(*own));
}

Result<void> TakeIdentity(const Shape& shape, const Settings& settings, slurm::ExternalJob& job) {
  const Policy& policy = shape.policy;
  const bool free = settings.allow_identity && !policy.there;
  CAPSTAN_TRY(const auto user, Identity(shape, "user-id", free || policy.user));
  CAPSTAN_TRY(const auto group, Identity(shape, "group-id", free || policy.group));
  CAPSTAN_TRY(job.priority, Identity(shape, "priority", free || policy.max_priority));
  CAPSTAN_CHECK_OK(IsTheOnly(policy, policy.user, user, "user-id"));
  CAPSTAN_CHECK_OK(IsTheOnly(policy, policy.group, group, "group-id"));
  if (policy.max_priority && job.priority && *job.priority > *policy.max_priority) {
    return Fail(Code::kForbidden, "annotation " + Annotation("priority") + " is " + std::to_string(*job.priority) +
                                      ", and namespace " + policy.ns + " may have " +
                                      std::to_string(*policy.max_priority) + " at most");
  }
  const auto as = policy.user ? policy.user : user, of = policy.group ? policy.group : group;
  if (!as && !of) return {};
  if (!as || !of) {
    return Fail(Code::kInvalid, "annotations " + Annotation("user-id") + " and " + Annotation("group-id") +
                                    " need each other: Slurm would take the group of the bridge's own user");
  }
  if (IsReservedUser(*as))
    return Fail(Code::kInvalid, "annotation " + Annotation("user-id") + " is root's or Slurm's own, which no pod gets");
  job.user = std::to_string(*as);
  job.group = std::to_string(*of);
  return {};
}

Result<void> TakePolicy(const Shape& shape, const Settings& settings, slurm::ExternalJob& job) {
  if (!shape.refused.empty()) return Fail(Code::kInvalid, shape.refused);
  for (const LimitedMember& limited : kLimited) {
    // The bridge's own partition is for orders that name none, of namespaces that have no other.
    const bool named = limited.list != "partitions" || !Value(shape, "partition").empty();
    std::string& member = job.*limited.member;
    CAPSTAN_TRY(std::string chosen, shape.policy.Choose(limited.list, limited.what, named ? member : ""));
    if (named || !chosen.empty()) member = std::move(chosen);
  }
  CAPSTAN_CHECK_OK(TakeIdentity(shape, settings, job));
  if (!settings.policy_required || !job.user.empty()) return {};
  return Fail(Code::kForbidden,
              "namespace " + shape.policy.ns +
                  " has no policy that says whose its jobs are, and this bridge wants one: annotations " +
                  std::string(kPolicyAnnotations) + "user and " + std::string(kPolicyAnnotations) +
                  "group of the Namespace");
}

Result<void> TakeCpus(std::span<const Pod* const> pods, const Shape& shape, slurm::ExternalJob& job) {
  CAPSTAN_TRY(const std::optional<Quantity> annotated, Annotated(shape, "cpu-per-task"));
  CAPSTAN_TRY(const Quantity taken, MostTaken(pods, "cpu"));
  const Quantity cpu = annotated.value_or(taken.is_zero() ? shape.cpu : taken);
  if (cpu.Ceiling() > kMostCpus)
    return Fail(Code::kInvalid,
                "it asks for " + cpu.ToString() + " CPUs; Slurm counts " + std::to_string(kMostCpus) + " at most");
  if (!cpu.is_zero()) job.cpus_per_task = cpu.Ceiling();
  return {};
}

Result<void> TakeMemory(std::span<const Pod* const> pods, const Shape& shape, int64_t pods_per_node,
                        slurm::ExternalJob& job) {
  CAPSTAN_TRY(const std::optional<Quantity> annotated, Annotated(shape, "mem-per-node"));
  CAPSTAN_TRY(const Quantity taken, MostTaken(pods, "memory"));
  const Quantity one = annotated.value_or(taken.is_zero() ? shape.memory : taken);
  const int64_t times = annotated ? 1 : pods_per_node;
  if (one.Ceiling() > kMostMemory / times)
    return Fail(Code::kInvalid, "it asks for " + std::to_string(times) + " times " + one.ToString() +
                                    " of memory; no node has more than 1 EiB");
  if (!one.is_zero()) job.memory_mib = (one.Ceiling() * times + kMiB - 1) / kMiB;
  return {};
}

Result<void> TakeGpus(std::span<const Pod* const> pods, int64_t pods_per_node, slurm::ExternalJob& job) {
  if (!job.gres.empty()) return {};
  int64_t most = 0;
  for (const Pod* pod : pods) {
    int64_t own = 0;
    for (const std::string_view resource : kGpuResources) {
      CAPSTAN_TRY(const Quantity taken, Taken(*pod, std::string(resource)));
      own += std::min(taken.Ceiling(), kMostGpus + 1);
    }
    most = std::max(most, own);
  }
  if (most > kMostGpus / pods_per_node)
    return Fail(Code::kInvalid,
                "it asks for more GPUs on a node than the " + std::to_string(kMostGpus) + " that are counted");
  if (most > 0) job.gres = "gres/gpu=" + std::to_string(most * pods_per_node);
  return {};
}

Result<void> TakeNodes(const Shape& shape, int64_t pods_per_node, slurm::ExternalJob& job) {
  const auto nodes = [&](int64_t places) { return (places - 1) / pods_per_node + 1; };
  CAPSTAN_TRY(const std::optional<int64_t> least, Number(shape, "min-nodes", kMostNodes, "nodes"));
  CAPSTAN_TRY(const std::optional<int64_t> most, Number(shape, "max-nodes", kMostNodes, "nodes"));
  job.nodes = least.value_or(nodes(shape.least));
  job.most_nodes = most.value_or(std::max(job.nodes, nodes(shape.most)));
  if (job.most_nodes < nodes(shape.least)) {
    return Fail(Code::kInvalid, "its pods need " + std::to_string(nodes(shape.least)) +
                                    " nodes, and annotations allow " + std::to_string(job.most_nodes) + " (" +
                                    Annotation("min-nodes") + ", max-nodes, pods-per-node)");
  }
  if (job.most_nodes < job.nodes) {
    return Fail(Code::kInvalid, "it needs " + std::to_string(job.nodes) + " nodes, and annotation " +
                                    Annotation("max-nodes") + " allows " + std::to_string(job.most_nodes));
  }
  return {};
}

bool SharesNodes(const Shape& shape) {
  std::string value(Trim(Value(shape, "exclusive")));
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return value == "false";
}

}  // namespace

void LeaveToPolicy(Shape& shape) {
  for (const std::string_view suffix : kIdentity) shape.annotations.erase(Annotation(suffix));
  for (const LimitedMember& limited : kLimited) shape.annotations.erase(Annotation(limited.suffix));
}

std::string Order::Hash() const {
  slurm::ExternalJob wanted = job;
  wanted.id = 0;
  wanted.admin_comment.clear();
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, wanted.Digest());
  return text.data();
}

Result<Order> OrderOf(std::span<const Pod* const> pods, const Shape& shape, const Settings& settings) {
  Order order{.job = {.name = shape.name,
                      .partition = settings.partition,
                      .mcs_label = settings.mcs_label,
                      .shared = SharesNodes(shape) ? settings.shared : "none"}};
  CAPSTAN_CHECK_OK(TakeTexts(shape, order.job));
  CAPSTAN_CHECK_OK(TakePolicy(shape, settings, order.job));
  CAPSTAN_TRY(const std::optional<int64_t> pods_per_node, Number(shape, "pods-per-node", kMostPodsPerNode, "pods"));
  order.pods_per_node = pods_per_node.value_or(1);
  order.job.tasks_per_node = order.pods_per_node;
  CAPSTAN_CHECK_OK(TakeNodes(shape, order.pods_per_node, order.job));
  CAPSTAN_CHECK_OK(TakeCpus(pods, shape, order.job));
  CAPSTAN_CHECK_OK(TakeMemory(pods, shape, order.pods_per_node, order.job));
  CAPSTAN_CHECK_OK(TakeGpus(pods, order.pods_per_node, order.job));
  CAPSTAN_TRY(order.job.limit_minutes, Number(shape, "timelimit", kMostMinutes, "minutes"));
  if (!order.job.limit_minutes) order.job.limit_minutes = shape.limit_minutes;
  return order;
}

}  // namespace capstan::bridge::group
