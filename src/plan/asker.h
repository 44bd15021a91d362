// Fetches the answers to the questions that Decides ask, outside Decide, and keeps them as young as is asked for. A key is
// decided anew for an answer that has changed, not for one that was fetched again. One that no Decide has asked for a
// quarter of an hour (each key is decided every five minutes) is forgotten with its answer.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "async/timer.h"
#include "base/random.h"
#include "plan/question.h"
#include "plan/reads.h"
#include "plan/services.h"

namespace capstan::plan {

class Asker {
 public:
  // `changed` is called with the id of a question whose answer is another than before; a repeated answer is silent.
  Asker(Services& services, std::function<void(const std::string& id)> changed, uint64_t seed);

  using KeyNumber = WakeIndex::KeyNumber;

  // Sees to it that answers as young as `key` wants come, and that they stay so until it asks for others; what is young
  // enough already is left alone.
  void Ask(KeyNumber key, const std::vector<Asked>& asked);

  // The key is gone: nothing is fetched for its sake any more.
  void Forget(KeyNumber key) { Ask(key, {}); }

  // The answer is out of date: fetched again when next asked, and at once when one is on its way that may be old, too.
  void Outdate(const std::string& id);

  const Answers& answers() const { return answers_; }

  async::Task<void> Stop();

 private:
  void ForgetUnasked(Tick now);
  void FetchOrAwait(const std::string& id, Answers::Entry& entry);
  async::Task<void> FetchWhenDue();
  async::Task<void> Fetch(std::string id);
  void Note(Answers::Entry& entry, Result<std::optional<Question::Fetched>> fetched);

  Services& services_;
  std::function<void(const std::string&)> changed_;
  Random random_;
  Answers answers_;
  std::map<KeyNumber, std::set<std::string>> asked_by_;  // the questions of each key's last Decide
  std::set<std::pair<Tick, std::string>> due_;           // when an answer is to be fetched again
  size_t forget_at_ = 64;
  async::Timer next_due_;
  bool awaits_due_ = false;
  async::TaskGroup group_;
};

}  // namespace capstan::plan
