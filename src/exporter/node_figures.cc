#include "exporter/node_figures.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace capstan::exporter {
namespace {

using slurm::NodeFlag;
using slurm::NodeState;

struct Class {
  std::string_view beginning;  // of the reason, in small letters
  std::string_view name;
};
constexpr std::string_view kFreeMemory = "_memory_free_bytes";

constexpr Class kClasses[] = {
    {"not responding", "not_responding"},
    {"node unexpectedly rebooted", "rebooted"},
    {"kill task failed", "kill_task"},
    {"prolog", "prolog"},
    {"epilog", "epilog"},
    {"low ", "registration"},   // "Low RealMemory (reported:1 < 100.00% of configured:2)"
    {"gres/", "registration"},  // "gres/gpu count reported lower than configured (0 < 2)"
    {"invalid gres", "registration"},
    {"nhc", "health_check"},
    {"health", "health_check"},
    {"slurm-operator:", "operator"},
    {"slurm-bridge:", "bridge"},
};

// "gpu:a100" where a type is told, else "gpu"; what of a GRES has no type is counted under its bare name.
std::map<std::string, int64_t> Kinds(std::string_view text) {
  const slurm::Gres gres = slurm::Gres::Parse(text);
  std::map<std::string, int64_t> kinds;
  for (const auto& [name, count] : gres.by_name) {
    int64_t bare = count;
    if (const auto types = gres.types.find(name); types != gres.types.end()) {
      for (const auto& [type, of_type] : types->second) {
        kinds[name + ":" + type] = of_type;
        bare -= of_type;
      }
    }
    if (bare > 0 || !gres.types.contains(name)) kinds[name] = bare;
  }
  return kinds;
}

// The kind of the node's own under which GRES in use are counted. Slurm tells a type of what is in use where it tells none of the
// node, and none where it has one.
std::string OwnKind(const std::map<std::string, NodeFigures::Gres>& own, const std::string& used) {
  if (own.contains(used)) return used;
  const std::string name = used.substr(0, used.find(':'));
  if (own.contains(name)) return name;
  const auto first = own.lower_bound(name + ":");
  return first != own.end() && first->first.starts_with(name + ":") ? first->first : "";
}

std::pair<std::string_view, std::string_view> NameAndType(std::string_view kind) {
  const size_t colon = kind.find(':');
  if (colon == std::string_view::npos) return {kind, {}};
  return {kind.substr(0, colon), kind.substr(colon + 1)};
}

}  // namespace

std::string_view ClassOf(std::string_view reason) {
  if (Trim(reason).empty()) return "none";
  const std::string small = ToLower(Trim(reason));
  const auto found = std::ranges::find_if(kClasses, [&](const Class& c) { return small.starts_with(c.beginning); });
  return found == std::end(kClasses) ? "other" : found->name;
}

std::string_view Unavailability(const NodeState& state) {
  if (state.IsDown()) return "down";
  if (state.IsFailing()) return "fail";
  if (state.IsDraining()) return state.IsBusy() ? "draining" : "drained";
  return state.IsNotResponding() ? "not_responding" : "";
}

void NodeFigures::Add(slurm::NodeUsage node) {
  all_.Add(node);
  std::ranges::sort(node.partitions);
  node.partitions.erase(std::unique(node.partitions.begin(), node.partitions.end()), node.partitions.end());
  for (const std::string& partition : node.partitions)
    if (NodeCounts* counts = partitions_.At(partition)) counts->Add(node);

  std::map<std::string, Gres> gres;
  for (const auto& [kind, count] : Kinds(node.gres)) gres[kind].total = count;
  for (const auto& [kind, count] : Kinds(node.gres_used))
    if (const std::string own = OwnKind(gres, kind); !own.empty()) gres[own].used += count;
  for (const auto& [kind, count] : gres) {
    Gres* all = gres_.At(kind);
    if (all == nullptr) continue;
    all->total += count.total;
    all->used += count.used;
  }

  for (const std::string_view one : Split(node.topology, ',')) {
    const size_t colon = one.find(':');
    if (colon == std::string_view::npos) continue;
    Unit* unit = units_.At(TopologyUnit(one.substr(0, colon), one.substr(colon + 1)));
    if (unit == nullptr) continue;
    ++unit->nodes;
    unit->idle += node.state.IsUsable() && node.state.Has(NodeFlag::kIdle);
  }

  const auto [state, reason] = std::pair(Unavailability(node.state), ClassOf(node.reason));
  if (!state.empty()) ++unavailable_[{state, reason}];

  if (rows_.size() >= kMostNodes) {
    ++uncounted_rows_;
    return;
  }
  Row row{.name = std::move(node.name),
          .counts = {},
          .knows_free_memory = node.free_memory_mib.has_value(),
          .gres = {gres.begin(), gres.end()},
          .unavailability = state,
          .reason_class = reason,
          .since = node.reason_changed_at};
  row.counts.Add(node);
  rows_.push_back(std::move(row));
}

namespace {

// Each of the families behind `prefix`, with the samples that `samples` adds.
template <class Samples>
void EachFamily(Exposition& out, const char* prefix, std::span<const CountSeries<NodeCounts>> families,
                const Samples& samples) {
  for (const auto& family : families) {
    const std::string name = std::string(prefix).append(family.suffix);
    out.Family(name, family.help);
    samples(family);
  }
}

}  // namespace

void NodeFigures::Show(Exposition& out, const Names& partitions) const {
  EachFamily(out, "slurm_nodes", SeriesOfNodes(), [&](const auto& family) { out.Sample({}, family.value(all_)); });
  out.Family("slurm_nodes_usable", "Idle nodes on which a job could start at once");
  out.Sample({}, all_.usable);
  ShowPartitions(out, partitions);
  ShowRows(out);
  ShowGres(out);
  ShowUnits(out);
}

void NodeFigures::ShowPartitions(Exposition& out, const Names& partitions) const {
  Names all = partitions;
  for (const auto& [name, counts] : partitions_.values()) all.insert(name);
  const auto samples = [&](const CountSeries<NodeCounts>& family) {
    for (const std::string& name : all) {
      const NodeCounts* counts = partitions_.Find(name);
      out.Sample({{"partition", name}}, family.value(counts != nullptr ? *counts : NodeCounts()));
    }
  };
  EachFamily(out, "slurm_partition_nodes", SeriesOfNodes(), samples);
  EachFamily(out, "slurm_partition_nodes", SeriesOfNodeResources(), samples);
  out.Family("slurm_partition_nodes_usable", "Idle nodes on which a job could start at once");
  for (const std::string& name : all) {
    const NodeCounts* counts = partitions_.Find(name);
    out.Sample({{"partition", name}}, counts != nullptr ? counts->usable : int64_t(0));
  }
}

void NodeFigures::ShowRows(Exposition& out) const {
  EachFamily(out, "slurm_node", SeriesOfNodeResources(), [&](const CountSeries<NodeCounts>& family) {
    const bool is_free_memory = family.suffix == kFreeMemory;
    for (const Row& row : rows_) {
      if (!is_free_memory || row.knows_free_memory) out.Sample({{"node", row.name}}, family.value(row.counts));
    }
  });
  const auto gres = [&](std::string_view name, std::string_view help, int64_t Gres::* count) {
    out.Family(name, help);
    for (const Row& row : rows_)
      for (const auto& [kind, of] : row.gres) out.Sample({{"node", row.name}, {"gres", kind}}, of.*count);
  };
  gres("slurm_node_gres_total", "Generic resources of a node", &Gres::total);
  gres("slurm_node_gres_alloc_total", "Allocated generic resources of a node", &Gres::used);

  out.Family("slurm_nodes_unavailable", "Nodes that take no jobs, by state and class of the reason");
  for (const auto& [key, count] : unavailable_) out.Sample({{"state", key.first}, {"class", key.second}}, count);
  out.Family("slurm_node_unavailable_since_timestamp_seconds",
             "Since when a node has been unavailable, where Slurm says so");
  for (const Row& row : rows_) {
    if (row.unavailability.empty() || !row.since) continue;
    out.Sample({{"node", row.name}, {"state", row.unavailability}, {"class", row.reason_class}},
               UnixSeconds(*row.since));
  }
}

void NodeFigures::ShowGres(Exposition& out) const {
  const auto show = [&](std::string_view name, std::string_view help, int64_t Gres::* count) {
    out.Family(name, help);
    for (const auto& [kind, of] : gres_.values()) {
      const auto [gres, type] = NameAndType(kind);
      out.Sample({{"gres", gres}, {"type", type}}, of.*count);
    }
  };
  show("slurm_gres_total", "Generic resources of all nodes", &Gres::total);
  show("slurm_gres_alloc_total", "Allocated generic resources of all nodes", &Gres::used);
}

void NodeFigures::ShowUnits(Exposition& out) const {
  const auto show = [&](std::string_view name, std::string_view help, int64_t Unit::* count) {
    out.Family(name, help);
    for (const auto& [key, unit] : units_.values())
      out.Sample({{"topology", key.first}, {"unit", key.second}}, unit.*count);
  };
  show("slurm_topology_nodes", "Nodes of a block or switch", &Unit::nodes);
  show("slurm_topology_idle_nodes", "Nodes of a block or switch on which a job could start at once", &Unit::idle);
}

std::vector<Uncounted> NodeFigures::uncounted() const {
  return {{"node", uncounted_rows_},
          {"partition", partitions_.refused()},
          {"gres", gres_.refused()},
          {"unit", units_.refused()}};
}

}  // namespace capstan::exporter
