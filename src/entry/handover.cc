#include "entry/handover.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "entry/files.h"
#include "entry/heartbeat.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr int64_t kSlurmsDefault = 120;
constexpr int64_t kLate = 5;  // seconds that a heartbeat may take to be seen

int PlaceOf(const Configuration& configuration, const std::string& host) {
  const std::vector<std::string> hosts = SlurmctldHosts(configuration);
  const auto found = std::ranges::find(hosts, host);
  return hosts.size() < 2 || found == hosts.end() ? -1 : static_cast<int>(found - hosts.begin());
}

// Whether another one writes the state, as far as can be seen.
bool Beats(const Configuration& configuration, const Heartbeat& heartbeat) {
  const int64_t age = UnixSeconds(Time::clock::now()) - UnixSeconds(heartbeat.at);
  return age <= ParseInt(OptionOf(configuration, "SlurmctldTimeout")).value_or(kSlurmsDefault) + kLate;
}

}  // namespace

Handover::Handover(const Configuration& configuration, const std::string& host)
    : configuration_(configuration),
      own_(PlaceOf(configuration, host)),
      path_(OptionOf(configuration, "StateSaveLocation") + "/capstan-handover") {}

std::optional<uint64_t> Handover::Writer() const {
  if (own_ < 0) return std::nullopt;
  const std::optional<Heartbeat> heartbeat = ReadHeartbeat(configuration_);
  const bool writes = heartbeat && heartbeat != last_ && Beats(configuration_, *heartbeat);
  return writes ? std::optional(heartbeat->server) : std::nullopt;
}

bool Handover::WouldWait() const {
  const std::optional<uint64_t> writer = Writer();
  return writer && *writer > static_cast<uint64_t>(own_);
}

bool Handover::AnotherWrites() const {
  const std::optional<uint64_t> writer = Writer();
  return writer && (own_ > 0 || *writer != 0);
}

bool Handover::MustWait() {
  if (own_ < 0) return false;
  const bool answered = asked_ && access(path_.c_str(), F_OK) != 0;
  if (answered) last_ = ReadHeartbeat(configuration_);
  if (answered || !WouldWait()) {
    if (count_ > 0) unlink(path_.c_str());
    asked_ = false;
    count_ = 0;
    return false;
  }
  if (count_++ == 0) Say("another slurmctld is in charge; it is asked to give control back");
  if (count_ % 120 == 0)
    Say("another slurmctld still writes the state, and does not give control back; this one waits, since two would "
        "destroy the state");
  const auto asked = ReplaceFile(path_, std::to_string(own_) + " " + std::to_string(count_), 0600);
  asked_ = asked.has_value();
  if (!asked) Say(asked.error().message());
  return true;
}

bool Handover::IsAsked() {
  if (own_ <= 0) return false;
  const std::string before = std::exchange(seen_, ReadFile(path_).value_or(""));
  if (before.empty() || seen_.empty() || before == seen_) return false;  // nobody asks, or nobody any more
  const std::optional<int64_t> who = ParseInt(seen_.substr(0, seen_.find(' ')));
  const std::optional<Heartbeat> heartbeat = ReadHeartbeat(configuration_);
  return who && *who < own_ && heartbeat && heartbeat->server == static_cast<uint64_t>(own_);
}

void Handover::GiveUp() const {
  if (own_ > 0) unlink(path_.c_str());
}

}  // namespace capstan::entry
