#include "slurm/testing/fake_slurmrestd.h"

#include <algorithm>

#include "async/timer.h"
#include "base/text.h"
#include "json/codec.h"
#include "slurm/hostlist.h"
#include "slurm/jwt.h"
#include "slurm/rest_client.h"
#include "slurm/rest_wire.h"

namespace capstan::slurm::testing {
namespace {

constexpr std::string_view kNoEndpoint = "Unable to find requested URL endpoint.";

net::Response Text(int status, std::string_view text) {
  return {status, {{"Connection", "Close"}, {"Content-Type", "text/plain"}}, std::string(text)};
}

std::string Problem(std::string_view description, const Refusal& refusal, std::string_view source) {
  return "{\"description\":" + JsonQuoted(description) + ",\"error_number\":" + std::to_string(refusal.number) +
         ",\"error\":" + JsonQuoted(refusal.text) + ",\"source\":" + JsonQuoted(source) + "}";
}

// The first data parser that has this path.
int SinceVersion(std::string_view method, std::string_view path) {
  if (path == "conf") return 45;
  if (path == "new/node/") return 44;
  return path.starts_with("reservation") && method != "GET" ? 43 : 0;
}

// An answer in slurmrestd's envelope. `payload` is "" or `"nodes":[...],`.
net::Response Envelope(int status, const std::string& payload, std::string_view release, const std::string& errors = "",
                       const std::string& warnings = "") {
  return {status,
          {{"Content-Type", "application/json"}},
          "{" + payload + "\"meta\":{\"slurm\":{\"version\":{\"major\":\"26\"},\"release\":" + JsonQuoted(release) +
              ",\"cluster\":\"test\"}},\"errors\":[" + errors + "],\"warnings\":[" + warnings + "]}"};
}

std::string Number(std::optional<Time> time) {
  return "{\"set\":true,\"infinite\":false,\"number\":" + std::to_string(time ? UnixSeconds(*time) : 0) + "}";
}

std::string Strings(std::span<const std::string> list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ",") + JsonQuoted(item);
  return "[" + text + "]";
}

std::string NodeJson(const Node& node) {
  return "{\"architecture\":\"x86_64\",\"boot_time\":" + Number(node.boot_time) +
         ",\"cpu_load\":7,\"cpus\":" + std::to_string(node.cpus) +
         ",\"effective_cpus\":" + std::to_string(node.job_cpus) + ",\"extra\":" + JsonQuoted(node.extra) +
         ",\"features\":" + Strings(node.features) + ",\"active_features\":" + Strings(node.active_features) +
         ",\"gres\":" + JsonQuoted(node.gres) + ",\"name\":" + JsonQuoted(node.name) +
         ",\"address\":" + JsonQuoted(node.address) + ",\"hostname\":" + JsonQuoted(node.hostname) +
         ",\"state\":" + Strings(node.state.Names()) + ",\"partitions\":" + Strings(node.partitions) +
         ",\"real_memory\":" + std::to_string(node.memory_mib) +
         ",\"specialized_memory\":" + std::to_string(node.memory_mib - node.job_memory_mib) +
         ",\"comment\":" + JsonQuoted(node.comment) + ",\"reason\":" + JsonQuoted(node.reason) +
         ",\"reason_changed_at\":" + Number(node.reason_changed_at) +
         ",\"reason_set_by_user\":" + JsonQuoted(node.reason_set_by) +
         ",\"reservation\":" + JsonQuoted(node.reservation) +
         ",\"slurmd_start_time\":" + Number(node.slurmd_start_time) + ",\"weight\":" + std::to_string(node.weight) +
         ",\"topology\":" + JsonQuoted(node.topology) + ",\"version\":" + JsonQuoted(node.version) + "}";
}

// What a line of slurm.conf says, as far as ours go (external_node.h, cloud_node.h).
CloudNode CloudNodeOf(std::string_view line) {
  CloudNode node;
  for (const std::string_view word : Words(line)) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    const std::string value(word.substr(equals + 1));
    if (key == "NodeName")
      node.name = value;
    else if (key == "CPUs")
      node.cpus = ParseInt(value).value_or(0);
    else if (key == "RealMemory")
      node.memory_mib = ParseInt(value).value_or(0);
    else if (key == "SuspendTime")
      node.idle = std::chrono::seconds(ParseInt(value).value_or(0));
    else if (key != "State")
      node.conf += (node.conf.empty() ? "" : " ") + std::string(word);
  }
  return node;
}

ExternalNode NodeOf(std::string_view line) {
  ExternalNode node;
  for (const std::string_view word : Words(line)) {
    const size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    std::string value(word.substr(equals + 1));
    std::erase(value, '"');
    if (key == "NodeName") node.name = value;
    if (key == "CPUs") node.cpus = ParseInt(value).value_or(0);
    if (key == "RealMemory") node.memory_mib = ParseInt(value).value_or(0);
    if (key == "Feature")
      for (const std::string_view feature : Split(value, ',')) node.features.emplace_back(feature);
    if (key == "Topology") node.topology = value;
    if (key == "NodeAddr") node.address = value;
    if (key != "Gres") continue;
    for (const std::string_view one : Split(value, ',')) {
      const size_t colon = one.find(':');
      node.gres.push_back({std::string(one.substr(0, colon)), ParseInt(one.substr(colon + 1)).value_or(0)});
    }
  }
  return node;
}

std::string ReservationJson(const Reservation& reservation) {
  return "{\"name\":" + JsonQuoted(reservation.name) + ",\"node_list\":" + JsonQuoted(reservation.nodes) +
         ",\"flags\":" + Strings(reservation.flags) + ",\"users\":" + JsonQuoted(Join(reservation.users, ",")) +
         ",\"start_time\":" + Number(reservation.start) + ",\"end_time\":" + Number(reservation.end) + "}";
}

std::string Limit(std::optional<Duration> limit) {
  if (!limit) return R"({"set":false,"infinite":true,"number":0})";
  return R"({"set":true,"infinite":false,"number":)" + std::to_string(*limit / 1min) + "}";
}

std::string JobJson(const Job& job) {
  return "{\"account\":\"\",\"end_time\":" + Number(job.end_time) + ",\"job_id\":" + std::to_string(job.id) +
         ",\"job_state\":" + Strings(job.state.Names()) + ",\"name\":" + JsonQuoted(job.name) +
         ",\"admin_comment\":" + JsonQuoted(job.admin_comment) +
         ",\"flags\":" + (job.external ? R"(["EXTERNAL_JOB","USING_DEFAULT_QOS"])" : "[]") +
         ",\"preempt_time\":" + Number(job.preempt_time) + ",\"nodes\":" + JsonQuoted(job.nodes) +
         ",\"partition\":" + JsonQuoted(job.partition) + ",\"start_time\":" + Number(job.start_time) +
         ",\"state_reason\":" + JsonQuoted(job.state_reason) + ",\"submit_time\":" + Number(job.submit_time) +
         ",\"time_limit\":" + Limit(job.time_limit) + ",\"user_name\":" + JsonQuoted(job.user) + "}";
}

template <class Records, class Render>
std::string List(std::string_view name, const Records& records, Render render, Time now) {
  std::string text;
  for (const auto& record : records) text += (text.empty() ? "" : ",") + render(record);
  return "\"" + std::string(name) + "\":[" + text + "],\"last_update\":" + Number(now) + ",";
}

// Of a client that saw everything up to `update_time`; Slurm counts in seconds and so looks one back.
bool Unchanged(std::string_view query, Time changed) {
  for (std::string_view part : Split(query, '&'))
    if (part.starts_with("update_time=")) return ParseInt(part.substr(12)).value_or(0) - 1 >= UnixSeconds(changed);
  return false;
}

bool Asks(std::string_view query, std::string_view part) { return std::ranges::count(Split(query, '&'), part) > 0; }

// MIXED is what slurmrestd makes of ALLOCATED when asked to.
Node Shown(Node node, std::string_view query) {
  const bool plain = query.find("flags=") != query.npos && !Asks(query, "flags=MIXED");
  if (plain && node.state.Has(NodeFlag::kMixed)) {
    node.state.Remove(NodeFlag::kMixed);
    node.state.Add(NodeFlag::kAllocated);
  }
  return node;
}

bool ChangesSomething(const net::Request& request) {
  return request.method != "GET" || request.target.ends_with("/reconfigure/");
}

class WholeBody final : public net::BodyStream {
 public:
  WholeBody(net::Response response, size_t piece, bool cut_off)
      : response_(std::move(response)), piece_(piece), cut_off_(cut_off) {}
  int status() const override { return response_.status; }
  const net::Headers& headers() const override { return response_.headers; }
  async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline) override {
    const size_t end = cut_off_ ? response_.body.size() / 2 : response_.body.size();
    const size_t got = std::min({buffer.size(), piece_, end - at_});
    if (got == 0 && cut_off_) co_return Fail(Code::kUnavailable, "the connection broke in the middle of the answer");
    std::copy_n(response_.body.data() + at_, got, buffer.data());
    at_ += got;
    co_return got;
  }

 private:
  net::Response response_;
  size_t piece_, at_ = 0;
  bool cut_off_;
};

}  // namespace

class FakeSlurmrestd::Flight {
 public:
  explicit Flight(FakeSlurmrestd& server) : server_(server) {
    ++server_.requests_;
    server_.max_in_flight_ = std::max(server_.max_in_flight_, ++server_.in_flight_);
  }
  ~Flight() { --server_.in_flight_; }
  Flight(const Flight&) = delete;

 private:
  FakeSlurmrestd& server_;
};

size_t FakeSlurmrestd::RequestsFor(std::string_view target) const {
  size_t count = 0;
  for (auto it = asked_.lower_bound(std::string(target)); it != asked_.end() && it->first.starts_with(target); ++it)
    count += it->second;
  return count;
}

Duration FakeSlurmrestd::LatencyOf(const net::Request& request) const {
  const bool list = request.target.find("/nodes/") != std::string::npos;
  return options_.latency + (list ? options_.per_node * int64_t(slurm_.node_count()) : Duration(0));
}

async::Task<Result<net::Response>> FakeSlurmrestd::Send(net::Request request, async::Deadline deadline) {
  const Fault fault = FateOf(request);
  co_return co_await Serve(std::move(request), fault, deadline);
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> FakeSlurmrestd::Open(net::Request request,
                                                                           async::Deadline deadline) {
  const Fault fault = FateOf(request);
  auto response = co_await Serve(std::move(request), fault, deadline);
  if (!response) co_return Fail(std::move(response).error());
  co_return std::make_unique<WholeBody>(*std::move(response), options_.piece, fault == Fault::kCutOff);
}

async::Task<Result<net::Response>> FakeSlurmrestd::Serve(net::Request request, Fault fault, async::Deadline deadline) {
  const Flight flight(*this);
  async::Loop& loop = slurm_.loop();
  ++asked_[request.target];
  const bool write = ChangesSomething(request);
  const size_t index = writes_.size();
  if (write) writes_.push_back({loop.Now(), request.method, request.target, request.body, 0});
  if (fault == Fault::kRefused) co_return Fail(Code::kUnavailable, "connection refused");

  // Half of the time the request travels, half of it the answer.
  Duration wait = LatencyOf(request);
  const bool ping = request.target.ends_with("/ping/");
  if (!slurm_.controller_up() && !ping) wait += options_.controller_patience;
  if (fault == Fault::kHang) wait = Duration::max() / 4;
  const Duration left = deadline.Left(loop.Now());
  co_await async::Sleep(loop, std::min(wait / 2, left));
  if (wait / 2 >= left) co_return Fail(Code::kUnknownOutcome, "no answer came in time");
  if (request.method == "POST" && fault == Fault::kLate) {
    late_.push_back(std::move(request));
    if (!late_timer_) late_timer_ = loop.Schedule(loop.Now() + options_.late, [this] { DoLate(); });
    co_return Fail(Code::kUnknownOutcome, "the connection broke before the answer");
  }
  if (write) DoLate();
  net::Response response;
  if (fault == Fault::kError500) {
    response = Envelope(500, "", slurm_.options().release, Problem("it failed", {1, "Unspecified error"}, "fake"));
  } else if (fault == Fault::kErrorsIn200) {
    response = Envelope(200, "", slurm_.options().release, Problem("it failed", {1, "Unspecified error"}, "fake"));
  } else {
    response = Answer(request);
  }
  if (fault == Fault::kGarbage) response = {200, {{"Content-Type", "application/json"}}, "{\"nodes\":[{\"name\":"};
  if (write) writes_[index].status = response.status;
  co_await async::Sleep(loop, std::min(wait / 2, deadline.Left(loop.Now())));
  if (deadline.Passed(loop.Now())) co_return Fail(Code::kUnknownOutcome, "no answer came in time");
  if (fault == Fault::kLostAnswer || fault == Fault::kLate)
    co_return Fail(Code::kUnknownOutcome, "the connection broke before the answer");
  co_return response;
}

FakeSlurmrestd::~FakeSlurmrestd() {
  if (late_timer_) slurm_.loop().Unschedule(*late_timer_);
}

void FakeSlurmrestd::DoLate() {
  if (late_timer_) slurm_.loop().Unschedule(*late_timer_);
  late_timer_.reset();
  for (const net::Request& request : std::exchange(late_, {})) Answer(request);
}

bool FakeSlurmrestd::Accepts(const net::Request& request) {
  if (key_.empty()) return true;
  if (const std::string_view token = net::Find(request.headers, "X-SLURM-USER-TOKEN"); token != token_) {
    const auto claims = ReadToken(Secret(std::string(token)), key_);
    if (!claims) return false;
    token_ = token;
    claims_ = *claims;
  }
  return claims_.expires_at > slurm_.loop().WallNow() && claims_.issued_at <= slurm_.loop().WallNow();
}

net::Response FakeSlurmrestd::Answer(const net::Request& request) {
  if (net::Find(request.headers, "X-SLURM-USER-TOKEN").empty()) return Text(401, "Authentication failure");
  std::string_view rest = request.target;
  for (int number : options_.versions) {
    const std::string prefix = "/slurm/v0.0." + std::to_string(number) + "/";
    if (rest.starts_with(prefix) && SinceVersion(request.method, rest.substr(prefix.size())) <= number)
      return Route(request, rest.substr(prefix.size()));
  }
  return Text(404, kNoEndpoint);
}

net::Response FakeSlurmrestd::Route(const net::Request& request, std::string_view path) {
  const std::string_view query = path.find('?') == path.npos ? "" : path.substr(path.find('?') + 1);
  path = path.substr(0, path.find('?'));
  const std::string& release = slurm_.options().release;
  if (path == "ping/") {
    const std::string up = slurm_.controller_up() ? "true" : "false";
    return Envelope(
        200, "\"pings\":[{\"hostname\":\"ctl\",\"responding\":" + up + ",\"latency\":600,\"primary\":true}],", release);
  }
  if (!slurm_.controller_up())
    return Envelope(502, "", release,
                    Problem("it failed", {1800, "Unable to contact slurm controller (connect failure)"}, "fake"));
  if (!Accepts(request))
    return Envelope(511, "", release, Problem("it failed", {1007, "Protocol authentication error"}, "fake"));
  const bool get = request.method == "GET";
  if (path == "nodes/" && get) return ListNodes(query);
  if (path == "nodes/" && request.method == "POST") return UpdateNodes({}, request.body, "_update_nodes");
  if (path == "partitions/" && get) return ListPartitions();
  if (path == "reservations/" && get)
    return Envelope(200, List("reservations", slurm_.Reservations(), ReservationJson, slurm_.loop().WallNow()),
                    release);
  if (path == "new/node/" && request.method == "POST") return CreateNode(request.body);
  if (path == "reservation" && request.method == "POST") return WriteReservation(request.body);
  if (path == "jobs/" && get) return ListJobs(query);
  if (path == "jobs/state/" && get) return JobStates(query);
  if (path == "job/submit" && request.method == "POST") return SubmitJob(request.body);
  if (path == "jobs/" && request.method == "DELETE") return CancelJobs(request.body);
  if (path.starts_with("job/")) return get ? OneJob(path.substr(4)) : UpdateJob(path.substr(4), request.body);
  if (path == "conf" && get) return Life();
  if (path == "diag/" && get) return Statistics();
  if (path == "reconfigure/" && get) {
    slurm_.RestartController();
    return Envelope(200, "", release);
  }
  if (path.starts_with("reservation/") && request.method == "DELETE") {
    const std::string name = PercentDecoded(path.substr(12)).value_or("");
    const Outcome refused = slurm_.DeleteReservation(name);
    if (!refused) return Envelope(200, "", release);
    return Envelope(422, "", release,
                    Problem("Error deleting reservation " + name, *refused, "slurm_delete_reservation"));
  }
  if (!path.starts_with("node/")) return Text(404, kNoEndpoint);
  const std::string name = PercentDecoded(path.substr(5)).value_or("");
  if (get) return OneNode(name, query);
  return request.method == "POST" ? UpdateNodes({name}, request.body, "_update_node") : DeleteNode(name);
}

net::Response FakeSlurmrestd::ListNodes(std::string_view query) const {
  const std::string& release = slurm_.options().release;
  if (Unchanged(query, slurm_.nodes_changed())) return {304, {}, ""};
  if (query.find("update_time=") != query.npos && !RestClient::CanAskForChangedNodes(release))
    return Envelope(500, "", release, Problem("Unable to query partitions", {1, "Unspecified error"}, "_dump_nodes"));
  const auto render = [query](const Node& node) { return NodeJson(Shown(node, query)); };
  return Envelope(200, List("nodes", slurm_.Nodes(), render, slurm_.loop().WallNow()), release);
}

net::Response FakeSlurmrestd::ListPartitions() const {
  const auto render = [](const auto& partition) {
    return "{\"name\":" + JsonQuoted(partition.first) + R"(,"partition":{"state":[)" + JsonQuoted(partition.second) +
           R"(]},"nodes":{"total":3},"cpus":{"total":6},"maximums":{"time":{"set":true,"infinite":false,"number":1500}}})";
  };
  return Envelope(200, List("partitions", slurm_.partitions, render, slurm_.loop().WallNow()),
                  slurm_.options().release);
}

net::Response FakeSlurmrestd::ListJobs(std::string_view query) const {
  const std::string& release = slurm_.options().release;
  const std::string unset = "\"last_update\":{\"set\":true,\"infinite\":false,\"number\":0},";
  if (Unchanged(query, slurm_.jobs_changed()))
    return Envelope(200, "\"jobs\":[]," + unset, release, "", "{\"description\":\"No job changes since update_time\"}");
  std::vector<Job> jobs;
  for (const auto& [id, job] : slurm_.jobs()) jobs.push_back(job);
  return Envelope(200, List("jobs", jobs, JobJson, slurm_.loop().WallNow()), release);
}

// Ids that slurmctld does not know are left out.
net::Response FakeSlurmrestd::JobStates(std::string_view query) const {
  std::set<int64_t> ids;
  for (const std::string_view part : Split(query, '&'))
    if (part.starts_with("job_id=")) ids.insert(ParseInt(part.substr(7)).value_or(0));
  std::string text;
  for (const auto& [id, job] : slurm_.jobs()) {
    if (!ids.empty() && !ids.contains(id)) continue;
    text += std::string(text.empty() ? "" : ",") + R"({"job_id":")" + std::to_string(id) + R"(","state":)" +
            Strings(job.state.Names()) + "}";
  }
  return Envelope(200, "\"jobs\":[" + text + "],", slurm_.options().release);
}

net::Response FakeSlurmrestd::OneJob(std::string_view id) const {
  const std::string& release = slurm_.options().release;
  const auto job = slurm_.jobs().find(ParseInt(id).value_or(0));
  if (job != slurm_.jobs().end())
    return Envelope(200, List("jobs", std::vector{job->second}, JobJson, slurm_.loop().WallNow()), release);
  return Envelope(404, "\"jobs\":[],", release,
                  Problem("Unable to query JobId=" + std::string(id), Refusal::kNoSuchJob, "_handle_job_get"));
}

net::Response FakeSlurmrestd::SubmitJob(const std::string& body) {
  const std::string& release = slurm_.options().release;
  const auto asked = json::Decode<wire::SubmitBody>(body);
  if (!asked) return Text(400, "Unable to parse the body");
  const wire::JobBody& job = asked->job;
  ExternalJob made{.id = job.job_id,
                   .name = job.name,
                   .partition = job.partition,
                   .account = job.account,
                   .user = job.user_id,
                   .group = job.group_id,
                   .admin_comment = job.admin_comment,
                   .nodes = ParseInt(Split(job.nodes, '-').front()).value_or(1),
                   .most_nodes = ParseInt(Split(job.nodes, '-').back()).value_or(1),
                   .required_nodes = job.required_nodes,
                   .excluded_nodes = job.excluded_nodes,
                   .shared = job.shared.empty() ? "" : job.shared.front()};
  if (job.time_limit) made.limit_minutes = job.time_limit->number;
  if (const Outcome refused = slurm_.SubmitJob(made))
    return Envelope(422, "", release, Problem("Batch job submission failed", *refused, "slurm_submit_batch_job()"));
  return Envelope(200, R"("job_id":)" + std::to_string(job.job_id) + R"(,"step_id":"batch","job_submit_user_msg":"",)",
                  release);
}

net::Response FakeSlurmrestd::UpdateJob(std::string_view id, const std::string& body) {
  const std::string& release = slurm_.options().release;
  const auto asked = json::Decode<wire::JobUpdateBody>(body);
  if (!asked) return Text(400, "Unable to parse the body");
  const Outcome refused =
      slurm_.UpdateJob({.id = ParseInt(id).value_or(0), .admin_comment = asked->admin_comment, .name = asked->name});
  if (!refused) return Envelope(200, "\"results\":null,", release);
  return Envelope(*refused == Refusal::kNoSuchJob ? 404 : 422, "\"results\":null,", release,
                  Problem("Job update requested failed", *refused, "slurm_update_job2()"));
}

// Which jobs were not signalled is told in an answer that is a success.
net::Response FakeSlurmrestd::CancelJobs(const std::string& body) {
  const auto asked = json::Decode<wire::KillBody>(body);
  if (!asked || asked->jobs.size() != 1) return Text(400, "Unable to parse the body");
  JobCancel cancel{.id = ParseInt(asked->jobs.front()).value_or(0), .name = asked->job_name};
  if (!asked->job_state.empty()) {
    for (const JobFlag flag : {JobFlag::kPending, JobFlag::kRunning, JobFlag::kSuspended})
      if (StateNames(flag)[size_t(flag)] == asked->job_state.front()) cancel.only_if = flag;
  }
  std::string status;
  if (const Outcome refused = slurm_.CancelExactly(cancel)) {
    status = R"({"error":{"string":)" + JsonQuoted(refused->text) + R"(,"code":)" + std::to_string(refused->number) +
             R"(,"message":)" + JsonQuoted(refused->text) + R"(},"step_id":)" + JsonQuoted(asked->jobs.front()) + "}";
  }
  return Envelope(200, "\"status\":[" + status + "],", slurm_.options().release);
}

net::Response FakeSlurmrestd::OneNode(const std::string& name, std::string_view query) const {
  const auto node = slurm_.NodeNamed(name);
  const std::string& release = slurm_.options().release;
  if (!node)
    return Envelope(200, "", release, Problem("Failure to query node " + name, {0, "No error"}, "_dump_nodes"));
  return Envelope(200, List("nodes", std::vector{Shown(*node, query)}, NodeJson, slurm_.loop().WallNow()), release);
}

net::Response FakeSlurmrestd::UpdateNodes(std::vector<std::string> names, const std::string& body,
                                          std::string_view source) {
  const std::string& release = slurm_.options().release;
  auto asked = json::Decode<wire::UpdateBody>(body);
  if (!asked) return Text(400, "Unable to parse the body");
  for (const std::string& hosts : asked->name.value_or(std::vector<std::string>())) {
    const auto expanded = ExpandHostlist(hosts);
    if (!expanded) return Text(400, "Unable to parse a host list");
    names.insert(names.end(), expanded->begin(), expanded->end());
  }
  FakeSlurm::Update update;
  if (asked->state && !asked->state->empty()) update.state = asked->state->front();
  update.reason = asked->reason.value_or("");
  update.comment = asked->comment;
  update.extra = asked->extra;
  update.topology = asked->topology_str;
  update.features = asked->features.value_or(std::vector<std::string>());
  update.active_features = asked->features_act.value_or(std::vector<std::string>());
  if (asked->weight) update.weight = asked->weight->number;
  if (const Outcome refused = slurm_.UpdateNodes(names, update))
    return Envelope(422, "", release, Problem("Failure to update node " + Join(names, ","), *refused, source));
  return Envelope(200, "", release);
}

net::Response FakeSlurmrestd::CreateNode(const std::string& body) {
  const std::string& release = slurm_.options().release;
  const auto asked = json::Decode<wire::NewNodeBody>(body);
  if (!asked) return Text(400, "Unable to parse the body");
  const std::string& line = asked->node_conf;
  const bool cloud = line.contains(" State=CLOUD ");
  if (const Outcome refused = cloud ? slurm_.CreateNode(CloudNodeOf(line)) : slurm_.CreateNode(NodeOf(line)))
    return Envelope(422, "", release, Problem("Failure to create node", *refused, "_create_node"));
  return Envelope(200, "", release);
}

net::Response FakeSlurmrestd::DeleteNode(const std::string& name) {
  const std::string& release = slurm_.options().release;
  if (const Outcome refused = slurm_.DeleteNode(name))
    return Envelope(422, "", release, Problem("Failure to delete node " + name, *refused, "op_handler_node"));
  return Envelope(200, "", release);
}

net::Response FakeSlurmrestd::WriteReservation(const std::string& body) {
  const std::string& release = slurm_.options().release;
  auto asked = json::Decode<wire::ReservationBody>(body);
  if (!asked) return Text(400, "Unable to parse the body");
  ReservationUpdate update{
      .name = asked->name, .nodes = {}, .flags = asked->flags, .users = asked->users, .start = {}, .duration = {}};
  for (const std::string& hosts : asked->node_list) {
    const auto expanded = ExpandHostlist(hosts);
    if (!expanded) return Text(400, "Unable to parse a host list");
    update.nodes.insert(update.nodes.end(), expanded->begin(), expanded->end());
  }
  if (asked->start_time) update.start = asked->start_time->ToTime();
  if (asked->duration) update.duration = std::chrono::minutes(asked->duration->number);
  if (const Outcome refused = slurm_.WriteReservation(update))
    return Envelope(422, "", release,
                    Problem("Error creating reservation " + asked->name, *refused, "slurm_create_reservation"));
  return Envelope(200, "", release);
}

net::Response FakeSlurmrestd::Life() const {
  const int64_t timeout = std::chrono::duration_cast<std::chrono::seconds>(slurm_.options().slurmd_timeout).count();
  return Envelope(
      200,
      "\"slurm_conf\":{\"MaxDBDMsgs\":0,\"MaxJobCount\":10000,\"SlurmdTimeout\":" + std::to_string(timeout) +
          "},\"slurm_conf_meta\":{\"LastUpdate\":" + std::to_string(UnixSeconds(slurm_.loop().WallNow())) +
          ",\"BOOT_TIME\":" + std::to_string(UnixSeconds(slurm_.boot_time())) + "},",
      slurm_.options().release);
}

net::Response FakeSlurmrestd::Statistics() const {
  return Envelope(200,
                  "\"statistics\":{\"req_time\":" + Number(slurm_.loop().WallNow()) +
                      ",\"req_time_start\":" + Number(slurm_.boot_time()) +
                      ",\"dbd_agent_queue_size\":" + std::to_string(slurm_.accounting_queue) + "},",
                  slurm_.options().release);
}

}  // namespace capstan::slurm::testing
