// What a Decide needs to know and nobody watches: a user's Secret, a claim's access modes, a fresh Slurm
// fact.
//
// Decide asks; the engine fetches the answer outside Decide and decides again. Independent parts of the Plan
// go ahead meanwhile. An answer is Known, Absent (looked, and it is not there), Pending (not looked yet) or
// Failed (could not tell); the last good answer stays readable while a newer one is fetched or fails.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "base/time.h"

namespace capstan::plan {

class Services;  // services.h: what effects and questions may use

class Question {
 public:
  virtual ~Question() = default;

  // Names the question; equal ids are the same question. "secret slurm/main-auth-slurm".
  virtual std::string id() const = 0;

  // The answer and a digest of it, by which a changed answer is told from a repeated one.
  struct Fetched {
    std::shared_ptr<const void> value;  // of the question's own Value type
    uint64_t digest = 0;
  };
  // How long one fetch may take.
  virtual Duration limit() const { return 10s; }

  // nullopt: looked, and it is not there. An Error: could not tell.
  virtual async::Task<Result<std::optional<Fetched>>> Fetch(Services& services, async::Deadline deadline) const = 0;
};

enum class AnswerState : uint8_t { kPending, kAbsent, kKnown, kFailed };

template <class T>
struct Answer {
  using State = AnswerState;
  State state = State::kPending;
  const T* value = nullptr;  // set when kKnown, and when a later fetch failed after a good one
  std::string error;         // of the last fetch, when it failed
  Duration age{0};           // of value, or of the finding that it is absent

  bool known() const { return state == State::kKnown; }
  bool absent() const { return state == State::kAbsent; }
};

// The answers had so far, and the questions asked. Owned by the engine.
class Answers {
 public:
  struct Entry {
    std::shared_ptr<const Question> question;
    AnswerState state = AnswerState::kPending;
    std::shared_ptr<const void> value;
    uint64_t digest = 0;
    std::string error;
    int failures = 0;
    Tick fetched_at{};
    Tick refresh_at{};                       // when the answer is to be fetched again
    Tick asked_at{};                         // by a Decide, for the last time
    std::map<uint32_t, Duration> wanted_by;  // the key (its number), and how old an answer it accepts
    std::optional<Tick> due;                 // when it will be fetched again; nullopt: not, or it is on its way
    bool in_flight = false;
    bool outdated = false;  // something has changed since the fetch in flight began
  };

  const Entry* Find(const std::string& id) const;
  std::map<std::string, Entry>& entries() { return entries_; }

 private:
  std::map<std::string, Entry> entries_;
};

// A question that one Decide asked, with how old an answer it accepts.
struct Asked {
  std::shared_ptr<const Question> question;
  Duration max_age;
};

}  // namespace capstan::plan
