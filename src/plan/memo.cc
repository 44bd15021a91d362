#include "plan/memo.h"

namespace capstan::plan {
namespace {

constexpr size_t kFightTimes = 5;
constexpr Duration kFightWindow = 10min;

}  // namespace

bool AppliedMemo::Matches(const std::string& what, const Applied& now) const {
  const auto found = entries_.find(what);
  if (found == entries_.end()) return false;
  const Applied& applied = found->second.applied;
  return applied.uid == now.uid && applied.content == now.content && applied.fields == now.fields;
}

void AppliedMemo::Record(const std::string& what, Applied applied, Tick now) {
  Entry& entry = entries_[what];
  if (entry.applied.content != applied.content || entry.applied.uid != applied.uid) entry.times.clear();
  entry.applied = std::move(applied);
  entry.times.push_back(now);
  if (entry.times.size() > kFightTimes) entry.times.erase(entry.times.begin());
}

void AppliedMemo::Forget(const std::string& what) { entries_.erase(what); }

std::optional<int> AppliedMemo::Fight(const std::string& what, uint64_t content, Tick now) const {
  const auto found = entries_.find(what);
  if (found == entries_.end() || found->second.applied.content != content) return std::nullopt;
  const auto& times = found->second.times;
  if (times.size() < kFightTimes || times.front() < now - kFightWindow) return std::nullopt;
  return int(times.size());
}

}  // namespace capstan::plan
