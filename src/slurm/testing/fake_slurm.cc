#include "slurm/testing/fake_slurm.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "slurm/hostlist.h"

namespace capstan::slurm::testing {

const Refusal Refusal::kNoSuchNode{2018, "Invalid node name specified"};
const Refusal Refusal::kNodeExists{2168, "Node already exists in the node table"};
const Refusal Refusal::kTopology{2178, "Requested topology configuration is not available"};
const Refusal Refusal::kNoSuchPartition{2000, "Invalid partition name specified"};
const Refusal Refusal::kDuplicate{2011, "Duplicate job id"};
const Refusal Refusal::kNoSuchJob{2017, "Invalid job id specified"};
const Refusal Refusal::kAlreadyOver{2021, "Job/step already completing or completed"};
const Refusal Refusal::kFinished{2084, "Job has already finished"};
const Refusal Refusal::kFiltered{2172, "Cannot signal job"};
const Refusal Refusal::kBusy{2016, "Requested nodes are busy"};
const Refusal Refusal::kFeature{2031, "Invalid feature specification"};
const Refusal Refusal::kReservation{2053, "Requested reservation is invalid"};
const Refusal Refusal::kTime{2054, "Invalid time specified"};
const Refusal Refusal::kStarted{2104, "Reservation already started"};
const Refusal Refusal::kTransition{2180, "Invalid node state transition"};

namespace {

// Slurm keeps no finer times.
Time WholeSeconds(Time time) { return std::chrono::floor<std::chrono::seconds>(time); }

constexpr std::string_view kAllNodes = "ALL_NODES";  // also those that come later

bool IsOfAll(const Reservation& reservation) {
  return std::ranges::find(reservation.flags, kAllNodes) != reservation.flags.end();
}

std::vector<std::string> NodesOf(const Reservation& reservation) { return ExpandHostlist(reservation.nodes).value(); }

// After which a reservation comes again; 0: it does not.
Duration PeriodOf(const Reservation& reservation) {
  const auto has = [&](std::string_view flag) {
    return std::ranges::find(reservation.flags, flag) != reservation.flags.end();
  };
  if (has("HOURLY")) return 1h;
  return has("DAILY") ? Duration(24h) : has("WEEKLY") ? Duration(7 * 24h) : Duration(0);
}

}  // namespace

FakeSlurm::FakeSlurm(async::Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      boot_time_(loop.WallNow()),
      nodes_changed_(boot_time_),
      jobs_changed_(boot_time_) {}

FakeSlurm::~FakeSlurm() {
  for (const auto& id : timers_) loop_.Unschedule(id);
}

void FakeSlurm::Later(Duration wait, std::function<void()> work) {
  auto self = std::make_shared<async::Loop::TimerId>();
  *self = loop_.Schedule(loop_.Now() + wait, [this, self, life = life_, work = std::move(work)] {
    timers_.erase(*self);
    if (life == life_) work();
  });
  timers_.insert(*self);
}

// --- slurmd ----------------------------------------------------------------------------------------------------------

void FakeSlurm::StartSlurmd(SlurmdSpec spec) {
  const std::string name = spec.name;
  slurmds_[name] = std::move(spec);
  slurmd_started_[name] = loop_.WallNow();
  slurmd_began_[name] = loop_.Now();
  unregistered_.insert(name);
  if (controller_up_) Register(name);
}

void FakeSlurm::RestartSlurmd(const std::string& name) {
  SlurmdSpec spec = slurmds_.at(name);
  StartSlurmd(std::move(spec));
}

void FakeSlurm::StopSlurmd(const std::string& name) {
  slurmds_.erase(name);
  unregistered_.erase(name);
  const auto record = records_.find(name);
  const bool asleep = record != records_.end() && IsAsleep(record->second);
  if (!asleep) KillJobsOn(name);  // those that wait for the next one have not begun
  if (!controller_up_ || record == records_.end() || asleep) return;
  Later(options_.ping_interval, [this, name] {
    if (!SlurmdRuns(name)) WentSilent(name);
  });
}

void FakeSlurm::WentSilent(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end() || IsAsleep(found->second)) return;
  Record& record = found->second;
  record.node.state.Add(NodeFlag::kNotResponding);
  record.node.boot_time.reset();
  NodesChanged();
  DownUnlessHeard(name, options_.slurmd_timeout - options_.ping_interval);
}

void FakeSlurm::DownUnlessHeard(const std::string& name, Duration within) {
  Later(within, [this, name] {
    const auto it = records_.find(name);
    if (it == records_.end() || SlurmdRuns(name) || it->second.node.state.IsDown() || IsAsleep(it->second)) return;
    it->second.node.state.Remove(NodeFlag::kIdle);
    it->second.node.state.Add(NodeFlag::kDown);
    if (it->second.node.reason.empty()) it->second.node.reason = kReasonNotResponding;
    NodesChanged();
  });
}

void FakeSlurm::Register(const std::string& name) {
  const SlurmdSpec& spec = slurmds_.at(name);
  unregistered_.erase(name);
  const auto [found, created] = records_.try_emplace(name);
  Record& record = found->second;
  Node& node = record.node;
  if (created) {
    node.name = name;
    node.state = NodeState{NodeFlag::kIdle, NodeFlag::kDynamicNorm};
    node.features = node.active_features = spec.features;
    node.weight = spec.weight;
    node.partitions = {options_.partition};
  }
  // A slurmd of before it was powered up counts for nothing; any that registers otherwise shows that it is there.
  const bool up = node.state.Has(NodeFlag::kPoweringUp);
  if (up && slurmd_began_.at(name) < *record.powered) return;
  if (up || node.state.Has(NodeFlag::kPoweredDown)) record.busy = loop_.Now();
  for (const NodeFlag flag : {NodeFlag::kPoweredDown, NodeFlag::kPoweringDown}) node.state.Remove(flag);
  // Of an existing record, registration changes where it is and its topology, and none of what an update can
  // set.
  node.topology = spec.topology;
  node.address = spec.address;
  node.hostname = name;
  node.version = options_.release;
  node.cpus = node.job_cpus = spec.cpus;
  node.memory_mib = node.job_memory_mib = 1024;
  node.slurmd_start_time = WholeSeconds(slurmd_started_.at(name));
  if (up) {
    node.state.Remove(NodeFlag::kPoweringUp);
    Heard(record);
    BeginConfigured(name);
    return;
  }
  if (record.heard && spec.boot_time > *record.heard && options_.return_to_service != 2) return WasRebooted(record);
  Heard(record);
  BeginConfigured(name);
}

void FakeSlurm::WasRebooted(Record& record) {
  Node& node = record.node;
  KillJobsOn(node.name);
  if (node.reason.empty() || node.reason == kReasonNotResponding) node.reason = kReasonRebooted;
  node.state.Remove(NodeFlag::kIdle);
  node.state.Add(NodeFlag::kDown);
  SignOfLife(record);
}

// Any sign of life counts, not only a registration.
void FakeSlurm::Heard(Record& record) {
  Node& node = record.node;
  const bool returns =
      options_.return_to_service == 2 || (options_.return_to_service == 1 && node.reason == kReasonNotResponding);
  if (node.state.IsDown() && returns) {
    if (on_return) on_return(node);
    node.state.Remove(NodeFlag::kDown);
    node.state.Add(NodeFlag::kIdle);
    SettleReason(record);
  }
  SignOfLife(record);
}

void FakeSlurm::SignOfLife(Record& record) {
  record.heard = loop_.WallNow();
  record.node.state.Remove(NodeFlag::kNotResponding);
  record.node.boot_time = slurmds_.at(record.node.name).boot_time;
  NodesChanged();
}

// slurmctld has forgotten when it last heard from the node and asks it.
void FakeSlurm::AwaitContact(const std::string& name) {
  Record& record = records_.at(name);
  if (record.node.state.Has(NodeFlag::kExternal)) return;
  record.node.state.Add(NodeFlag::kNotResponding);
  record.node.boot_time.reset();
  NodesChanged();
  if (!SlurmdRuns(name)) return DownUnlessHeard(name, options_.slurmd_timeout);
  Later(options_.contact, [this, name] {
    if (SlurmdRuns(name) && records_.contains(name)) Heard(records_.at(name));
  });
}

// --- Jobs ------------------------------------------------------------------------------------------------------------

std::optional<int64_t> FakeSlurm::StartJob(JobSpec spec) {
  for (const std::string& name : spec.nodes) {
    const Record& record = records_.at(name);
    if (!IsStartable(record) || !HasRoom(record, spec.whole_nodes)) return std::nullopt;
  }
  const int64_t id = next_job_++;
  bool waits = false;
  for (const std::string& name : spec.nodes) waits |= IsAsleep(records_.at(name));
  Job job{.id = id,
          .state = JobState{JobFlag::kRunning},
          .state_reason = "None",
          .name = "wrap",
          .user = spec.user,
          .partition = spec.partition.empty() ? options_.partition : spec.partition,
          .nodes = CompressHostlist(spec.nodes),
          .admin_comment = {},
          .submit_time = WholeSeconds(loop_.WallNow()),
          .start_time = WholeSeconds(loop_.WallNow()),
          .end_time = std::nullopt,
          .preempt_time = std::nullopt,
          .time_limit = spec.time_limit};
  for (const std::string& name : spec.nodes) records_.at(name).jobs.insert(id);
  if (waits) job.state.Add(JobFlag::kConfiguring);
  if (spec.runs_for && !waits) RunFor(id, *spec.runs_for);
  jobs_[id] = std::move(job);
  job_specs_[id] = std::move(spec);
  NodesChanged();
  JobsChanged();
  return id;
}

bool FakeSlurm::HasRoom(const Record& record, bool whole) const {
  return std::ranges::none_of(record.jobs, [&](int64_t other) { return whole || job_specs_.at(other).whole_nodes; });
}

void FakeSlurm::RunFor(int64_t id, Duration left) {
  const Tick end = loop_.Now() + left;
  job_ends_[id] = end;
  Later(left, [this, id, end] {
    if (const auto due = job_ends_.find(id); due != job_ends_.end() && due->second == end) FinishJob(id);
  });
}

bool FakeSlurm::SuspendJob(int64_t id) {
  const auto found = jobs_.find(id);
  if (!controller_up_ || found == jobs_.end() || !found->second.state.Has(JobFlag::kRunning)) return false;
  if (found->second.state.Has(JobFlag::kConfiguring)) return false;
  found->second.state = JobState{JobFlag::kSuspended};
  for (const std::string& name : job_specs_.at(id).nodes) {
    Record& record = records_.at(name);
    record.jobs.erase(id);
    record.suspended.insert(id);
  }
  if (const auto due = job_ends_.extract(id)) job_left_[id] = due.mapped() - loop_.Now();
  NodesChanged();
  JobsChanged();
  return true;
}

bool FakeSlurm::ResumeJob(int64_t id) {
  const auto found = jobs_.find(id);
  if (!controller_up_ || found == jobs_.end() || !found->second.state.Has(JobFlag::kSuspended)) return false;
  JobSpec& spec = job_specs_.at(id);
  for (const std::string& name : spec.nodes)
    if (!HasRoom(records_.at(name), spec.whole_nodes)) return false;
  found->second.state = JobState{JobFlag::kRunning};
  for (const std::string& name : spec.nodes) {
    Record& record = records_.at(name);
    record.suspended.erase(id);
    record.jobs.insert(id);
  }
  if (const auto left = job_left_.extract(id)) {
    spec.runs_for = loop_.WallNow() - *found->second.start_time + left.mapped();  // as a restarted slurmctld counts
    RunFor(id, left.mapped());
  }
  NodesChanged();
  JobsChanged();
  return true;
}

void FakeSlurm::EndJob(int64_t id, JobFlag end) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !found->second.state.HasAny({JobFlag::kRunning, JobFlag::kSuspended})) return;
  job_ends_.erase(id);
  job_left_.erase(id);
  found->second.state = JobState{end, JobFlag::kCompleting};
  found->second.end_time = WholeSeconds(loop_.WallNow());
  for (const std::string& name : job_specs_.at(id).nodes) {
    const auto record = records_.find(name);
    if (record == records_.end()) continue;
    if (record->second.jobs.erase(id) + record->second.suspended.erase(id) == 0) continue;
    record->second.completing.insert(id);
  }
  NodesChanged();
  JobsChanged();
  Later(options_.completing, [this, id] {
    for (auto& [name, record] : records_)
      if (record.completing.erase(id) > 0) NodesChanged();
    const auto job = jobs_.find(id);
    if (job == jobs_.end()) return;
    job->second.state.Remove(JobFlag::kCompleting);
    JobsChanged();
    Retire(id);
  });
}

void FakeSlurm::Retire(int64_t id) {
  // Another job may have its id by then.
  Later(options_.min_job_age, [this, id, submitted = jobs_.at(id).submit_time] {
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.submit_time != submitted || !job->second.state.IsOver()) return;
    jobs_.erase(job);
    JobsChanged();
  });
}

// --- External jobs ---------------------------------------------------------------------------------------------------

Outcome FakeSlurm::SubmitJob(const ExternalJob& job) {
  if (jobs_.contains(job.id)) return Refusal::kDuplicate;
  const std::string partition = job.partition.empty() ? options_.partition : job.partition;
  if (partition != options_.partition && !partitions.contains(partition)) return Refusal::kNoSuchPartition;
  Job made{.id = job.id,
           .state = JobState{JobFlag::kPending},
           .state_reason = "None",
           .name = job.name,
           .user = job.user.empty() ? "slurm" : job.user,
           .partition = partition,
           .nodes = {},
           .admin_comment = job.admin_comment,
           .external = true,
           .submit_time = WholeSeconds(loop_.WallNow()),
           .start_time = std::nullopt,
           .end_time = std::nullopt,
           .preempt_time = std::nullopt,
           .time_limit = std::nullopt};
  if (job.limit_minutes) made.time_limit = std::chrono::minutes(*job.limit_minutes);
  job_specs_[job.id] = {.nodes = {}, .whole_nodes = job.shared == "none", .user = made.user, .partition = partition};
  orders_[job.id] = job;
  jobs_[job.id] = std::move(made);
  JobsChanged();
  return std::nullopt;
}

void FakeSlurm::WarnOfPreemption(int64_t id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || !found->second.state.Has(JobFlag::kRunning)) return;
  found->second.preempt_time = WholeSeconds(loop_.WallNow());
  JobsChanged();
}

bool FakeSlurm::RunPending(int64_t id, const std::vector<std::string>& nodes) {
  const auto found = jobs_.find(id);
  if (!controller_up_ || found == jobs_.end() || !found->second.state.IsPending()) return false;
  JobSpec& spec = job_specs_.at(id);
  for (const std::string& name : nodes) {
    const auto record = records_.find(name);
    if (record == records_.end() || !StateOf(record->second).IsUsable()) return false;
    if (!HasRoom(record->second, spec.whole_nodes)) return false;
    const auto& excluded = orders_.at(id).excluded_nodes;
    if (std::ranges::find(excluded, name) != excluded.end()) return false;
  }
  Job& job = found->second;
  spec.nodes = nodes;
  job.state = JobState{JobFlag::kRunning};
  job.state_reason = "None";
  job.nodes = CompressHostlist(nodes);
  job.start_time = WholeSeconds(loop_.WallNow());
  for (const std::string& name : nodes) records_.at(name).jobs.insert(id);
  FollowLimit(id);
  NodesChanged();
  JobsChanged();
  return true;
}

void FakeSlurm::FollowLimit(int64_t id) {
  const Job& job = jobs_.at(id);
  if (!job.time_limit) return;
  const Time end = *job.start_time + *job.time_limit;
  Later(std::max(Duration(0), end - loop_.WallNow()), [this, id, start = job.start_time] {
    const auto it = jobs_.find(id);
    if (it != jobs_.end() && it->second.start_time == start) EndJob(id, JobFlag::kTimeout);
  });
}

void FakeSlurm::Expect(int64_t id, std::string reason, std::optional<Time> start) {
  Job& job = jobs_.at(id);
  job.state_reason = std::move(reason);
  job.start_time = start;
  JobsChanged();
}

Outcome FakeSlurm::UpdateJob(const JobUpdate& update) {
  const auto found = jobs_.find(update.id);
  if (found == jobs_.end()) return Refusal::kNoSuchJob;
  if (found->second.state.IsOver()) return Refusal::kFinished;
  if (update.admin_comment) found->second.admin_comment = *update.admin_comment;
  if (update.name) found->second.name = *update.name;
  JobsChanged();
  return std::nullopt;
}

Outcome FakeSlurm::CancelExactly(const JobCancel& cancel) {
  const auto found = jobs_.find(cancel.id);
  if (found == jobs_.end()) return Refusal::kNoSuchJob;
  const Job& job = found->second;
  if (job.state.IsOver() || job.state.Has(JobFlag::kCompleting)) return Refusal::kAlreadyOver;
  const bool other_state = cancel.only_if && !job.state.Has(*cancel.only_if);
  if (job.name != cancel.name || other_state) return Refusal::kFiltered;
  EndJobAs(cancel.id, JobFlag::kCancelled);
  return std::nullopt;
}

void FakeSlurm::EndJobAs(int64_t id, JobFlag end) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  if (!found->second.state.IsPending()) return EndJob(id, end);
  found->second.state = JobState{end};
  found->second.start_time = found->second.end_time = WholeSeconds(loop_.WallNow());  // as Slurm does
  JobsChanged();
  Retire(id);
}

void FakeSlurm::ForgetJob(int64_t id) {
  for (auto& [name, record] : records_) {
    record.jobs.erase(id);
    record.suspended.erase(id);
    record.completing.erase(id);
  }
  jobs_.erase(id);
  NodesChanged();
  JobsChanged();
}

void FakeSlurm::KillJobsOn(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end()) return;
  std::set<int64_t> lost = found->second.jobs;
  lost.insert(found->second.suspended.begin(), found->second.suspended.end());
  for (const int64_t id : lost) {
    killed_.push_back(id);
    EndJob(id, JobFlag::kNodeFail);
    found->second.completing.erase(id);
  }
}

// --- slurmctld -------------------------------------------------------------------------------------------------------

void FakeSlurm::StopController() { controller_up_ = false; }

void FakeSlurm::StartController(Lose lose) {
  controller_up_ = true;
  ++life_;
  // Slurm counts in seconds, and two lives never begin in the same one.
  boot_time_ = std::max(loop_.WallNow(), boot_time_ + 1s);
  NodesChanged();
  JobsChanged();
  if (lose == Lose::kNodes) records_.clear();
  // Timers of the old life are void; what they were to do is still to be done.
  for (auto& [id, job] : jobs_) {
    if (job.state.Has(JobFlag::kCompleting)) {
      job.state.Remove(JobFlag::kCompleting);
      for (auto& [name, record] : records_) record.completing.erase(id);
    } else if (job.state.Has(JobFlag::kRunning) && !job.state.Has(JobFlag::kConfiguring) &&
               job_specs_.at(id).runs_for) {
      RunFor(id, std::max(Duration(0), *job.start_time + *job_specs_.at(id).runs_for - loop_.WallNow()));
    } else if (job.external && job.state.Has(JobFlag::kRunning)) {
      FollowLimit(id);
    }
  }
  for (const Reservation& reservation : Reservations()) FollowReservation(reservation.name);
  for (const auto& [name, record] : records_) {
    if (record.node.state.Has(NodeFlag::kExternal)) continue;
    CheckPower(name);
    FollowPower(name);
    if (IsAsleep(record)) continue;
    if (SlurmdRuns(name))
      AwaitContact(name);
    else
      WentSilent(name);
  }
  // Each slurmd that has never registered tries again and again; who has does so no more.
  Duration wait = options_.contact;
  for (const std::string& name : unregistered_) {
    Later(wait, [this, name] {
      if (unregistered_.contains(name)) Register(name);
    });
    wait += options_.contact;
  }
}

NodeState FakeSlurm::StateOf(const Record& record) const {
  NodeState state = record.node.state;
  if (ActiveOn(record.node.name) != nullptr) {
    state.Add(NodeFlag::kReserved);
    state.Add(NodeFlag::kMaintenance);
  }
  if (!record.completing.empty()) state.Add(NodeFlag::kCompleting);
  if (record.jobs.empty() || state.IsDown()) return state;
  const bool whole = std::ranges::any_of(record.jobs, [this](int64_t id) { return job_specs_.at(id).whole_nodes; });
  state.Remove(NodeFlag::kIdle);
  state.Add(whole ? NodeFlag::kAllocated : NodeFlag::kMixed);
  return state;
}

std::vector<Node> FakeSlurm::Nodes() const {
  std::vector<Node> nodes;
  nodes.reserve(records_.size());
  for (const auto& [name, record] : records_) {
    nodes.push_back(record.node);
    nodes.back().state = StateOf(record);
    if (const Reservation* active = ActiveOn(name)) nodes.back().reservation = active->name;
  }
  return nodes;
}

std::optional<Node> FakeSlurm::NodeNamed(const std::string& name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) return std::nullopt;
  Node node = found->second.node;
  node.state = StateOf(found->second);
  if (const Reservation* active = ActiveOn(name)) node.reservation = active->name;
  return node;
}

Outcome FakeSlurm::CheckState(const Record& record, const std::string& state) const {
  const NodeState now = StateOf(record);
  if (state == "RESUME" && !now.IsDown() && !now.HasAny({NodeFlag::kDrain, NodeFlag::kFail}))
    return Refusal::kTransition;
  if (state == "IDLE" && (now.HasAny({NodeFlag::kAllocated, NodeFlag::kMixed}))) return Refusal::kTransition;
  return std::nullopt;
}

// What is active now, or is to be, must be among the features there are, or are to be.
Outcome FakeSlurm::CheckFeatures(const Node& node, const Update& update) {
  const auto& all = update.features.empty() ? node.features : update.features;
  const auto& active = update.active_features.empty() ? node.active_features : update.active_features;
  const auto is_among = [&all](const std::string& feature) { return std::ranges::find(all, feature) != all.end(); };
  return std::ranges::all_of(active, is_among) ? Outcome() : Outcome(Refusal::kFeature);
}

Outcome FakeSlurm::UpdateNodes(const std::vector<std::string>& names, const Update& update) {
  for (const std::string& name : names)
    if (!records_.contains(name)) return Refusal::kNoSuchNode;
  Outcome refused;
  for (const std::string& name : names) {
    Record& record = records_.at(name);
    Node& node = record.node;
    if (const Outcome no = CheckFeatures(node, update)) return no;
    const bool external = node.state.Has(NodeFlag::kExternal);
    if (external && update.topology && !HasTopology(*update.topology)) return Refusal::kTopology;
    if (update.comment) node.comment = *update.comment;
    if (update.extra) node.extra = *update.extra;
    if (update.topology) node.topology = *update.topology;
    if (update.weight) node.weight = *update.weight;
    if (!update.features.empty()) node.features = node.active_features = update.features;
    if (!update.active_features.empty()) node.active_features = update.active_features;
    if (!update.reason.empty()) {
      node.reason = update.reason;
      node.reason_set_by = update.user;
    }
    if (const Outcome no = CheckState(record, update.state))
      refused = no;
    else
      ApplyState(record, update);
    SettleReason(record);
    NodesChanged();
  }
  return refused;
}

void FakeSlurm::ApplyState(Record& record, const Update& update) {
  NodeState& state = record.node.state;
  const std::string name = record.node.name;
  if ((update.state == "DRAIN" || update.state == "FAIL") && IsAsleep(record)) Requeue(record);
  if (update.state == "DRAIN") {
    state.Remove(NodeFlag::kFail);
    state.Add(NodeFlag::kDrain);
  } else if (update.state == "FAIL") {
    state.Remove(NodeFlag::kDrain);
    state.Add(NodeFlag::kFail);
  } else if (update.state == "DOWN") {
    // Its slurmd is heard from when it has ended the jobs, else when it is pinged.
    const Duration wait = record.jobs.empty() ? options_.ping_interval : options_.contact;
    KillJobsOn(name);
    state.Remove(NodeFlag::kIdle);
    state.Add(NodeFlag::kDown);
    Later(wait, [this, name] {
      if (SlurmdRuns(name) && records_.contains(name)) Heard(records_.at(name));
    });
  } else if (update.state == "UNDRAIN") {
    state.Remove(NodeFlag::kDrain);
    if (!state.IsDown()) state.Remove(NodeFlag::kFail);
    AwaitContact(name);
  } else if (update.state == "RESUME" || update.state == "IDLE") {
    state.Remove(NodeFlag::kDrain);
    state.Remove(NodeFlag::kFail);
    state.Remove(NodeFlag::kDown);
    state.Add(NodeFlag::kIdle);
    if (update.state == "RESUME") AwaitContact(name);
  }
}

// Slurm keeps a reason only while something needs one.
void FakeSlurm::SettleReason(Record& record) {
  Node& node = record.node;
  if (node.state.HasAny({NodeFlag::kDrain, NodeFlag::kDown, NodeFlag::kFail})) return;
  node.reason.clear();
  node.reason_set_by.clear();
}

bool FakeSlurm::HasTopology(const std::string& topology) const {
  return topology.empty() || topologies.contains(topology.substr(0, topology.find(':')));
}

Outcome FakeSlurm::CreateNode(const ExternalNode& asked) {
  if (records_.contains(asked.name)) return Refusal::kNodeExists;
  if (!HasTopology(asked.topology)) return Refusal::kTopology;
  Node& node = records_[asked.name].node;
  node.name = node.hostname = asked.name;
  node.address = asked.address.empty() ? asked.name : asked.address;
  node.state = NodeState{NodeFlag::kIdle, NodeFlag::kDynamicNorm, NodeFlag::kExternal};
  node.features = node.active_features = asked.features;
  node.partitions = {options_.partition};
  node.topology = asked.topology;
  node.weight = 1;
  node.cpus = node.job_cpus = asked.cpus;
  node.memory_mib = node.job_memory_mib = asked.memory_mib;
  ExternalNode known = asked;
  std::erase_if(known.gres, [this](const ExternalNode::Gres& one) { return !gres_types.contains(one.name); });
  node.gres = known.GresText();
  NodesChanged();
  return std::nullopt;
}

Outcome FakeSlurm::DeleteNode(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end()) return Refusal::kNoSuchNode;
  if (!found->second.jobs.empty() || !found->second.completing.empty() || ActiveOn(name) != nullptr)
    return Refusal::kBusy;
  KillJobsOn(name);  // suspended ones do not hinder it, and never end in good order
  for (auto& [_, reservation] : reservations_) {
    std::vector<std::string> nodes = NodesOf(reservation);
    std::erase(nodes, name);
    reservation.nodes = CompressHostlist(nodes);
  }
  records_.erase(found);
  NodesChanged();
  return std::nullopt;
}

// --- Reservations ----------------------------------------------------------------------------------------------------

const Reservation* FakeSlurm::ActiveOn(const std::string& node) const {
  const Time now = loop_.WallNow();
  for (const auto& [name, reservation] : reservations_) {
    const bool active = reservation.start <= now && now < reservation.end;
    if (active && (IsOfAll(reservation) || HostSet(NodesOf(reservation)).Contains(node))) return &reservation;
  }
  return nullptr;
}

std::vector<Reservation> FakeSlurm::Reservations() const {
  std::vector<Reservation> all;
  for (const auto& [name, reservation] : reservations_) {
    all.push_back(reservation);
    if (IsOfAll(reservation)) all.back().nodes = CompressHostlist(NodeNames());
  }
  return all;
}

std::vector<std::string> FakeSlurm::NodeNames() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : records_) names.push_back(name);
  return names;
}

Outcome FakeSlurm::WriteReservation(const ReservationUpdate& update) {
  const Time now = loop_.WallNow();
  const bool all = update.nodes == std::vector<std::string>{"ALL"};
  std::vector<std::string> known = all ? NodeNames() : update.nodes;
  std::erase_if(known, [&](const std::string& node) { return !records_.contains(node); });
  if (known.empty()) return Refusal::kNoSuchNode;
  const auto found = reservations_.find(update.name);
  Reservation made = found == reservations_.end() ? Reservation{.name = update.name} : found->second;
  if (found == reservations_.end() && (!update.start || !update.duration || update.users.empty()))
    return Refusal::kReservation;
  if (found != reservations_.end() && made.start <= now && update.start) return Refusal::kStarted;
  if (update.start && *update.start < now - 10min) return Refusal::kTime;
  made.nodes = CompressHostlist(known);
  for (const std::string& flag : update.flags) {
    if (std::ranges::find(made.flags, flag) == made.flags.end()) made.flags.push_back(flag);
  }
  if (std::ranges::find(made.flags, "SPEC_NODES") == made.flags.end()) made.flags.emplace_back("SPEC_NODES");
  std::erase(made.flags, kAllNodes);
  if (all) made.flags.emplace_back(kAllNodes);
  std::ranges::sort(made.flags);
  if (!update.users.empty()) made.users = update.users;
  const Duration length = update.duration.value_or(made.end - made.start);
  if (update.start) made.start = WholeSeconds(*update.start);
  made.end = made.start + length;
  reservations_[update.name] = std::move(made);
  FollowReservation(update.name);
  return std::nullopt;
}

Outcome FakeSlurm::DeleteReservation(const std::string& name) {
  if (reservations_.erase(name) == 0) return Refusal::kReservation;
  NodesChanged();
  return std::nullopt;
}

// Its nodes change with its begin and its end; then it goes, or comes again.
void FakeSlurm::FollowReservation(const std::string& name) {
  NodesChanged();
  const Reservation& reservation = reservations_.at(name);
  const Time now = loop_.WallNow();
  const auto is_it = [this, name, start = reservation.start, end = reservation.end] {
    const auto found = reservations_.find(name);
    return found != reservations_.end() && found->second.start == start && found->second.end == end;
  };
  if (now < reservation.start) {
    Later(reservation.start - now, [this, is_it] {
      if (is_it()) NodesChanged();
    });
  }
  Later(std::max(Duration(0), reservation.end - now), [this, name, is_it] {
    if (!is_it()) return;
    NodesChanged();
    Reservation& over = reservations_.at(name);
    const Duration period = PeriodOf(over);
    if (period == Duration(0)) return void(reservations_.erase(name));
    over.start += period;
    over.end += period;
    FollowReservation(name);
  });
}

}  // namespace capstan::slurm::testing
