// sim_bridge --seeds N [--first-seed S] [--break NAME] [--threads N] [--verbose]
//
// As `sim`, of the bridge: the last line is "N passed, N failed", the exit status is 1 if any failed; with --break it is 0 only
// if that was noticed.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "run.h"

namespace capstan::sim::bridge {
namespace {

struct Flags {
  uint64_t seeds = 100, first_seed = 1;
  const Break* broken = nullptr;
  bool verbose = false;
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
};

[[noreturn]] void Usage(const std::string& why) {
  std::fprintf(
      stderr, "sim_bridge: %s\nusage: sim_bridge --seeds N [--first-seed S] [--break NAME] [--threads N] [--verbose]\n",
      why.c_str());
  for (const Break& one : Breaks())
    std::fprintf(stderr, "  %-4s %s\n", std::string(one.name).c_str(), std::string(one.what).c_str());
  std::exit(2);
}

Flags Parse(int count, char** words) {
  Flags flags;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--verbose") {
      flags.verbose = true;
      continue;
    }
    if (i + 1 == count) Usage(word + " is unknown, or needs a value");
    const std::string value = words[++i];
    if (word == "--break") {
      flags.broken = FindBreak(value);
      if (flags.broken == nullptr) Usage("there is no break \"" + value + "\"");
      continue;
    }
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
  if (flags.verbose || flags.threads == 0) flags.threads = 1;
  return flags;
}

void Tell(const Flags& flags, uint64_t seed, const Outcome& outcome) {
  if (flags.broken != nullptr) {
    std::printf("%s is noticed at seed %lu: %s\n", std::string(flags.broken->name).c_str(), seed,
                outcome.failure->c_str());
    return;
  }
  std::printf("seed %lu: %s\n", seed, outcome.failure->c_str());
  constexpr size_t kLines = 60;
  const size_t skipped = outcome.story.size() > kLines ? outcome.story.size() - kLines : 0;
  for (size_t i = skipped; i < outcome.story.size(); ++i) std::printf("  %s\n", outcome.story[i].c_str());
  std::printf("  again: sim_bridge --seeds 1 --first-seed %lu --verbose\n", seed);
}

int Main(const Flags& flags) {
  std::atomic<uint64_t> next = flags.first_seed;
  std::mutex mutex;
  int passed = 0, failed = 0;
  long writes = 0;
  uint64_t fingerprint = 0;
  const auto work = [&] {
    while (true) {
      const uint64_t seed = next++;
      if (seed >= flags.first_seed + flags.seeds) return;
      const Outcome outcome = RunSeed({.seed = seed, .broken = flags.broken, .echo = flags.verbose});
      const std::lock_guard lock(mutex);
      writes += outcome.writes;
      fingerprint += outcome.fingerprint;
      ++(outcome.failure ? failed : passed);
      if (outcome.failure && failed <= 5) Tell(flags, seed, outcome);
      if (flags.broken != nullptr && failed > 0) next = flags.first_seed + flags.seeds;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < flags.threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld writes, fingerprint %016lx\n%d passed, %d failed\n", writes, fingerprint, passed, failed);
  return flags.broken != nullptr ? failed == 0 : failed > 0;
}

}  // namespace
}  // namespace capstan::sim::bridge

int main(int count, char** words) {
  using namespace capstan;
  const sim::bridge::Flags flags = sim::bridge::Parse(count, words);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  log::SetLevel(flags.verbose ? log::Level::kInfo : log::Level::kError);
  return sim::bridge::Main(flags);
}
