#include "bridge/group/show.h"

#include "base/text.h"
#include "bridge/names.h"
#include "plan/objects/lists.h"

namespace capstan::bridge::group {
namespace {

constexpr Duration kHolds = 1s;
constexpr size_t kLongestMessage = 1024;

}  // namespace

void Show::Now(std::string_view status, std::string_view reason, std::string message) {
  wanted_ = {.type = std::string(kJobCondition),
             .status = std::string(status),
             .reason = std::string(reason),
             .message = OneLine(message, kLongestMessage)};
  after_ = Duration(0);
  warning_ = false;
}

void Show::Soon(std::string_view status, std::string_view reason, std::string message) {
  Now(status, reason, std::move(message));
  after_ = kHolds;
}

void Show::Warn(std::string_view reason, std::string message) {
  Now("False", reason, std::move(message));
  warning_ = true;
}

bool Show::Is(std::string_view reason) const {
  const PodCondition* said = pod_.Condition(kJobCondition);
  return said != nullptr && said->reason == reason;
}

bool Show::TellsOf(int64_t job) const {
  const PodCondition* said = pod_.Condition(kJobCondition);
  return said != nullptr && said->message.starts_with(JobWords(job) + " ");
}

void Show::Into(plan::Plan& plan) const {
  if (wanted_.type.empty()) return;
  const PodCondition* said = pod_.Condition(kJobCondition);
  if (said != nullptr && said->status == wanted_.status && said->reason == wanted_.reason &&
      said->message == wanted_.message)
    return;
  if (after_ > Duration(0)) {
    const Duration held = world_.HeldFor("shows " + wanted_.reason + wanted_.message);
    if (held < after_) return plan.RequeueAfter(after_ - held);
  }
  plan::Action write{.effect = plan::ChangeConditions({&kube::kPods, pod_.key()}, pod_.metadata.uid,
                                                      {{.type = wanted_.type,
                                                        .status = wanted_.status,
                                                        .reason = wanted_.reason,
                                                        .message = wanted_.message,
                                                        .begins = said == nullptr || said->status != wanted_.status}},
                                                      {}),
                     .reason = wanted_.message,
                     .guards = {},
                     .after = {},
                     .event = {}};
  if (warning_)
    write.event = plan::EventText{.reason = wanted_.reason,
                                  .action = "Submit",
                                  .warning = true,
                                  .about = plan::EventObject{&kube::kPods, pod_.key(), pod_.metadata.uid}};
  plan.Add(std::move(write));
}

std::string JobWords(int64_t id) { return "job " + std::to_string(id); }

bool IsHeld(const slurm::Job& job) { return job.state_reason.starts_with("JobHeld"); }

std::string WhyPending(const slurm::Job& job, Time now) {
  std::string text = JobWords(job.id) + " waits in partition " + job.partition;
  if (!job.state_reason.empty() && job.state_reason != "None") text += ": " + job.state_reason;
  if (job.start_time && *job.start_time > now)
    text += "; Slurm expects it to start about " + About(*job.start_time, now);
  return text;
}

std::string About(Time time, Time now) {
  const Duration step = time - now <= 1h ? Duration(1min) : time - now <= 24h ? Duration(10min) : Duration(1h);
  const auto since = time.time_since_epoch();
  const Time rounded{(since + step - Duration(1)) / step * step};
  const std::string text = FormatRfc3339(rounded);  // "2026-11-27T14:10:00Z"
  return text.substr(0, 16) + "Z";
}

}  // namespace capstan::bridge::group
