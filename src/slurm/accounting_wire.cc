#include "slurm/accounting_wire.h"

#include <algorithm>

#include "base/text.h"
#include "slurm/amount.h"

namespace capstan::slurm::wire {
namespace {

constexpr int64_t kOfParent = 0x7fffffff;  // shares, as slurmctld has Fairshare=parent
constexpr size_t kLongestWord = 256;       // bytes of a name that becomes a label, or of a reason

std::optional<Time> TimeOf(int64_t seconds) { return Number{.set = true, .number = seconds}.ToTime(); }

std::optional<int64_t> ValueOf(const Number& number) {
  return number.set && !number.infinite ? std::optional(number.number) : std::nullopt;
}

}  // namespace

// A user's row names the user, and its account as the parent.
Share ShareRecord::ToShare() && {
  const bool of_user = std::ranges::find(type, "USER") != type.end();
  Share share{.account = OneLine(of_user ? parent : name, kLongestWord),
              .user = of_user ? OneLine(name, kLongestWord) : "",
              .parent = OneLine(parent, kLongestWord),
              .partition = OneLine(partition, kLongestWord),
              .shares = ValueOf(shares),
              .shares_ratio = shares_normalized.Get(),
              .usage = usage,
              .usage_ratio = effective_usage.Get().value_or(0),
              .fair_share = std::nullopt};
  if (share.shares == kOfParent) share.shares.reset();
  if (of_user) share.fair_share = fairshare.factor.Get();
  return share;
}

BookedJob BookedJobRecord::ToJob() && {
  constexpr int64_t kLongestRun = Duration::max() / 1s;
  return {.id = job_id,
          .cluster = std::move(cluster),
          .name = std::move(name),
          .user = std::move(user),
          .account = std::move(account),
          .partition = std::move(partition),
          .qos = std::move(qos),
          .nodes = nodes == "None assigned" ? "" : std::move(nodes),
          .state = JobState::FromNames(state.current),
          .state_reason = OneLine(state.reason, kLongestWord),
          .exit_status = ValueOf(exit_code.return_code),
          .signal = ValueOf(exit_code.signal.id),
          .submit_time = TimeOf(time.submission),
          .start_time = TimeOf(time.start),
          .end_time = TimeOf(time.end),
          .elapsed = std::chrono::seconds(std::clamp<int64_t>(time.elapsed, 0, kLongestRun))};
}

Result<JobResources> ResourcesRecord::ToResources() && {
  JobResources held{.node = std::move(node),
                    .sockets = sockets_per_node,
                    .cores_per_socket = cores_per_socket,
                    .cores = {},
                    .memory_mib = Amount(mem_alloc),
                    .devices = {}};
  CAPSTAN_TRY(held.cores, BitsOfMask(core_bitmap));
  for (DeviceRecord& one : gres)
    held.devices.push_back({std::move(one.name), std::move(one.type), one.count, std::move(one.index)});
  return held;
}

// --- Tables ----------------------------------------------------------------------------------------------------------

const json::Schema& Fraction::Schema() {
  static const json::Schema schema = json::Object<Fraction>({
      json::Field<&Fraction::set>("set"),
      json::Field<&Fraction::infinite>("infinite"),
      json::Field<&Fraction::number>("number"),
  });
  return schema;
}

const json::Schema& FairShare::Schema() {
  static const json::Schema schema = json::Object<FairShare>({json::Field<&FairShare::factor>("factor")});
  return schema;
}

const json::Schema& ShareRecord::Schema() {
  using S = ShareRecord;
  static const json::Schema schema = json::Object<S>({
      json::Field<&S::name>("name"),
      json::Field<&S::parent>("parent"),
      json::Field<&S::partition>("partition"),
      json::Field<&S::type>("type"),
      json::Field<&S::shares>("shares"),
      json::Field<&S::shares_normalized>("shares_normalized"),
      json::Field<&S::effective_usage>("effective_usage"),
      json::Field<&S::fairshare>("fairshare"),
      json::Field<&S::usage>("usage"),
  });
  return schema;
}

const json::Schema& BookedState::Schema() {
  static const json::Schema schema = json::Object<BookedState>({
      json::Field<&BookedState::current>("current"),
      json::Field<&BookedState::reason>("reason"),
  });
  return schema;
}

const json::Schema& BookedTimes::Schema() {
  static const json::Schema schema = json::Object<BookedTimes>({
      json::Field<&BookedTimes::submission>("submission"),
      json::Field<&BookedTimes::start>("start"),
      json::Field<&BookedTimes::end>("end"),
      json::Field<&BookedTimes::elapsed>("elapsed"),
  });
  return schema;
}

const json::Schema& Signal::Schema() {
  static const json::Schema schema = json::Object<Signal>({json::Field<&Signal::id>("id")});
  return schema;
}

const json::Schema& ExitCode::Schema() {
  static const json::Schema schema = json::Object<ExitCode>({
      json::Field<&ExitCode::return_code>("return_code"),
      json::Field<&ExitCode::signal>("signal"),
  });
  return schema;
}

const json::Schema& BookedJobRecord::Schema() {
  using J = BookedJobRecord;
  static const json::Schema schema = json::Object<J>({
      json::Field<&J::job_id>("job_id"),
      json::Field<&J::cluster>("cluster"),
      json::Field<&J::name>("name"),
      json::Field<&J::user>("user"),
      json::Field<&J::account>("account"),
      json::Field<&J::partition>("partition"),
      json::Field<&J::qos>("qos"),
      json::Field<&J::nodes>("nodes"),
      json::Field<&J::state>("state"),
      json::Field<&J::time>("time"),
      json::Field<&J::exit_code>("exit_code"),
  });
  return schema;
}

const json::Schema& BookedJobsAnswer::Schema() {
  static const json::Schema schema = json::Object<BookedJobsAnswer>({json::Field<&BookedJobsAnswer::jobs>("jobs")});
  return schema;
}

const json::Schema& DeviceRecord::Schema() {
  static const json::Schema schema = json::Object<DeviceRecord>({
      json::Field<&DeviceRecord::name>("name"),
      json::Field<&DeviceRecord::type>("type"),
      json::Field<&DeviceRecord::index>("index"),
      json::Field<&DeviceRecord::count>("count"),
  });
  return schema;
}

const json::Schema& ResourcesRecord::Schema() {
  using R = ResourcesRecord;
  static const json::Schema schema = json::Object<R>({
      json::Field<&R::node>("node"),
      json::Field<&R::core_bitmap>("core_bitmap"),
      json::Field<&R::sockets_per_node>("sockets_per_node"),
      json::Field<&R::cores_per_socket>("cores_per_socket"),
      json::Field<&R::mem_alloc>("mem_alloc"),
      json::Field<&R::gres>("gres"),
  });
  return schema;
}

const json::Schema& ResourcesAnswer::Schema() {
  static const json::Schema schema = json::Object<ResourcesAnswer>({json::Field<&ResourcesAnswer::nodes>("nodes")});
  return schema;
}

}  // namespace capstan::slurm::wire
