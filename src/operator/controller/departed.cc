#include "operator/controller/departed.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "operator/controller/conf_lines.h"
#include "operator/controller/questions.h"
#include "operator/reasons.h"
#include "slurm/conf.h"
#include "slurm/conf_check.h"
#include "slurm/hostlist.h"

namespace capstan::op::controller {
namespace {

using slurm::ConfItem;
using Items = std::vector<ConfItem>;

// From when the closed line was published until Slurm is believed: every kubelet has mounted the line by then, if nobody
// says that it is live, and nothing of what was published before is under way.
constexpr Duration kWhenLive = 30s, kElse = 2min;
// How often Slurm is asked: reading jobs takes slurmrestd a millisecond each, and may take a thirtieth of its time.
constexpr Duration kLookAgain = 15s, kPerJob = 30ms;
constexpr size_t kMostNamed = 5;        // of partitions, and of jobs of each, in a message
constexpr size_t kMostNodeSets = 1000;  // that stay for one partition; one with more stays without its nodes

bool Is(std::string_view key, std::string_view name) { return EqualsIgnoreCase(key, name); }

// What is asked for.
struct Wanted {
  explicit Wanted(const Config& config)
      : taken(config.taken),
        has_accounting(HasAccounting(config)),
        partitions(config.included),
        nodes(config.extra_conf.lines().Defined()) {
    for (const auto& [name, line] : config.extra_conf.lines().partitions) partitions.insert(name);
    for (const ConfigNodeSet& set : config.node_sets) {
      nodes.AddName(set.name);
      if (set.partition) partitions.insert(set.name);
    }
  }

  const std::set<std::string>& taken;
  const bool has_accounting;
  std::set<std::string> partitions;
  slurm::HostIndex nodes;  // what Nodes= may name; of what is too large to be looked at nothing is known to be there
};

bool SlurmTakes(const std::vector<Items>& lines) {
  slurm::ConfText text;
  for (const Items& line : lines) text.Line(line);
  const auto built = text.Build();
  return built && std::ranges::none_of(slurm::CheckConf(slurm::ConfFile::kSlurm, *built), &slurm::ConfFinding::refused);
}

// The NodeSets of `nodes` that only the published text has; nullopt: it names what neither has, with which slurmctld would
// not start.
std::optional<std::vector<Items>> NodeSetsFor(const std::string& nodes, const ConfLines& published, Wanted& wanted) {
  const auto list = slurm::Hostlist::Parse(nodes);
  if (!list) return std::nullopt;
  std::vector<Items> lines;
  bool known = true;
  const bool looked = wanted.nodes.ForEachMissing(*list, [&](const std::string& name) {
    if (Is(name, "ALL")) return true;
    const auto set = published.node_sets.find(name);
    known = set != published.node_sets.end() && !wanted.taken.contains(name) && set->second->size() == 2 &&
            Is((*set->second)[1].key, "Feature") && lines.size() < kMostNodeSets;
    if (known) lines.push_back(*set->second);
    return known;
  });
  if (!looked || !known) return std::nullopt;
  return lines;
}

// Nobody's default any more, and closed; all else as it was, as far as slurmctld would start with it.
std::optional<ConfigDeparted> Closed(const Items& line, const ConfLines& published, Wanted& wanted) {
  ConfigDeparted closed{.name = line.front().value, .lines = {}};
  const ConfItem state{"State", "DRAIN"};
  Items kept;
  for (const ConfItem& item : line) {
    if (Is(item.key, "State") || Is(item.key, "Default") || item.value.empty()) continue;
    if (slurm::NeedsQos(item) && !wanted.has_accounting) continue;
    if (Is(item.key, "Nodes")) {
      auto sets = NodeSetsFor(item.value, published, wanted);
      if (!sets) continue;
      closed.lines.insert(closed.lines.end(), sets->begin(), sets->end());
    }
    kept.push_back(item);
  }
  kept.push_back(state);
  closed.lines.push_back(std::move(kept));
  if (SlurmTakes(closed.lines)) return closed;
  closed.lines = {{line.front(), state}};
  if (SlurmTakes(closed.lines)) return closed;
  return std::nullopt;
}

std::string FirstOf(const std::vector<std::string>& all) {
  std::vector<std::string> first(all.begin(), all.begin() + std::ptrdiff_t(std::min(all.size(), kMostNamed)));
  const size_t more = all.size() - first.size();
  return Join(first, ", ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

class Keeping {
 public:
  Keeping(ReconcileBase& reconcile, const kube::Key& config_map, std::vector<DepartedPartition> departed,
          const api::Conditions& before)
      : reconcile_(reconcile),
        world_(reconcile.world),
        plan_(reconcile.plan),
        config_map_(config_map),
        departed_(std::move(departed)),
        live_(api::FindCondition(before, api::kConfigLive)) {}

  std::vector<ConfigDeparted> Run() {
    if (departed_.empty()) return {};
    Ask();
    std::vector<ConfigDeparted> kept;
    std::vector<std::string> told;
    for (const DepartedPartition& partition : departed_) {
      const std::string why = WhyKept(partition);
      if (why.empty()) continue;
      told.push_back(partition.config.name + " (" + why + ")");
      kept.push_back(partition.config);
    }
    if (told.empty()) return kept;
    reconcile_.findings.Own(api::kPartitionsKept, "True", "JobsMayNameThem",
                            "nobody asks for these partitions any more; they take no new jobs, and stay in slurm.conf "
                            "because Slurm ends jobs whose partition is missing: " +
                                FirstOf(told));
    return kept;
  }

 private:
  void Ask() {
    const plan::SlurmView slurm = world_.Slurm(plan_.slurm_cluster);
    if (!plan_.slurm || !slurm.heard()) return;
    std::vector<std::string> names;
    for (const DepartedPartition& partition : departed_) names.push_back(partition.config.name);
    const PartitionsInUse question(plan_.slurm_cluster, std::move(names));
    use_ = world_.Ask(question, Duration::max());
    const size_t jobs = use_.value != nullptr && use_.value->jobs_read ? use_.value->job_count : 0;
    const Duration every = kLookAgain + kPerJob * int64_t(jobs);
    use_ = world_.Ask(question, every);
    plan_.RequeueAfter(every);
  }

  // "": it can go.
  std::string WhyKept(const DepartedPartition& partition) const {
    if (!partition.is_published) return "it is being closed";
    const std::string& name = partition.config.name;
    const Duration held = world_.HeldFor("departed partition " + name);
    const Duration hold = live_ != nullptr && live_->status == "True" ? kWhenLive : kElse;
    if (!plan_.slurm) {
      return "there is no RestApi to ask for its jobs; without any, remove its line from ConfigMap " +
             config_map_.ToString();
    }
    if (use_.value == nullptr)
      return "its jobs are not known" + (use_.error.empty() ? "" : ": " + OneLine(use_.error, 200));
    const slurm::PartitionUse& use = *use_.value;
    if (!use.jobs_read)
      return "Slurm has " + std::to_string(use.job_count) + " jobs, too many to look for those that name it";
    const auto jobs = use.jobs.find(name);
    if (jobs != use.jobs.end() && !jobs->second.ids.empty()) return JobsOf(jobs->second.ids);
    if (live_ != nullptr && live_->status == "False") return "that it is closed is not live yet";
    const slurm::Partition* found = use.Find(name);
    if ((found != nullptr && found->open) || use_.age + hold > held) return "it was closed a moment ago";
    if (jobs != use.jobs.end())
      return std::to_string(jobs->second.over) + " jobs that are over, which slurmctld forgets after MinJobAge";
    return "";
  }

  static std::string JobsOf(const std::vector<int64_t>& ids) {
    std::vector<std::string> words;
    words.reserve(ids.size());
    for (const int64_t id : ids) words.push_back(std::to_string(id));
    return (words.size() == 1 ? "job " : "jobs ") + FirstOf(words);
  }

  ReconcileBase& reconcile_;
  const plan::World& world_;
  plan::Plan& plan_;
  const kube::Key& config_map_;
  const std::vector<DepartedPartition> departed_;
  const api::Condition* live_;
  plan::Answer<PartitionsInUse::Value> use_;
};

}  // namespace

std::vector<DepartedPartition> FindDeparted(const ConfSource& published, const Config& wanted) {
  const ConfLines& there = published.lines();
  Wanted asked_for(wanted);
  std::vector<DepartedPartition> departed;
  for (const auto& [name, line] : there.partitions) {
    if (asked_for.partitions.contains(name)) continue;
    // Of so many none is published: they are only counted.
    auto closed = departed.size() < kMostDeparted
                      ? Closed(*line, there, asked_for)
                      : ConfigDeparted{.name = name, .lines = {{line->front(), {"State", "DRAIN"}}}};
    if (!closed) continue;
    const bool is_published = closed->lines.back() == *line;
    departed.push_back({*std::move(closed), is_published});
  }
  return departed;
}

std::vector<ConfigDeparted> KeepDeparted(ReconcileBase& reconcile, const kube::Key& config_map,
                                         std::vector<DepartedPartition> departed, const api::Conditions& before) {
  return Keeping(reconcile, config_map, std::move(departed), before).Run();
}

}  // namespace capstan::op::controller
