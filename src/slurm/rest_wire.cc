#include "slurm/rest_wire.h"

#include <algorithm>

#include "base/text.h"
#include "slurm/amount.h"
#include "slurm/hostlist.h"

namespace capstan::slurm::wire {
namespace {

// Error numbers of Slurm that callers must tell apart; where a number moved between versions, its text is the
// same.
struct Known {
  int64_t number;
  std::string_view text;
  Code code;
};
constexpr Known kKnown[] = {
    {1007, "Protocol authentication error", Code::kUnauthenticated},
    {2002, "Access/permission denied", Code::kForbidden},
    {2010, "Invalid user id", Code::kForbidden},
    {2011, "Duplicate job id", Code::kAlreadyExists},
    {2016, "Requested nodes are busy", Code::kConflict},
    {2017, "Invalid job id specified", Code::kNotFound},
    {2018, "Invalid node name specified", Code::kNotFound},
    {2053, "Requested reservation is invalid", Code::kNotFound},
    {2055, "Requested reservation is in use", Code::kConflict},
    {2084, "Job has already finished", Code::kNotFound},
    {2085, "Job is not running", Code::kConflict},
    {2104, "Reservation already started", Code::kConflict},
    {2168, "Node already exists in the node table", Code::kAlreadyExists},
    {2180, "Invalid node state transition", Code::kConflict},
    {0, "Invalid node state specified", Code::kConflict},
};
constexpr int64_t kNoSuchNode = 2018;

constexpr size_t kLongestWords = 200;    // bytes of slurmrestd's words that are passed on
constexpr size_t kLongestReason = 1024;  // of a node's reason, which people read

// Slurm could not connect to slurmctld, or holds off: nothing was sent.
constexpr int64_t kConnectFailed[] = {1001, 1800, 1804};
// It had connected; whether slurmctld acted is open.
constexpr int64_t kAnswerLost[] = {1002, 1003, 1004, 1801, 1802, 1803};

// A 404 without an error of Slurm's comes from a proxy, or means that slurmrestd lacks the path: what was asked for may be there.
Code CodeOfStatus(int status, bool write) {
  switch (status) {
    case 404:
      return Code::kUnavailable;
    case 401:
    case 511:
      return Code::kUnauthenticated;
    case 403:
      return Code::kForbidden;
    case 429:
      return Code::kThrottled;
    case 502:
    case 503:
      return Code::kUnavailable;
    case 504:
      return write ? Code::kUnknownOutcome : Code::kUnavailable;
    default:
      return status >= 400 && status < 500 ? Code::kInvalid : Code::kUnavailable;
  }
}

Code CodeOf(int status, const Problem& problem, bool write) {
  for (const Known& known : kKnown)
    if ((known.number != 0 && problem.error_number == known.number) || problem.error == known.text) return known.code;
  if (std::ranges::find(kConnectFailed, problem.error_number) != std::end(kConnectFailed)) return Code::kUnavailable;
  if (std::ranges::find(kAnswerLost, problem.error_number) != std::end(kAnswerLost))
    return write ? Code::kUnknownOutcome : Code::kUnavailable;
  // Servers before 26.05 say 500 where slurmctld refused; its numbers begin at 2000.
  if (problem.error_number >= 2000 && (status == 200 || status == 500)) return Code::kInvalid;
  return CodeOfStatus(status, write);
}

std::string Sentence(const Problem& problem) {
  std::string text = OneLine(problem.error, kLongestWords);
  if (text.empty()) text = "an error without words";
  if (problem.error_number != 0) text += " (Slurm error " + std::to_string(problem.error_number) + ")";
  if (const std::string more = OneLine(problem.description, kLongestWords); !more.empty()) text += ": " + more;
  return text;
}

// With what slurmrestd's own words ("Authentication failure") leave to guess.
Error Told(Code code, std::string text) {
  if (code == Code::kUnauthenticated)
    text += "; the key that signs tokens is another than slurmctld's, or the clocks of the machines differ";
  return Error(code, std::move(text));
}

}  // namespace

Error ErrorOf(int status, const std::vector<Problem>& problems, std::string_view text, bool write) {
  const std::string head = "slurmrestd answered " + std::to_string(status) + ": ";
  if (problems.empty()) {
    const std::string line = OneLine(text.substr(0, text.find('\n')), kLongestWords);
    return Told(CodeOfStatus(status, write), head + (line.empty() ? "without a reason" : line));
  }
  // The last is the outermost and names what was asked; one that is known says most.
  const auto is_known = [](const Problem& p) {
    return std::ranges::any_of(kKnown, [&](const Known& k) { return k.number != 0 && k.number == p.error_number; });
  };
  const auto known = std::ranges::find_if(problems, is_known);
  const Problem& telling = known != problems.end() ? *known : problems.back();
  return Told(CodeOf(status, telling, write),
              head + Sentence(problems.size() > 1 && known == problems.end() ? problems.front() : telling));
}

bool SayNoSuchNode(const std::vector<Problem>& problems) {
  return std::ranges::any_of(problems, [](const Problem& p) {
    return p.error_number == kNoSuchNode ||
           (p.error_number == 0 && p.description.starts_with("Failure to query node "));
  });
}

std::optional<Time> Number::ToTime() const {
  if (!set || infinite || number <= 0) return std::nullopt;
  return FromUnixSeconds(number);
}

Node NodeRecord::ToNode() && {
  return {.name = std::move(name),
          .state = NodeState::FromNames(state),
          .reason = reason.substr(0, kLongestReason),  // as it is: it is written back where a drain keeps it
          .reason_set_by = OneLine(reason_set_by_user, kLongestWords),
          .comment = std::move(comment),
          .extra = std::move(extra),
          .features = std::move(features),
          .active_features = std::move(active_features),
          .partitions = std::move(partitions),
          .address = std::move(address),
          .hostname = std::move(hostname),
          .topology = std::move(topology),
          .reservation = std::move(reservation),
          .gres = std::move(gres),
          .version = std::move(version),
          .weight = weight,
          .cpus = Amount(cpus),
          .memory_mib = Amount(real_memory),
          .job_cpus = Amount(effective_cpus > 0 ? effective_cpus : cpus),
          .job_memory_mib = Amount(real_memory) - std::min(Amount(specialized_memory), Amount(real_memory)),
          .boot_time = boot_time.ToTime(),
          .slurmd_start_time = slurmd_start_time.ToTime(),
          .reason_changed_at = reason_changed_at.ToTime()};
}

namespace {

// Minutes. More than a Duration holds is as long as one lasts.
std::optional<Duration> ToLimit(const Number& minutes) {
  if (!minutes.set || minutes.infinite) return std::nullopt;
  return MinutesOf(std::max<int64_t>(minutes.number, 0));
}

}  // namespace

Job JobRecord::ToJob() && {
  Job job{.id = job_id,
          .state = JobState::FromNames(job_state),
          .state_reason = std::move(state_reason),
          .name = std::move(name),
          .user = std::move(user_name),
          .partition = std::move(partition),
          .nodes = std::move(nodes),
          .admin_comment = std::move(admin_comment),
          .external = std::ranges::find(flags, kExternalJob) != flags.end(),
          .submit_time = submit_time.ToTime(),
          .start_time = start_time.ToTime(),
          .end_time = end_time.ToTime(),
          .preempt_time = preempt_time.ToTime(),
          .time_limit = std::nullopt};
  job.time_limit = ToLimit(time_limit);
  return job;
}

// Of UP, DOWN, DRAIN and INACTIVE the first two let jobs be queued.
Partition PartitionRecord::ToPartition() && {
  const auto is = [this](std::string_view word) {
    return std::ranges::find(partition.state, word) != partition.state.end();
  };
  return {.name = std::move(name),
          .open = !is("DRAIN") && !is("INACTIVE"),
          .nodes = std::move(node_sets),
          .state = Join(partition.state, "+"),
          .node_count = nodes.total,
          .cpu_count = cpus.total,
          .time_limit = ToLimit(maximums.time)};
}

Reservation ReservationRecord::ToReservation() && {
  Reservation reservation{.name = std::move(name),
                          .nodes = std::move(node_list),
                          .flags = std::move(flags),
                          .users = {},
                          .start = start_time.ToTime().value_or(Time()),
                          .end = end_time.ToTime().value_or(Time())};
  for (const std::string_view user : Split(users, ',')) reservation.users.emplace_back(user);
  std::ranges::sort(reservation.flags);
  return reservation;
}

ReservationBody ToBody(const ReservationUpdate& update) {
  ReservationBody body{.name = update.name,
                       .node_list = {CompressHostlist(update.nodes)},
                       .flags = update.flags,
                       .users = update.users,
                       .start_time = std::nullopt,
                       .duration = std::nullopt};
  if (update.start) body.start_time = Number{.set = true, .infinite = false, .number = UnixSeconds(*update.start)};
  if (update.duration) {
    const auto minutes = std::chrono::ceil<std::chrono::minutes>(*update.duration).count();
    body.duration = Number{.set = true, .infinite = false, .number = minutes};
  }
  return body;
}

namespace {

Number Set(int64_t number) { return {.set = true, .infinite = false, .number = number}; }

std::optional<Number> SetIf(const std::optional<int64_t>& number) {
  return number ? std::optional(Set(*number)) : std::nullopt;
}

}  // namespace

SubmitBody ToBody(const ExternalJob& job) {
  SubmitBody body;
  body.job = {.job_id = job.id,
              .name = job.name,
              .partition = job.partition,
              .account = job.account,
              .qos = job.qos,
              .reservation = job.reservation,
              .wckey = job.wckey,
              .constraints = job.constraints,
              .licenses = job.licenses,
              .user_id = job.user,
              .group_id = job.group,
              .mcs_label = job.mcs_label,
              .admin_comment = job.admin_comment,
              .current_working_directory = "/tmp",  // Slurm wants one, and nothing runs there
              .nodes = job.most_nodes > job.nodes ? std::to_string(job.nodes) + "-" + std::to_string(job.most_nodes)
                                                  : std::to_string(job.nodes),
              .tres_per_node = job.gres,
              .script = {},
              .standard_output = {},
              .flags = {std::string(kExternalJob)},
              .shared = {},
              .required_nodes = job.required_nodes,
              .excluded_nodes = job.excluded_nodes,
              .environment = {},
              .tasks = {},
              .tasks_per_node = job.tasks_per_node,
              .cpus_per_task = job.cpus_per_task,
              .memory_per_node = SetIf(job.memory_mib),
              .time_limit = SetIf(job.limit_minutes),
              .priority = SetIf(job.priority)};
  if (!job.shared.empty()) body.job.shared = {job.shared};
  return body;
}

SubmitBody ToBody(const BatchJob& job) {
  SubmitBody body;
  wire::JobBody& its = body.job;
  its.name = job.name;
  its.partition = job.partition;
  its.account = job.account;
  its.qos = job.qos;
  its.reservation = job.reservation;
  its.constraints = job.constraints;
  its.licenses = job.licenses;
  its.current_working_directory = job.working_directory;
  its.environment = job.environment;
  its.script = job.script;
  its.standard_output = job.standard_output;
  its.tres_per_node = job.gres;
  if (job.nodes) its.nodes = std::to_string(*job.nodes);
  its.tasks = job.tasks;
  its.cpus_per_task = job.cpus_per_task;
  its.memory_per_node = SetIf(job.memory_mib);
  its.time_limit = SetIf(job.limit_minutes);
  return body;
}

namespace {

std::vector<std::string> StateName(const std::optional<JobFlag>& state) {
  if (!state) return {};
  return {std::string(StateNames(JobFlag{})[size_t(*state)])};
}

}  // namespace

KillBody ToBody(const JobCancel& cancel) {
  KillBody body;
  body.jobs = {std::to_string(cancel.id)};
  body.job_state = StateName(cancel.only_if);
  body.job_name = cancel.name;
  return body;
}

KillBody ToBody(const JobFilter& filter) {
  return {.jobs = {},
          .job_state = StateName(filter.only_if),
          .job_name = filter.name,
          .user_name = filter.user,
          .account = filter.account,
          .partition = filter.partition,
          .qos = filter.qos,
          .reservation = filter.reservation};
}

UpdateBody ToBody(const NodeUpdate& update) {
  UpdateBody body;
  if (update.names.size() > 1) body.name = update.names;
  if (update.action) body.state = {std::string(Name(*update.action))};
  body.features = update.features;
  body.features_act = update.active_features;
  body.reason = update.reason;
  body.comment = update.comment;
  body.extra = update.extra;
  body.topology_str = update.topology;
  if (update.weight) body.weight = Number{.set = true, .infinite = false, .number = *update.weight};
  return body;
}

// --- Tables ----------------------------------------------------------------------------------------------------------

const json::Schema& Number::Schema() {
  static const json::Schema schema = json::Object<Number>({
      json::Field<&Number::set>("set").Always(),
      json::Field<&Number::infinite>("infinite"),
      json::Field<&Number::number>("number").Always(),
  });
  return schema;
}

const json::Schema& NodeRecord::Schema() {
  using N = NodeRecord;
  static const json::Schema schema = json::Object<N>({
      json::Field<&N::name>("name"),
      json::Field<&N::state>("state"),
      json::Field<&N::reason>("reason"),
      json::Field<&N::reason_set_by_user>("reason_set_by_user"),
      json::Field<&N::comment>("comment"),
      json::Field<&N::extra>("extra"),
      json::Field<&N::address>("address"),
      json::Field<&N::hostname>("hostname"),
      json::Field<&N::topology>("topology"),
      json::Field<&N::reservation>("reservation"),
      json::Field<&N::gres>("gres"),
      json::Field<&N::version>("version"),
      json::Field<&N::features>("features"),
      json::Field<&N::active_features>("active_features"),
      json::Field<&N::partitions>("partitions"),
      json::Field<&N::weight>("weight"),
      json::Field<&N::cpus>("cpus"),
      json::Field<&N::effective_cpus>("effective_cpus"),
      json::Field<&N::real_memory>("real_memory"),
      json::Field<&N::specialized_memory>("specialized_memory"),
      json::Field<&N::boot_time>("boot_time"),
      json::Field<&N::slurmd_start_time>("slurmd_start_time"),
      json::Field<&N::reason_changed_at>("reason_changed_at"),
  });
  return schema;
}

const json::Schema& JobRecord::Schema() {
  using J = JobRecord;
  static const json::Schema schema = json::Object<J>({
      json::Field<&J::job_id>("job_id"),
      json::Field<&J::job_state>("job_state"),
      json::Field<&J::state_reason>("state_reason"),
      json::Field<&J::name>("name"),
      json::Field<&J::user_name>("user_name"),
      json::Field<&J::partition>("partition"),
      json::Field<&J::nodes>("nodes"),
      json::Field<&J::admin_comment>("admin_comment"),
      json::Field<&J::flags>("flags"),
      json::Field<&J::submit_time>("submit_time"),
      json::Field<&J::start_time>("start_time"),
      json::Field<&J::end_time>("end_time"),
      json::Field<&J::preempt_time>("preempt_time"),
      json::Field<&J::time_limit>("time_limit"),
  });
  return schema;
}

const json::Schema& NewNodeBody::Schema() {
  static const json::Schema schema = json::Object<NewNodeBody>({json::Field<&NewNodeBody::node_conf>("node_conf")});
  return schema;
}

const json::Schema& JobBriefRecord::Schema() {
  static const json::Schema schema = json::Object<JobBriefRecord>({
      json::Field<&JobBriefRecord::job_id>("job_id"),
      json::Field<&JobBriefRecord::state>("state"),
  });
  return schema;
}

const json::Schema& PartitionState::Schema() {
  static const json::Schema schema = json::Object<PartitionState>({json::Field<&PartitionState::state>("state")});
  return schema;
}

const json::Schema& Total::Schema() {
  static const json::Schema schema = json::Object<Total>({json::Field<&Total::total>("total")});
  return schema;
}

const json::Schema& PartitionMaximums::Schema() {
  static const json::Schema schema = json::Object<PartitionMaximums>({json::Field<&PartitionMaximums::time>("time")});
  return schema;
}

const json::Schema& PartitionRecord::Schema() {
  static const json::Schema schema = json::Object<PartitionRecord>({
      json::Field<&PartitionRecord::name>("name"),
      json::Field<&PartitionRecord::node_sets>("node_sets"),
      json::Field<&PartitionRecord::partition>("partition"),
      json::Field<&PartitionRecord::nodes>("nodes"),
      json::Field<&PartitionRecord::cpus>("cpus"),
      json::Field<&PartitionRecord::maximums>("maximums"),
  });
  return schema;
}

const json::Schema& ReservationRecord::Schema() {
  using R = ReservationRecord;
  static const json::Schema schema = json::Object<R>({
      json::Field<&R::name>("name"),
      json::Field<&R::node_list>("node_list"),
      json::Field<&R::users>("users"),
      json::Field<&R::flags>("flags"),
      json::Field<&R::start_time>("start_time"),
      json::Field<&R::end_time>("end_time"),
  });
  return schema;
}

const json::Schema& Problem::Schema() {
  static const json::Schema schema = json::Object<Problem>({
      json::Field<&Problem::error>("error"),
      json::Field<&Problem::description>("description"),
      json::Field<&Problem::source>("source"),
      json::Field<&Problem::error_number>("error_number"),
  });
  return schema;
}

const json::Schema& Version::Schema() {
  static const json::Schema schema = json::Object<Version>({
      json::Field<&Version::release>("release"),
      json::Field<&Version::cluster>("cluster"),
  });
  return schema;
}

const json::Schema& Meta::Schema() {
  static const json::Schema schema = json::Object<Meta>({json::Field<&Meta::slurm>("slurm")});
  return schema;
}

const json::Schema& Envelope::Schema() {
  static const json::Schema schema = json::Object<Envelope>({
      json::Field<&Envelope::errors>("errors"),
      json::Field<&Envelope::warnings>("warnings"),
      json::Field<&Envelope::last_update>("last_update"),
      json::Field<&Envelope::meta>("meta"),
  });
  return schema;
}

const json::Schema& NodesAnswer::Schema() {
  static const json::Schema schema = json::Object<NodesAnswer>({
      json::Field<&NodesAnswer::nodes>("nodes"),
      json::Field<&NodesAnswer::errors>("errors"),
  });
  return schema;
}

const json::Schema& JobsAnswer::Schema() {
  static const json::Schema schema = json::Object<JobsAnswer>({json::Field<&JobsAnswer::jobs>("jobs")});
  return schema;
}

const json::Schema& Ping::Schema() {
  static const json::Schema schema = json::Object<Ping>({
      json::Field<&Ping::hostname>("hostname"),
      json::Field<&Ping::responding>("responding"),
      json::Field<&Ping::primary>("primary"),
  });
  return schema;
}

const json::Schema& PingAnswer::Schema() {
  static const json::Schema schema = json::Object<PingAnswer>({json::Field<&PingAnswer::pings>("pings")});
  return schema;
}

const json::Schema& ConfMeta::Schema() {
  static const json::Schema schema = json::Object<ConfMeta>({
      json::Field<&ConfMeta::boot_time>("BOOT_TIME"),
      json::Field<&ConfMeta::last_update>("LastUpdate"),
  });
  return schema;
}

const json::Schema& Conf::Schema() {
  static const json::Schema schema = json::Object<Conf>({
      json::Field<&Conf::slurmd_timeout>("SlurmdTimeout"),
      json::Field<&Conf::max_dbd_messages>("MaxDBDMsgs"),
      json::Field<&Conf::max_job_count>("MaxJobCount"),
  });
  return schema;
}

const json::Schema& ConfAnswer::Schema() {
  static const json::Schema schema = json::Object<ConfAnswer>({
      json::Field<&ConfAnswer::conf>("slurm_conf"),
      json::Field<&ConfAnswer::meta>("slurm_conf_meta"),
  });
  return schema;
}

const json::Schema& Statistics::Schema() {
  static const json::Schema schema = json::Object<Statistics>({
      json::Field<&Statistics::req_time>("req_time"),
      json::Field<&Statistics::req_time_start>("req_time_start"),
      json::Field<&Statistics::dbd_agent_queue_size>("dbd_agent_queue_size"),
  });
  return schema;
}

const json::Schema& DiagAnswer::Schema() {
  static const json::Schema schema = json::Object<DiagAnswer>({json::Field<&DiagAnswer::statistics>("statistics")});
  return schema;
}

const json::Schema& ReservationBody::Schema() {
  using R = ReservationBody;
  static const json::Schema schema = json::Object<R>({
      json::Field<&R::name>("name"),
      json::Field<&R::node_list>("node_list"),
      json::Field<&R::flags>("flags"),
      json::Field<&R::users>("users"),
      json::Field<&R::start_time>("start_time"),
      json::Field<&R::duration>("duration"),
  });
  return schema;
}

const json::Schema& UpdateBody::Schema() {
  using U = UpdateBody;
  static const json::Schema schema = json::Object<U>({
      json::Field<&U::name>("name"),
      json::Field<&U::state>("state"),
      json::Field<&U::reason>("reason"),
      json::Field<&U::comment>("comment"),
      json::Field<&U::extra>("extra"),
      json::Field<&U::topology_str>("topology_str"),
      json::Field<&U::features>("features"),
      json::Field<&U::features_act>("features_act"),
      json::Field<&U::weight>("weight"),
  });
  return schema;
}

const json::Schema& JobBody::Schema() {
  static const json::Schema schema = json::Object<JobBody>({
      json::Field<&JobBody::job_id>("job_id"),
      json::Field<&JobBody::name>("name"),
      json::Field<&JobBody::partition>("partition"),
      json::Field<&JobBody::account>("account"),
      json::Field<&JobBody::qos>("qos"),
      json::Field<&JobBody::reservation>("reservation"),
      json::Field<&JobBody::wckey>("wckey"),
      json::Field<&JobBody::constraints>("constraints"),
      json::Field<&JobBody::licenses>("licenses"),
      json::Field<&JobBody::user_id>("user_id"),
      json::Field<&JobBody::group_id>("group_id"),
      json::Field<&JobBody::mcs_label>("mcs_label"),
      json::Field<&JobBody::admin_comment>("admin_comment"),
      json::Field<&JobBody::current_working_directory>("current_working_directory"),
      json::Field<&JobBody::nodes>("nodes"),
      json::Field<&JobBody::tres_per_node>("tres_per_node"),
      json::Field<&JobBody::script>("script"),
      json::Field<&JobBody::standard_output>("standard_output"),
      json::Field<&JobBody::environment>("environment"),
      json::Field<&JobBody::tasks>("tasks"),
      json::Field<&JobBody::flags>("flags"),
      json::Field<&JobBody::shared>("shared"),
      json::Field<&JobBody::required_nodes>("required_nodes"),
      json::Field<&JobBody::excluded_nodes>("excluded_nodes"),
      json::Field<&JobBody::tasks_per_node>("tasks_per_node"),
      json::Field<&JobBody::cpus_per_task>("cpus_per_task"),
      json::Field<&JobBody::memory_per_node>("memory_per_node"),
      json::Field<&JobBody::time_limit>("time_limit"),
      json::Field<&JobBody::priority>("priority"),
  });
  return schema;
}

const json::Schema& SubmitBody::Schema() {
  static const json::Schema schema = json::Object<SubmitBody>({
      json::Field<&SubmitBody::job>("job"),
  });
  return schema;
}

const json::Schema& SubmitAnswer::Schema() {
  static const json::Schema schema = json::Object<SubmitAnswer>({
      json::Field<&SubmitAnswer::job_id>("job_id"),
  });
  return schema;
}

const json::Schema& JobUpdateBody::Schema() {
  static const json::Schema schema = json::Object<JobUpdateBody>({
      json::Field<&JobUpdateBody::admin_comment>("admin_comment"),
      json::Field<&JobUpdateBody::name>("name"),
  });
  return schema;
}

const json::Schema& KillBody::Schema() {
  static const json::Schema schema = json::Object<KillBody>({
      json::Field<&KillBody::jobs>("jobs"),
      json::Field<&KillBody::job_state>("job_state"),
      json::Field<&KillBody::job_name>("job_name"),
      json::Field<&KillBody::user_name>("user_name"),
      json::Field<&KillBody::account>("account"),
      json::Field<&KillBody::partition>("partition"),
      json::Field<&KillBody::qos>("qos"),
      json::Field<&KillBody::reservation>("reservation"),
  });
  return schema;
}

const json::Schema& KillError::Schema() {
  static const json::Schema schema = json::Object<KillError>({
      json::Field<&KillError::string>("string"),
      json::Field<&KillError::message>("message"),
      json::Field<&KillError::code>("code"),
  });
  return schema;
}

const json::Schema& KillStatus::Schema() {
  static const json::Schema schema = json::Object<KillStatus>({
      json::Field<&KillStatus::error>("error"),
  });
  return schema;
}

const json::Schema& KillAnswer::Schema() {
  static const json::Schema schema = json::Object<KillAnswer>({
      json::Field<&KillAnswer::status>("status"),
  });
  return schema;
}

}  // namespace capstan::slurm::wire
