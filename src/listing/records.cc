#include "listing/records.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/text.h"

namespace capstan::listing {
namespace {

std::string Text(int64_t number) { return std::to_string(number); }
// The beginning of 1970 is how Slurm says that there is none.
std::string Text(const std::optional<Time>& time) {
  return time && *time != Time() ? FormatRfc3339(*time) : std::string();
}

// "1-02:03:04", as Slurm writes it.
std::string LimitText(const std::optional<Duration>& limit) {
  if (!limit) return "UNLIMITED";
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(*limit % 24h));
  char text[64];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d", int(time.hours().count()), int(time.minutes().count()),
                int(time.seconds().count()));
  const int64_t days = *limit / 24h;
  return days > 0 ? std::to_string(days) + "-" + text : text;
}

// A JSON object that leaves out what is not known.
class Object {
 public:
  void Set(std::string_view name, const std::string& text) {
    if (!text.empty()) object_[name] = text;
  }
  void Set(std::string_view name, const std::optional<Time>& time) { Set(name, Text(time)); }
  void Set(std::string_view name, const std::vector<std::string>& texts) {
    boost::json::array array;
    for (const std::string& text : texts) array.emplace_back(text);
    object_[name] = std::move(array);
  }
  void SetNumber(std::string_view name, int64_t number) { object_[name] = number; }
  void SetBool(std::string_view name, bool value) { object_[name] = value; }
  // In minutes, as Slurm has it.
  void SetLimit(std::string_view name, const std::optional<Duration>& limit) {
    if (limit)
      object_[name] = int64_t(*limit / 1min);
    else
      object_[name] = "infinite";
  }
  json::Value Done() && { return std::move(object_); }

 private:
  boost::json::object object_;
};

// One row for each number in a struct of numbers, and one for each remote procedure call.
class Figures {
 public:
  Figures(std::vector<Shown>& into, Format format) : into_(into), format_(format) {}

  void Add(const json::Schema& schema, const void* object, const std::string& prefix) {
    for (const json::Member& member : schema.members()) {
      const std::string name = prefix + member.name();
      const void* value = member.at(object);
      switch (member.type().kind) {
        case json::Kind::kInteger:
          AddRow(name, *static_cast<const int64_t*>(value));
          break;
        case json::Kind::kBool:
          AddRow(name, *static_cast<const bool*>(value));
          break;
        case json::Kind::kObject:
          Add(member.type().schema(), value, name + ".");
          break;
        default:
          break;
      }
    }
  }
  void AddRow(const std::string& name, json::Value value) {
    Shown& shown = into_.emplace_back(Shown{.key = name, .cells = {}, .object = {}});
    if (format_ == Format::kTable)
      shown.cells = {name, value.is_string() ? std::string(value.as_string()) : json::Serialize(value)};
    else
      shown.object = boost::json::object{{"name", name}, {"value", std::move(value)}};
  }

 private:
  std::vector<Shown>& into_;
  const Format format_;
};

// A record as `format` wants it: the one of the two functions that it needs is called.
template <class Cells, class Fill>
Shown Make(std::string key, Format format, Cells cells, Fill fill) {
  Shown shown{.key = std::move(key), .cells = {}, .object = {}};
  if (format == Format::kTable) {
    shown.cells = cells();
    return shown;
  }
  Object object;
  fill(object);
  shown.object = std::move(object).Done();
  return shown;
}

}  // namespace

std::vector<Column> NodeColumns() {
  return {{"NAME"}, {"STATE"},      {"CPUS", true}, {"MEMORY(MiB)", true},
          {"GRES"}, {"PARTITIONS"}, {"VERSION"},    {"REASON"}};
}

Shown Show(const slurm::Node& node, Format format) {
  const auto cells = [&] {
    return std::vector<std::string>{node.name, node.state.ToString(),      Text(node.cpus), Text(node.memory_mib),
                                    node.gres, Join(node.partitions, ","), node.version,    node.reason};
  };
  return Make(node.name, format, cells, [&](Object& object) {
    object.Set("name", node.name);
    object.Set("state", node.state.Names());
    object.Set("reason", node.reason);
    object.Set("reason_set_by_user", node.reason_set_by);
    object.Set("reason_changed_at", node.reason_changed_at);
    object.Set("comment", node.comment);
    object.Set("extra", node.extra);
    object.Set("features", node.features);
    object.Set("active_features", node.active_features);
    object.Set("partitions", node.partitions);
    object.Set("address", node.address);
    object.Set("hostname", node.hostname);
    object.Set("topology", node.topology);
    object.Set("reservation", node.reservation);
    object.Set("gres", node.gres);
    object.Set("version", node.version);
    object.SetNumber("weight", node.weight);
    object.SetNumber("cpus", node.cpus);
    object.SetNumber("effective_cpus", node.job_cpus);
    object.SetNumber("real_memory", node.memory_mib);
    object.Set("boot_time", node.boot_time);
    object.Set("slurmd_start_time", node.slurmd_start_time);
  });
}

std::vector<Column> JobColumns() {
  return {{"ID", true},  {"PARTITION"}, {"NAME"},        {"USER"},  {"STATE"},
          {"SUBMITTED"}, {"START"},     {"LIMIT", true}, {"NODES"}, {"REASON"}};
}

Shown Show(const slurm::Job& job, Format format) {
  const std::string id = Text(job.id);
  const auto cells = [&] {
    return std::vector<std::string>{id,
                                    job.partition,
                                    job.name,
                                    job.user,
                                    job.state.ToString(),
                                    Text(job.submit_time),
                                    Text(job.start_time),
                                    LimitText(job.time_limit),
                                    job.nodes,
                                    job.state_reason == "None" ? "" : job.state_reason};
  };
  return Make(id, format, cells, [&](Object& object) {
    object.SetNumber("job_id", job.id);
    object.Set("job_state", job.state.Names());
    object.Set("state_reason", job.state_reason);
    object.Set("name", job.name);
    object.Set("user_name", job.user);
    object.Set("partition", job.partition);
    object.Set("nodes", job.nodes);
    object.Set("admin_comment", job.admin_comment);
    object.SetBool("external", job.external);
    object.Set("submit_time", job.submit_time);
    object.Set("start_time", job.start_time);
    object.Set("end_time", job.end_time);
    object.Set("preempt_time", job.preempt_time);
    object.SetLimit("time_limit", job.time_limit);
  });
}

std::vector<Column> PartitionColumns() {
  return {{"NAME"}, {"STATE"}, {"NODES", true}, {"CPUS", true}, {"LIMIT", true}, {"NODESETS"}};
}

Shown Show(const slurm::Partition& partition, Format format) {
  const auto cells = [&] {
    return std::vector<std::string>{partition.name,
                                    partition.state,
                                    Text(partition.node_count),
                                    Text(partition.cpu_count),
                                    LimitText(partition.time_limit),
                                    partition.nodes};
  };
  return Make(partition.name, format, cells, [&](Object& object) {
    object.Set("name", partition.name);
    object.Set("state", partition.state);
    object.SetBool("open", partition.open);
    object.Set("node_sets", partition.nodes);
    object.SetNumber("nodes", partition.node_count);
    object.SetNumber("cpus", partition.cpu_count);
    object.SetLimit("time_limit", partition.time_limit);
  });
}

std::vector<Column> ReservationColumns() { return {{"NAME"}, {"START"}, {"END"}, {"USERS"}, {"FLAGS"}, {"NODES"}}; }

Shown Show(const slurm::Reservation& reservation, Format format) {
  const auto cells = [&] {
    return std::vector<std::string>{reservation.name,
                                    Text(reservation.start),
                                    Text(reservation.end),
                                    Join(reservation.users, ","),
                                    Join(reservation.flags, ","),
                                    reservation.nodes};
  };
  return Make(reservation.name, format, cells, [&](Object& object) {
    object.Set("name", reservation.name);
    object.Set("start_time", reservation.start);
    object.Set("end_time", reservation.end);
    object.Set("users", reservation.users);
    object.Set("flags", reservation.flags);
    object.Set("node_list", reservation.nodes);
  });
}

std::vector<Column> PingColumns() { return {{"CONTROLLER"}, {"CONFIGURED"}, {"RESPONDS"}}; }

Shown Show(const slurm::ControllerPing& ping, Format format) {
  const auto cells = [&] {
    return std::vector<std::string>{ping.hostname, ping.primary ? "primary" : "backup", ping.responding ? "yes" : "no"};
  };
  return Make(ping.hostname, format, cells, [&](Object& object) {
    object.Set("hostname", ping.hostname);
    object.SetBool("primary", ping.primary);
    object.SetBool("responding", ping.responding);
  });
}

std::vector<Column> StatisticsColumns() { return {{"FIGURE"}, {"VALUE", true}}; }

std::vector<Shown> ShowAll(const slurm::Statistics& statistics, Format format) {
  std::vector<Shown> shown;
  Figures figures(shown, format);
  figures.Add(slurm::Statistics::Schema(), &statistics, "");
  const auto add_time = [&figures](const std::string& name, int64_t seconds) {
    if (seconds > 0) figures.AddRow(name, json::Value(FormatRfc3339(FromUnixSeconds(seconds))));
  };
  add_time("job_states_ts", statistics.job_states_ts);
  add_time("bf_when_last_cycle", statistics.bf_when_last_cycle);
  for (const slurm::RpcCount& rpc : statistics.rpcs) {
    figures.AddRow("rpcs." + rpc.type + ".count", rpc.count);
    figures.AddRow("rpcs." + rpc.type + ".microseconds", rpc.microseconds);
  }
  return shown;
}

}  // namespace capstan::listing
