// Fetches the answers to the questions that Decides ask, outside Decide. One that no Decide has asked for a quarter of
// an hour (each key is decided every five minutes) is forgotten with its answer.
#pragma once

#include <functional>
#include <vector>

#include "async/task_group.h"
#include "base/random.h"
#include "plan/question.h"
#include "plan/services.h"

namespace capstan::plan {

class Asker {
 public:
  // `changed` is called with the id of a question whose answer is another than before; a repeated answer is silent.
  Asker(Services& services, std::function<void(const std::string& id)> changed, uint64_t seed);

  // Sees to it that answers as young as wanted come; what is young enough already is left alone.
  void Ask(const std::vector<Asked>& asked);

  // The answer is out of date: fetched again when next asked.
  void Outdate(const std::string& id);

  // When the oldest acceptable age of one of these answers is reached; nullopt when none will be.
  std::optional<Tick> NextRefresh(const std::vector<Asked>& asked) const;

  const Answers& answers() const { return answers_; }

  async::Task<void> Stop();

 private:
  void ForgetUnasked(Tick now);
  async::Task<void> Fetch(std::string id);
  void Note(Answers::Entry& entry, Result<std::optional<Question::Fetched>> fetched);

  Services& services_;
  std::function<void(const std::string&)> changed_;
  Random random_;
  Answers answers_;
  size_t forget_at_ = 64;
  async::TaskGroup group_;
};

}  // namespace capstan::plan
