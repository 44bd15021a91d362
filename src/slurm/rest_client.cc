#include "slurm/rest_client.h"

#include <algorithm>

#include "base/text.h"
#include "slurm/accounting_wire.h"
#include "slurm/amount.h"
#include "slurm/element_cutter.h"
#include "slurm/rest_answer.h"
#include "slurm/usage_wire.h"

namespace capstan::slurm {
namespace {

constexpr size_t kReadBytes = 64 << 10;
constexpr size_t kElementBytes = size_t{1} << 20;  // of one node or job
constexpr int64_t kLeastDbdMessages = 10'000;      // slurmctld takes no smaller MaxDBDMsgs

// One host's name and nothing that slurmrestd would take for a list.
Result<void> CheckName(std::string_view name) {
  if (name.empty() || name.find_first_of("[],/ \t\r\n") != name.npos)
    return Fail(Code::kInvalid, JsonQuoted(name) + " is not the name of one Slurm node");
  return {};
}

bool IsJson(const net::Headers& headers) { return net::Find(headers, "Content-Type").starts_with("application/json"); }

// A read has no effect, so a lost answer is no worse than no connection.
Error AsRead(Error error) {
  if (error.code() != Code::kUnknownOutcome) return error;
  return Error(Code::kUnavailable, error.message());
}

// An answer that was too large to be read, or none of HTTP, says nothing of what the write did.
Error AsWrite(Error error) {
  if (error.code() != Code::kInvalid) return error;
  return Error(Code::kUnknownOutcome, error.message());
}

// What a record takes of memory, beside what it is a part of.
size_t HeldBy(const std::string& text) { return text.capacity() > std::string().capacity() ? text.capacity() : 0; }
size_t HeldBy(const std::vector<std::string>& texts) {
  size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += HeldBy(text);
  return bytes;
}
template <class... Members>
size_t HeldByAll(const Members&... members) {
  return (HeldBy(members) + ...);
}
size_t HeldBy(const Node& n) {
  return HeldByAll(n.name, n.reason, n.reason_set_by, n.comment, n.extra, n.features, n.active_features, n.partitions,
                   n.address, n.hostname, n.topology, n.reservation, n.gres, n.version);
}
size_t HeldBy(const Job& j) { return HeldByAll(j.state_reason, j.name, j.user, j.partition, j.nodes, j.admin_comment); }
size_t HeldBy(const RestClient::JobBrief&) { return 0; }
size_t HeldBy(const Partition& p) { return HeldByAll(p.name, p.nodes, p.state); }
size_t HeldBy(const License& l) { return HeldBy(l.name); }
size_t HeldBy(const Share& s) { return HeldByAll(s.account, s.user, s.parent, s.partition); }
size_t HeldBy(const Reservation& r) { return HeldByAll(r.name, r.nodes, r.flags, r.users); }

void Convert(wire::NodeRecord&& record, std::vector<Node>& out) { out.push_back(std::move(record).ToNode()); }
void Convert(wire::JobRecord&& record, std::vector<Job>& out) { out.push_back(std::move(record).ToJob()); }
// "7", "7_2" or "7+1": what stands behind the id tells it from others of its array or heterogeneous job.
void Convert(wire::JobBriefRecord&& record, std::vector<RestClient::JobBrief>& out) {
  const auto id = ParseInt(std::string_view(record.job_id).substr(0, record.job_id.find_first_not_of("0123456789")));
  out.push_back({id.value_or(0), JobState::FromNames(record.state)});
}
void Convert(wire::PartitionRecord&& record, std::vector<Partition>& out) {
  out.push_back(std::move(record).ToPartition());
}
void Convert(wire::ReservationRecord&& record, std::vector<Reservation>& out) {
  out.push_back(std::move(record).ToReservation());
}
void Convert(wire::LicenseRecord&& record, std::vector<License>& out) { out.push_back(std::move(record).ToLicense()); }
void Convert(wire::ShareRecord&& record, std::vector<Share>& out) { out.push_back(std::move(record).ToShare()); }
void Sort(std::vector<Share>&) {}
void Sort(std::vector<License>& licenses) { std::ranges::sort(licenses, {}, &License::name); }
void Sort(std::vector<Reservation>& reservations) { std::ranges::sort(reservations, {}, &Reservation::name); }
void Sort(std::vector<Partition>& partitions) { std::ranges::sort(partitions, {}, &Partition::name); }
void Sort(std::vector<Node>& nodes) { std::ranges::sort(nodes, {}, &Node::name); }
void Sort(std::vector<Job>& jobs) { std::ranges::sort(jobs, {}, &Job::id); }
void Sort(std::vector<RestClient::JobBrief>& jobs) { std::ranges::sort(jobs, {}, &RestClient::JobBrief::id); }

template <class Record>
struct WireOf;
template <>
struct WireOf<Node> {
  using Type = wire::NodeRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_nodes; }
};
template <>
struct WireOf<Job> {
  using Type = wire::JobRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_jobs; }
};
template <>
struct WireOf<Partition> {
  using Type = wire::PartitionRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_partitions; }
};
template <>
struct WireOf<Reservation> {
  using Type = wire::ReservationRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_reservations; }
};
template <>
struct WireOf<License> {
  using Type = wire::LicenseRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_licenses; }
};
template <>
struct WireOf<Share> {
  using Type = wire::ShareRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_shares; }
};
template <>
struct WireOf<RestClient::JobBrief> {
  using Type = wire::JobBriefRecord;
  static size_t Most(const RestClient::Options& options) { return options.max_jobs; }
};

async::Task<Result<std::string>> ReadAll(net::BodyStream& stream, size_t limit, async::Deadline deadline) {
  std::string body;
  std::vector<char> buffer(kReadBytes);
  while (true) {
    CAPSTAN_CO_TRY(const size_t got, co_await stream.Read(buffer, deadline));
    if (got == 0) co_return body;
    if (body.size() + got > limit)
      co_return Fail(Code::kInvalid, "slurmrestd's answer is larger than " + std::to_string(limit) + " bytes");
    body.append(buffer.data(), got);
  }
}

// Both in seconds since 1970; 0: not known.
Duration UpSince(int64_t since, int64_t now) {
  return since > 0 && now > since ? SecondsOf(now - since) : Duration::zero();
}

}  // namespace

RestClient::RestClient(async::Loop& loop, net::Transport& transport, TokenFactory sign, Options options)
    : loop_(loop), transport_(transport), sign_(std::move(sign)), options_(std::move(options)) {}

bool RestClient::CanAskForChangedNodes(std::string_view release) {
  const auto parts = Split(release, '.');
  if (parts.size() < 3) return false;
  const auto year = ParseInt(parts[0]), month = ParseInt(parts[1]);
  const auto patch = ParseInt(parts[2].substr(0, parts[2].find_first_not_of("0123456789")));
  if (!year || !month || !patch) return false;
  return std::tuple(*year, *month, *patch) >= std::tuple(26, 5, 3);
}

Result<Secret> RestClient::Token() {
  if (token_.empty() || loop_.Now() >= token_until_) {
    CAPSTAN_TRY(token_, sign_(options_.token_lifetime));
    token_until_ = loop_.Now() + options_.token_lifetime * 4 / 5;
  }
  return token_;
}

Result<net::Request> RestClient::MakeRequest(std::string method, std::string target, std::string body) {
  CAPSTAN_TRY(const Secret token, Token());
  net::Request request;
  request.repeatable = method == "GET" && !target.ends_with("/reconfigure/");
  request.max_answer_bytes = options_.max_answer_bytes;
  request.method = std::move(method);
  request.target = std::move(target);
  request.headers = {{"Accept", "application/json"}};
  if (!token.empty()) request.headers.emplace_back("X-SLURM-USER-TOKEN", std::string(token.Reveal()));
  // slurmrestd takes a GET with a content type for a form.
  if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  return request;
}

async::Task<Result<RestClient::Answer>> RestClient::CallOnce(std::string method, std::string target, std::string body,
                                                             async::Deadline deadline) {
  CAPSTAN_CO_TRY(auto request, MakeRequest(std::move(method), std::move(target), std::move(body)));
  const bool read = request.repeatable;
  auto response = co_await transport_.Send(std::move(request), deadline);
  if (!response && response.error().code() == Code::kInvalid)
    response = Fail(std::move(response).error().WithContext("slurmrestd's answer"));
  if (!response) co_return Fail(read ? AsRead(std::move(response).error()) : AsWrite(std::move(response).error()));
  Answer answer;
  answer.status = response->status;
  answer.json = IsJson(response->headers);
  answer.body = std::move(response->body);
  if (answer.json) {
    auto envelope = DecodeBounded<wire::Envelope>(answer.body, options_);
    // What cannot be read is no answer: an error status stays what it says, a success is not believed.
    if (!envelope && answer.status < 300)
      co_return Fail(Senseless(read ? Code::kUnavailable : Code::kUnknownOutcome, envelope.error()));
    if (envelope) {
      NoteRelease(envelope->meta.slurm.release);
      answer.errors = std::move(envelope->errors);
      answer.warnings = std::move(envelope->warnings);
    }
  }
  co_return answer;
}

// Another release may have a data parser that is preferred, or lack the one in use.
void RestClient::NoteRelease(std::string_view told) {
  std::string release = OneLine(told, kLongestFault);
  if (release.empty() || release == release_) return;
  if (!release_.empty()) version_.clear();
  has_conf_ = true;
  release_ = std::move(release);
}

Error RestClient::NotSupported(std::string_view what, std::string_view since) const {
  return Error(Code::kInvalid, std::string(what) + ": not supported by this Slurm" +
                                   (release_.empty() ? "" : " (" + release_ + ")") + "; Slurm " + std::string(since) +
                                   " and newer can");
}

async::Task<Result<RestClient::Answer>> RestClient::Call(std::string method, std::string path, std::string body,
                                                         async::Deadline deadline, std::string api) {
  // Each of the two may be needed once: a new token, another version of the API.
  for (bool signed_again = false, negotiated_again = false;;) {
    if (version_.empty()) CAPSTAN_CO_CHECK_OK(co_await Negotiate(deadline));
    CAPSTAN_CO_TRY(Answer answer, co_await CallOnce(method, "/" + api + "/" + version_ + "/" + path, body, deadline));
    if (!signed_again && answer.ToError(false).code() == Code::kUnauthenticated) {
      signed_again = true;
      token_ = Secret();
    } else if (!negotiated_again && api == kSlurmctldApi && answer.NoSuchEndpoint()) {
      negotiated_again = true;
      version_.clear();
    } else {
      co_return answer;
    }
  }
}

async::Task<Result<RestClient::Answer>> RestClient::Get(std::string path, async::Deadline deadline) {
  CAPSTAN_CO_TRY(Answer answer, co_await Call("GET", std::move(path), "", deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(false));
  co_return answer;
}

async::Task<Result<void>> RestClient::Negotiate(async::Deadline deadline) {
  std::string tried;
  for (int number : options_.versions) {
    const std::string version = "v0.0." + std::to_string(number);
    CAPSTAN_CO_TRY(const Answer answer, co_await CallOnce("GET", "/slurm/" + version + "/ping/", "", deadline));
    if (answer.status == 404 && !answer.NoSuchEndpoint()) co_return Fail(answer.ToError(false));
    if (!answer.NoSuchEndpoint()) {
      version_ = version;
      co_return Result<void>();
    }
    tried += (tried.empty() ? "" : ", ") + version;
  }
  co_return Fail(Code::kInvalid,
                 "slurmrestd offers none of the API versions Capstan speaks (" + tried + "); Slurm 24.11 to 26.05 do");
}

// --- Lists -----------------------------------------------------------------------------------------------------------

async::Task<Result<RestClient::ListEnd>> RestClient::ReadElementsOnce(Elements& elements, bool& unknown_path,
                                                                      async::Deadline deadline) {
  CAPSTAN_CO_TRY(auto request, MakeRequest("GET", "/slurm/" + version_ + "/" + elements.path, ""));
  auto opened = co_await transport_.Open(std::move(request), deadline);
  if (!opened) co_return Fail(AsRead(std::move(opened).error()));
  net::BodyStream& stream = **opened;
  if (stream.status() == 304) co_return ListEnd{.unchanged = true, .update_time = 0, .release = {}, .cluster = {}};
  if (stream.status() != 200) {
    CAPSTAN_CO_TRY(const std::string body, co_await ReadAll(stream, options_.max_answer_bytes, deadline));
    if (!IsJson(stream.headers())) {
      unknown_path = IsNoSuchEndpoint(stream.status(), body);
      co_return Fail(wire::ErrorOf(stream.status(), {}, body, false));
    }
    const auto envelope = DecodeBounded<wire::Envelope>(body, options_);
    if (envelope) NoteRelease(envelope->meta.slurm.release);
    co_return Fail(
        wire::ErrorOf(stream.status(), envelope ? envelope->errors : std::vector<wire::Problem>(), "", false));
  }

  elements.begin();
  ElementCutter cutter(elements.array, elements.take, {.element_bytes = kElementBytes});
  std::vector<char> buffer(kReadBytes);
  size_t bytes = 0;
  while (true) {
    auto got = co_await stream.Read(buffer, deadline);
    if (!got) co_return Fail(AsRead(std::move(got).error()));
    if (*got == 0) break;
    bytes += *got;
    if (bytes > options_.max_list_bytes) {
      co_return Fail(Code::kInvalid,
                     "slurmrestd's list is too large: more than " + std::to_string(options_.max_list_bytes) + " bytes");
    }
    CAPSTAN_CO_CHECK_OK(cutter.Feed(std::string_view(buffer.data(), *got)), "slurmrestd's list");
  }
  if (!cutter.complete()) co_return Fail(Code::kUnavailable, "slurmrestd's list ended early");
  const auto envelope = DecodeBounded<wire::Envelope>(cutter.rest(), options_);
  if (!envelope) co_return Fail(Senseless(Code::kInvalid, envelope.error()));
  NoteRelease(envelope->meta.slurm.release);
  if (!envelope->errors.empty()) co_return Fail(wire::ErrorOf(200, envelope->errors, "", false));
  co_return ListEnd{.unchanged = false,
                    .update_time = envelope->last_update.number,
                    .release = OneLine(envelope->meta.slurm.release, kLongestFault),
                    .cluster = OneLine(envelope->meta.slurm.cluster, kLongestFault)};
}

async::Task<Result<RestClient::ListEnd>> RestClient::ReadElements(Elements elements, async::Deadline deadline) {
  for (bool again = false;; again = true) {
    if (version_.empty()) CAPSTAN_CO_CHECK_OK(co_await Negotiate(deadline));
    bool unknown_path = false;
    auto end = co_await ReadElementsOnce(elements, unknown_path, deadline);
    if (end || again) co_return end;
    if (end.error().code() == Code::kUnauthenticated)
      token_ = Secret();
    else if (unknown_path)
      version_.clear();
    else
      co_return end;
  }
}

template <class Record>
async::Task<Result<RestClient::List<Record>>> RestClient::ReadList(std::string path, std::string array,
                                                                   async::Deadline deadline) {
  List<Record> list;
  json::Decoder decoder;
  size_t held = 0;
  const auto begin = [&] {
    list.records.clear();
    held = 0;
  };
  const auto take = [&](std::string_view element) -> Result<void> {
    CAPSTAN_CHECK_OK(CheckRoom(list.records.size(), WireOf<Record>::Most(options_)));
    typename WireOf<Record>::Type record;
    CAPSTAN_CHECK_OK(DecodeElement(decoder, record, element));
    Convert(std::move(record), list.records);
    held += sizeof(Record) + HeldBy(list.records.back());
    if (held <= options_.max_held_bytes) return {};
    return Fail(Code::kInvalid, "slurmrestd's list is too large: its records take more than " +
                                    std::to_string(options_.max_held_bytes) + " bytes");
  };
  CAPSTAN_CO_TRY(ListEnd end, co_await ReadElements({std::move(path), std::move(array), begin, take}, deadline));
  list.unchanged = end.unchanged;
  list.update_time = end.update_time;
  list.release = std::move(end.release);
  Sort(list.records);
  list.records.shrink_to_fit();
  co_return list;
}

async::Task<Result<RestClient::List<Node>>> RestClient::Nodes(int64_t update_time, async::Deadline deadline) {
  // Without MIXED a node with some jobs would show as ALLOCATED or IDLE; a flag given replaces the defaults.
  std::string path = "nodes/?flags=ALL&flags=MIXED";
  if (update_time != 0 && CanAskForChangedNodes(release_)) path += "&update_time=" + std::to_string(update_time);
  co_return co_await ReadList<Node>(std::move(path), "nodes", deadline);
}

async::Task<Result<RestClient::List<Job>>> RestClient::Jobs(int64_t update_time, async::Deadline deadline) {
  std::string path = "jobs/?flags=ALL";  // without DETAIL, which makes up most of a running job's record
  if (update_time != 0) path += "&update_time=" + std::to_string(update_time);
  CAPSTAN_CO_TRY(auto list, co_await ReadList<Job>(std::move(path), "jobs", deadline));
  // "Unchanged" comes as status 200 with an empty list, easily taken for "all jobs are gone".
  if (update_time != 0 && list.records.empty() && list.update_time == 0) list.unchanged = true;
  co_return list;
}

async::Task<Result<std::vector<Job>>> RestClient::JobsNumbered(std::vector<int64_t> ids, async::Deadline deadline) {
  std::vector<Job> jobs;
  json::Decoder decoder;
  const auto take = [&](std::string_view element) -> Result<void> {
    wire::JobRecord record;
    CAPSTAN_CHECK_OK(DecodeElement(decoder, record, element));
    if (!std::ranges::binary_search(ids, record.job_id)) return {};
    CAPSTAN_CHECK_OK(CheckRoom(jobs.size(), ids.size()));
    jobs.push_back(std::move(record).ToJob());
    return {};
  };
  CAPSTAN_CO_CHECK_OK(co_await ReadElements({"jobs/?flags=ALL", "jobs", [&jobs] { jobs.clear(); }, take}, deadline));
  Sort(jobs);
  co_return jobs;
}

async::Task<Result<RestClient::List<RestClient::JobBrief>>> RestClient::JobStates(async::Deadline deadline) {
  co_return co_await ReadList<JobBrief>("jobs/state/", "jobs", deadline);
}

// An id that slurmctld does not know is left out. Ids in one parameter, with commas between them, are an error.
async::Task<Result<RestClient::List<RestClient::JobBrief>>> RestClient::JobStates(std::vector<int64_t> ids,
                                                                                  async::Deadline deadline) {
  if (ids.empty() || ids.size() > kMaxIds)
    co_return Fail(Code::kInvalid, "between 1 and " + std::to_string(kMaxIds) + " jobs can be asked for at once");
  std::string path = "jobs/state/?";
  for (const int64_t id : ids) path += (path.ends_with('?') ? "job_id=" : "&job_id=") + std::to_string(id);
  co_return co_await ReadList<JobBrief>(std::move(path), "jobs", deadline);
}

async::Task<Result<RestClient::List<Partition>>> RestClient::Partitions(async::Deadline deadline) {
  co_return co_await ReadList<Partition>("partitions/", "partitions", deadline);
}

async::Task<Result<RestClient::List<Reservation>>> RestClient::Reservations(async::Deadline deadline) {
  co_return co_await ReadList<Reservation>("reservations/", "reservations", deadline);
}

async::Task<Result<RestClient::List<License>>> RestClient::Licenses(async::Deadline deadline) {
  co_return co_await ReadList<License>("licenses/", "licenses", deadline);
}

async::Task<Result<RestClient::List<Share>>> RestClient::Shares(async::Deadline deadline) {
  co_return co_await ReadList<Share>("shares", "shares/shares", deadline);
}

// --- Single calls ----------------------------------------------------------------------------------------------------

async::Task<Result<std::optional<Node>>> RestClient::NodeNamed(std::string name, async::Deadline deadline) {
  CAPSTAN_CO_CHECK_OK(CheckName(name));
  // Without MIXED: it would be worked out from counters that only a list refreshes, so that a node whose jobs
  // have ended could show as busy until then.
  CAPSTAN_CO_TRY(Answer answer, co_await Call("GET", "node/" + PercentEncoded(name) + "?flags=ALL", "", deadline));
  if (!answer.ok()) {
    if (wire::SayNoSuchNode(answer.errors)) co_return std::optional<Node>();
    co_return Fail(answer.ToError(false));
  }
  CAPSTAN_CO_TRY(auto found, DecodeAnswer<wire::NodesAnswer>(answer.body, options_));
  if (found.nodes.size() != 1 || found.nodes[0].name != name)
    co_return Fail(Code::kUnavailable, "slurmrestd's answer about node " + name + " is about something else");
  co_return std::optional<Node>(std::move(found.nodes[0]).ToNode());
}

async::Task<Result<RestClient::Life>> RestClient::ReadLife(async::Deadline deadline) {
  if (!has_conf_) co_return co_await LifeFromDiag(deadline);
  const auto conf = co_await ReadConf(deadline);
  if (!conf && !has_conf_) co_return co_await LifeFromDiag(deadline);
  if (!conf) co_return Fail(conf.error());
  if (conf->meta.boot_time == 0)
    co_return Fail(Code::kUnavailable, "slurmrestd does not say when slurmctld was started");
  Life life{.id = "boot " + std::to_string(conf->meta.boot_time),
            .uptime = UpSince(conf->meta.boot_time, conf->meta.last_update),
            .slurmd_timeout = std::nullopt};
  if (conf->conf.slurmd_timeout > 0) life.slurmd_timeout = SecondsOf(conf->conf.slurmd_timeout);
  co_return life;
}

// slurm.conf as slurmctld has it, and the one place where it tells when it was started.
async::Task<Result<wire::ConfAnswer>> RestClient::ReadConf(async::Deadline deadline) {
  for (bool again = false;; again = true) {
    CAPSTAN_CO_TRY(const Answer answer, co_await CallOnce("GET", "/slurm/v0.0.45/conf", "", deadline));
    if (!answer.ok() && !again && answer.ToError(false).code() == Code::kUnauthenticated) {
      token_ = Secret();
      continue;
    }
    if (!answer.ok()) {
      if (answer.NoSuchEndpoint()) has_conf_ = false;
      co_return Fail(answer.ToError(false));
    }
    co_return DecodeAnswer<wire::ConfAnswer>(answer.body, options_);
  }
}

// Before v0.0.45: since when statistics are counted. That is slurmctld's start, or midnight, or when somebody
// reset them; taking those for a restart only means more patience.
async::Task<Result<RestClient::Life>> RestClient::LifeFromDiag(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Get("diag/", deadline));
  CAPSTAN_CO_TRY(const auto diag, DecodeAnswer<wire::DiagAnswer>(answer.body, options_));
  const int64_t since = diag.statistics.req_time_start.number, now = diag.statistics.req_time.number;
  Life life{.id = "statistics since " + std::to_string(since), .uptime = Duration(0), .slurmd_timeout = std::nullopt};
  // 0 is a first start without saved state; then nothing is known about how long it has been up.
  life.uptime = UpSince(since, now);
  co_return life;
}

async::Task<Result<std::vector<ControllerPing>>> RestClient::Ping(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Get("ping/", deadline));
  CAPSTAN_CO_TRY(const auto pings, DecodeAnswer<wire::PingAnswer>(answer.body, options_));
  std::vector<ControllerPing> controllers;
  for (const wire::Ping& ping : pings.pings) controllers.push_back({ping.hostname, ping.responding, ping.primary});
  // slurmrestd says the same of a slurmctld that refuses the token, as after its key was replaced.
  if (std::ranges::none_of(controllers, &ControllerPing::responding)) token_ = Secret();
  co_return controllers;
}

async::Task<Result<AccountingQueue>> RestClient::ReadAccountingQueue(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Get("diag/", deadline));
  CAPSTAN_CO_TRY(const auto diag, DecodeAnswer<wire::DiagAnswer>(answer.body, options_));
  AccountingQueue queue{.waiting = Amount(diag.statistics.dbd_agent_queue_size), .capacity = kLeastDbdMessages};
  if (!has_conf_) co_return queue;
  const auto conf = co_await ReadConf(deadline);
  if (!conf && !has_conf_) co_return queue;
  if (!conf) co_return Fail(conf.error());
  // Slurm adds four for each node.
  const int64_t said = Amount(conf->conf.max_dbd_messages);
  queue.capacity = said > 0 ? said : 2 * Amount(conf->conf.max_job_count);
  queue.capacity = std::max(queue.capacity, kLeastDbdMessages);
  co_return queue;
}

async::Task<Result<void>> RestClient::Update(NodeUpdate update, async::Deadline deadline) {
  if (update.names.empty()) co_return Fail(Code::kInvalid, "an update names no Slurm node");
  for (const std::string& name : update.names) CAPSTAN_CO_CHECK_OK(CheckName(name));
  const bool needs_reason = update.action == NodeAction::kDrain || update.action == NodeAction::kDown;
  if (needs_reason && update.reason.value_or("").empty())
    co_return Fail(Code::kInvalid, "state " + std::string(Name(*update.action)) + " needs a reason");
  for (const auto& list : {update.features, update.active_features})
    if (list && list->empty())
      co_return Fail(Code::kInvalid, "Slurm ignores an update to no features at all; name at least one");
  const std::string path = update.names.size() == 1 ? "node/" + PercentEncoded(update.names[0]) : "nodes/";
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("POST", path, json::Encode(wire::ToBody(update)), deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  const auto is_of_topology = [](const wire::Problem& warning) { return warning.source.starts_with("#/topology_str"); };
  if (std::ranges::any_of(answer.warnings, is_of_topology))
    co_return Fail(NotSupported("topologies of nodes", "25.05"));
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::CreateNode(NewNode node, async::Deadline deadline) {
  CAPSTAN_CO_TRY(std::string line, LineOf(node));
  std::string body = json::Encode(wire::NewNodeBody{.node_conf = std::move(line)});
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("POST", "new/node/", std::move(body), deadline));
  if (answer.NoSuchEndpoint()) co_return Fail(NotSupported("making nodes", "25.11"));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::Delete(std::string name, async::Deadline deadline) {
  CAPSTAN_CO_CHECK_OK(CheckName(name));
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("DELETE", "node/" + PercentEncoded(name), "", deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::WriteReservation(ReservationUpdate update, async::Deadline deadline) {
  if (update.nodes.empty()) co_return Fail(Code::kInvalid, "reservation " + update.name + " would have no nodes");
  CAPSTAN_CO_TRY(const Answer answer,
                 co_await Call("POST", "reservation", json::Encode(wire::ToBody(update)), deadline));
  if (answer.NoSuchEndpoint()) co_return Fail(NotSupported("making reservations", "25.05"));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::DeleteReservation(std::string name, async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("DELETE", "reservation/" + PercentEncoded(name), "", deadline));
  if (answer.NoSuchEndpoint()) co_return Fail(NotSupported("deleting reservations", "25.05"));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  co_return Result<void>();
}

async::Task<Result<void>> RestClient::Reconfigure(async::Deadline deadline) {
  CAPSTAN_CO_TRY(const Answer answer, co_await Call("GET", "reconfigure/", "", deadline));
  if (!answer.ok()) co_return Fail(answer.ToError(true));
  co_return Result<void>();
}

}  // namespace capstan::slurm
