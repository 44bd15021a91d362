// slurmrestd's JSON, as structs: what of it Capstan reads and writes. Used by rest_client.cc alone.
//
// The tables are the same for data parsers v0.0.42 to v0.0.45: the fields used here did not change their
// names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/schema.h"
#include "slurm/batch_job.h"
#include "slurm/external_job.h"
#include "slurm/source.h"

namespace capstan::slurm::wire {

// How slurmrestd writes a number that may be missing: {"set": true, "infinite": false, "number": 17}. An
// infinite one says "set": false too.
struct Number {
  bool set = false, infinite = false;
  int64_t number = 0;
  static const json::Schema& Schema();

  std::optional<Time> ToTime() const;  // absent also for 0, with which Slurm means "never"
};

struct NodeRecord {
  std::string name, reason, reason_set_by_user, comment, extra, address, hostname, topology, reservation, gres, version;
  std::vector<std::string> state, features, active_features, partitions;
  int64_t weight = 0, cpus = 0, effective_cpus = 0, real_memory = 0, specialized_memory = 0;
  Number boot_time, slurmd_start_time, reason_changed_at;
  static const json::Schema& Schema();

  Node ToNode() &&;
};

struct JobRecord {
  int64_t job_id = 0;
  std::vector<std::string> job_state;
  std::string state_reason, name, user_name, partition, nodes, admin_comment;
  std::vector<std::string> flags;
  Number submit_time, start_time, end_time, time_limit, preempt_time;
  static const json::Schema& Schema();

  Job ToJob() &&;
};

// Of jobs/state/, where an id is text: "7", "7_2" of an array, "7+1" of a heterogeneous job.
struct JobBriefRecord {
  std::string job_id;
  std::vector<std::string> state;
  static const json::Schema& Schema();
};

struct Problem {
  std::string error, description, source;
  int64_t error_number = 0;
  static const json::Schema& Schema();
};

struct Version {
  std::string release, cluster;
  static const json::Schema& Schema();
};

struct Meta {
  Version slurm;
  static const json::Schema& Schema();
};

// What stands around every payload.
struct Envelope {
  std::vector<Problem> errors, warnings;
  Number last_update;
  Meta meta;
  static const json::Schema& Schema();
};

struct NodesAnswer {
  std::vector<NodeRecord> nodes;
  std::vector<Problem> errors;
  static const json::Schema& Schema();
};

struct JobsAnswer {
  std::vector<JobRecord> jobs;
  static const json::Schema& Schema();
};

struct PartitionState {
  std::vector<std::string> state;
  static const json::Schema& Schema();
};

struct Total {
  int64_t total = 0;
  static const json::Schema& Schema();
};

struct PartitionMaximums {
  Number time;  // minutes
  static const json::Schema& Schema();
};

struct PartitionRecord {
  std::string name, node_sets;
  PartitionState partition;
  Total nodes, cpus;
  PartitionMaximums maximums;
  static const json::Schema& Schema();

  Partition ToPartition() &&;
};

struct ReservationRecord {
  std::string name, node_list, users;
  std::vector<std::string> flags;
  Number start_time, end_time;
  static const json::Schema& Schema();

  Reservation ToReservation() &&;
};

struct Ping {
  std::string hostname;
  bool responding = false, primary = false;
  static const json::Schema& Schema();
};

struct PingAnswer {
  std::vector<Ping> pings;
  static const json::Schema& Schema();
};

struct ConfMeta {
  int64_t boot_time = 0, last_update = 0;
  static const json::Schema& Schema();
};

struct Conf {
  int64_t slurmd_timeout = 0;
  int64_t max_dbd_messages = 0;  // 0: by the next one
  int64_t max_job_count = 0;
  static const json::Schema& Schema();
};

struct ConfAnswer {
  Conf conf;
  ConfMeta meta;
  static const json::Schema& Schema();
};

struct Statistics {
  Number req_time, req_time_start;
  int64_t dbd_agent_queue_size = 0;
  static const json::Schema& Schema();
};

struct DiagAnswer {
  Statistics statistics;
  static const json::Schema& Schema();
};

// The body of POST node/{name} and POST nodes/.
struct UpdateBody {
  std::optional<std::vector<std::string>> name, state, features, features_act;
  std::optional<std::string> reason, comment, extra, topology_str;
  std::optional<Number> weight;
  static const json::Schema& Schema();
};

UpdateBody ToBody(const NodeUpdate& update);

// The body of POST new/node/.
struct NewNodeBody {
  std::string node_conf;
  static const json::Schema& Schema();
};

// The body of POST reservation.
struct ReservationBody {
  std::string name;
  std::vector<std::string> node_list, flags, users;
  std::optional<Number> start_time, duration;  // seconds since 1970; minutes
  static const json::Schema& Schema();
};

ReservationBody ToBody(const ReservationUpdate& update);

// The body of POST job/submit, and its answer.
struct JobBody {
  int64_t job_id = 0;
  std::string name, partition, account, qos, reservation, wckey, constraints, licenses, user_id, group_id, mcs_label;
  std::string admin_comment, current_working_directory, nodes, tres_per_node, script, standard_output;
  std::vector<std::string> flags, shared, required_nodes, excluded_nodes, environment;
  std::optional<int64_t> tasks, tasks_per_node, cpus_per_task;
  std::optional<Number> memory_per_node, time_limit, priority;
  static const json::Schema& Schema();
};

struct SubmitBody {
  JobBody job;
  static const json::Schema& Schema();
};

struct SubmitAnswer {
  int64_t job_id = 0;
  static const json::Schema& Schema();
};

inline constexpr std::string_view kExternalJob = "EXTERNAL_JOB";  // a flag

SubmitBody ToBody(const ExternalJob& job);
SubmitBody ToBody(const BatchJob& job);

// The body of POST job/{id}.
struct JobUpdateBody {
  std::optional<std::string> admin_comment, name;
  static const json::Schema& Schema();
};

// The body of DELETE jobs/, and its answer: a status of each job that was not signalled.
struct KillBody {
  std::vector<std::string> jobs, job_state;
  std::string job_name, user_name, account, partition, qos, reservation;
  static const json::Schema& Schema();
};

struct KillError {
  std::string string, message;
  int64_t code = 0;
  static const json::Schema& Schema();
};

struct KillStatus {
  KillError error;
  static const json::Schema& Schema();
};

struct KillAnswer {
  std::vector<KillStatus> status;
  static const json::Schema& Schema();
};

KillBody ToBody(const JobCancel& cancel);
KillBody ToBody(const JobFilter& filter);

// The Error that an answer stands for. `problems` are what its body lists, if it is an envelope; `text` is
// the body where it is not. `write`: a request that may have taken effect although the answer says slurmctld
// did not respond.
Error ErrorOf(int status, const std::vector<Problem>& problems, std::string_view text, bool write);

// Whether these are the errors of an answer about a node that slurmctld has no record of. Servers up to 26.05
// answer a GET with status 200 and error number 0 ("No error"), others with "Invalid node name".
bool SayNoSuchNode(const std::vector<Problem>& problems);

}  // namespace capstan::slurm::wire
