// sim --seeds N --first-seed S [--break NAME] [--crash-everywhere] [--threads N] [--verbose]
//
// Runs N stories. The last line is "N passed, N failed"; the exit status is 1 if any failed. With --break, the
// operator is broken in one way, and the exit status is 0 only if that was noticed. Runs of the same seeds have the same
// fingerprint: a change of the code that is to change nothing else keeps it.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/text.h"
#include "run.h"

namespace capstan::sim {
namespace {

struct Flags {
  uint64_t seeds = 100, first_seed = 1;
  const Break* broken = nullptr;
  bool everywhere = false, verbose = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

[[noreturn]] void Usage(const std::string& why) {
  std::fprintf(
      stderr,
      "sim: %s\nusage: sim --seeds N --first-seed S [--break NAME] [--crash-everywhere] [--threads N] [--verbose]\n",
      why.c_str());
  for (const Break& one : Breaks())
    std::fprintf(stderr, "  %-8s %s\n", std::string(one.name).c_str(), std::string(one.what).c_str());
  std::exit(2);
}

Flags Parse(int count, char** words) {
  Flags flags;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--verbose")
      flags.verbose = true;
    else if (word == "--crash-everywhere")
      flags.everywhere = true;
    else if (i + 1 == count)
      Usage(word + " is unknown, or needs a value");
    else if (const std::string value = words[++i]; word == "--break") {
      flags.broken = FindBreak(value);
      if (flags.broken == nullptr) Usage("there is no break \"" + value + "\"");
    } else {
      const auto number = ParseInt(value);
      if (!number || *number < 0) Usage(word + " is \"" + value + "\", must be a number");
      if (word == "--seeds")
        flags.seeds = uint64_t(*number);
      else if (word == "--first-seed")
        flags.first_seed = uint64_t(*number);
      else if (word == "--threads")
        flags.threads = unsigned(*number);
      else
        Usage(word + " is unknown");
    }
  }
  if (flags.verbose || flags.threads == 0) flags.threads = 1;
  return flags;
}

// The seeds of one call, shared out among threads.
class Seeds {
 public:
  explicit Seeds(const Flags& flags) : flags_(flags), next_(flags.first_seed) {}

  void Work() {
    while (!(flags_.broken != nullptr && failed_ > 0)) {
      const uint64_t seed = next_++;
      if (seed >= flags_.first_seed + flags_.seeds) return;
      int runs = 0;
      const Outcome outcome =
          RunSeed({.seed = seed, .broken = flags_.broken, .echo = flags_.verbose}, flags_.everywhere, runs);
      const std::lock_guard lock(mutex_);
      runs_ += runs;
      writes_ += outcome.writes;
      fingerprint_ += outcome.fingerprint;
      ++(outcome.failure ? failed_ : passed_);
      if (outcome.failure) Tell(seed, outcome);
    }
  }

  int Report() const {
    std::printf("%d runs, %ld writes, fingerprint %016lx\n%d passed, %d failed\n", runs_, writes_, fingerprint_,
                passed_.load(), failed_.load());
    return flags_.broken != nullptr ? failed_ == 0 : failed_ > 0;
  }

 private:
  void Tell(uint64_t seed, const Outcome& outcome) {
    if (flags_.broken != nullptr) {
      std::printf("%s is noticed at seed %lu: %s\n", std::string(flags_.broken->name).c_str(), seed,
                  outcome.failure->c_str());
      return;
    }
    std::printf("seed %lu: %s\n", seed, outcome.failure->c_str());
    if (++told_ > 5) return;  // more would be more of the same
    constexpr size_t kLines = 60;
    const size_t skipped = outcome.story.size() > kLines ? outcome.story.size() - kLines : 0;
    for (size_t i = skipped; i < outcome.story.size(); ++i) std::printf("  %s\n", outcome.story[i].c_str());
    std::printf("  again: sim --seeds 1 --first-seed %lu --verbose\n", seed);
  }

  const Flags flags_;
  std::atomic<uint64_t> next_;
  std::atomic<int> passed_ = 0, failed_ = 0;
  std::mutex mutex_;
  int runs_ = 0, told_ = 0;
  long writes_ = 0;
  uint64_t fingerprint_ = 0;  // the same in whatever order the seeds were done
};

}  // namespace
}  // namespace capstan::sim

int main(int count, char** words) {
  using namespace capstan;
  const sim::Flags flags = sim::Parse(count, words);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // who runs many seeds reads of a failure at once
  log::SetLevel(flags.verbose ? log::Level::kInfo : log::Level::kError);
  sim::Seeds seeds(flags);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < flags.threads; ++i) threads.emplace_back([&seeds] { seeds.Work(); });
  for (std::thread& thread : threads) thread.join();
  return seeds.Report();
}
