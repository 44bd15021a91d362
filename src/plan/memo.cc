#include "plan/memo.h"

#include <algorithm>

namespace capstan::plan {
namespace {

constexpr size_t kFightTimes = 5;
constexpr Duration kFightWindow = 10min;
constexpr size_t kMadeFreely = 3;
constexpr size_t kMadeTimes = 10;  // by then the wait has its full length
constexpr Duration kFirstWait = 1s;
constexpr Duration kLongestWait = 1min;

void Note(std::vector<Tick>& times, Tick now, size_t most) {
  times.push_back(now);
  if (times.size() > most) times.erase(times.begin());
}

}  // namespace

const AppliedMemo::Entry* AppliedMemo::Find(const Target& target) const {
  const auto owner = owners_.find(target.owner);
  if (owner == owners_.end()) return nullptr;
  const auto found = owner->second.find(target.what);
  return found == owner->second.end() ? nullptr : &found->second;
}

bool AppliedMemo::Matches(const Target& target, const Applied& now) const {
  const Entry* entry = Find(target);
  return entry != nullptr && entry->certain && entry->applied.uid == now.uid && entry->applied.content == now.content &&
         entry->applied.fields == now.fields;
}

void AppliedMemo::Doubt(const Target& target) {
  const auto owner = owners_.find(target.owner);
  if (owner == owners_.end()) return;
  if (const auto found = owner->second.find(target.what); found != owner->second.end()) found->second.certain = false;
}

void AppliedMemo::Record(const Target& target, Applied applied, Tick now) {
  Entry& entry = owners_[target.owner][target.what];
  if (entry.applied.content != applied.content || entry.applied.uid != applied.uid) entry.times.clear();
  entry.applied = std::move(applied);
  entry.certain = true;
  Note(entry.times, now, kFightTimes);
}

void AppliedMemo::Made(const Target& target, Tick now) {
  Note(owners_.at(target.owner).at(target.what).made, now, kMadeTimes);
}

std::optional<AppliedMemo::Remade> AppliedMemo::MayBeMadeAgain(const Target& target, Tick now) const {
  const Entry* entry = Find(target);
  if (entry == nullptr) return std::nullopt;
  const auto times = std::ranges::count_if(entry->made, [&](Tick made) { return made >= now - kFightWindow; });
  if (size_t(times) < kMadeFreely) return std::nullopt;
  const Tick at =
      entry->made.back() + std::min<Duration>(kLongestWait, kFirstWait * (1 << (size_t(times) - kMadeFreely)));
  return at > now ? std::optional(Remade{int(times), at}) : std::nullopt;
}

void AppliedMemo::KeepOnly(const std::string& owner, const std::set<std::string>& targets) {
  const auto found = owners_.find(owner);
  if (found != owners_.end())
    std::erase_if(found->second, [&](const auto& one) { return !targets.contains(one.first); });
}

size_t AppliedMemo::size() const {
  size_t size = 0;
  for (const auto& [owner, targets] : owners_) size += targets.size();
  return size;
}

size_t AppliedMemo::SizeOf(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second.size();
}

std::optional<int> AppliedMemo::Fight(const Target& target, uint64_t content, Tick now) const {
  const Entry* entry = Find(target);
  if (entry == nullptr || entry->applied.content != content) return std::nullopt;
  if (entry->times.size() < kFightTimes || entry->times.front() < now - kFightWindow) return std::nullopt;
  return int(entry->times.size());
}

}  // namespace capstan::plan
