#include "bridge/order.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bridge/names.h"

namespace capstan::bridge {
namespace {

using kube::Quantity;

constexpr int64_t kMiB = int64_t{1} << 20, kMostMemory = int64_t{1} << 60;
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

constexpr auto kRefused = std::to_array<std::string_view>({"user-id", "group-id", "priority"});

Result<void> TakeTexts(const Pod& pod, slurm::ExternalJob& job) {
  for (const TextMember& text : kTexts) {
    const std::string& value = pod.metadata.Annotation(Annotation(text.suffix));
    if (value.empty()) continue;
    if (value.size() > kLongestText) return Malformed(text.suffix, value, "at most 1024 bytes long");
    if (std::ranges::any_of(value, [](unsigned char c) { return c < ' ' || c == 0x7f; }))
      return Malformed(text.suffix, value, "one line without control characters");
    job.*text.member = value;
  }
  for (const std::string_view suffix : kRefused) {
    if (!pod.metadata.Annotation(Annotation(suffix)).empty()) {
      return Fail(Code::kInvalid, "annotation " + Annotation(suffix) +
                                      " is not allowed here: jobs are charged to the bridge's own user; remove it");
    }
  }
  return {};
}

Result<Quantity> QuantityOf(const std::map<std::string, std::string>& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? Result<Quantity>(Quantity()) : Quantity::Parse(found->second);
}

// One side, requests or limits, of the pod.
Result<Quantity> Sum(const Pod& pod, const std::string& resource,
                     std::map<std::string, std::string> Resources::* side) {
  Quantity running, largest;
  for (const Container& container : pod.spec.init_containers) {
    CAPSTAN_TRY(const Quantity own, QuantityOf(container.resources.*side, resource));
    const bool sidecar = container.restart_policy == "Always";
    largest = std::max(largest, running + own);
    if (sidecar) running += own;
  }
  for (const Container& container : pod.spec.containers) {
    CAPSTAN_TRY(const Quantity own, QuantityOf(container.resources.*side, resource));
    running += own;
  }
  Quantity sum = std::max(running, largest);
  CAPSTAN_TRY(const Quantity whole, QuantityOf(pod.spec.resources.*side, resource));
  if (!whole.is_zero()) sum = whole;
  CAPSTAN_TRY(const Quantity overhead, QuantityOf(pod.spec.overhead, resource));
  return sum.is_zero() ? sum : sum + overhead;
}

// The annotation's quantity where there is one, else what the pod takes.
Result<Quantity> Wanted(const Pod& pod, std::string_view suffix, const std::string& resource) {
  const std::string& value = pod.metadata.Annotation(Annotation(suffix));
  if (value.empty()) return Taken(pod, resource);
  const auto quantity = Quantity::Parse(value);
  if (!quantity || quantity->is_negative() || quantity->is_zero())
    return Malformed(suffix, value, "a quantity above zero, such as \"2\" or \"4Gi\"");
  return *quantity;
}

Result<std::optional<int64_t>> Minutes(const Pod& pod) {
  constexpr int64_t kMost = int64_t{366} * 24 * 60;
  const std::string& value = pod.metadata.Annotation(Annotation("timelimit"));
  if (value.empty()) return std::nullopt;
  const auto minutes = ParseInt(value);
  if (!minutes || *minutes < 1 || *minutes > kMost)
    return Malformed("timelimit", value, "a whole number of minutes from 1 to " + std::to_string(kMost));
  return *minutes;
}

bool SharesNodes(const Pod& pod) {
  std::string value(Trim(pod.metadata.Annotation(Annotation("exclusive"))));
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return value == "false";
}

}  // namespace

Result<Quantity> Taken(const Pod& pod, const std::string& resource) {
  CAPSTAN_TRY(const Quantity requests, Sum(pod, resource, &Resources::requests));
  CAPSTAN_TRY(const Quantity limits, Sum(pod, resource, &Resources::limits));
  return std::max(requests, limits);
}

Result<slurm::ExternalJob> OrderOf(const Pod& pod, const Settings& settings) {
  slurm::ExternalJob job{.name = pod.metadata.namespace_ + "/" + pod.metadata.name,
                         .partition = settings.partition,
                         .mcs_label = settings.mcs_label,
                         .nodes = 1,
                         .tasks_per_node = 1,
                         .shared = SharesNodes(pod) ? "mcs" : "none"};
  CAPSTAN_CHECK_OK(TakeTexts(pod, job));
  CAPSTAN_TRY(const Quantity cpu, Wanted(pod, "cpu-per-task", "cpu"));
  if (cpu.Ceiling() > kMostCpus)
    return Fail(Code::kInvalid,
                "it asks for " + cpu.ToString() + " CPUs; Slurm counts " + std::to_string(kMostCpus) + " at most");
  if (!cpu.is_zero()) job.cpus_per_task = cpu.Ceiling();
  CAPSTAN_TRY(const Quantity memory, Wanted(pod, "mem-per-node", "memory"));
  if (!memory.is_zero()) {
    const int64_t bytes = memory.Ceiling();
    if (bytes > kMostMemory)
      return Fail(Code::kInvalid, "it asks for " + memory.ToString() + " of memory; no node has more than 1 EiB");
    job.memory_mib = (bytes + kMiB - 1) / kMiB;
  }
  CAPSTAN_TRY(job.limit_minutes, Minutes(pod));
  return job;
}

}  // namespace capstan::bridge
