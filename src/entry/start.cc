#include "entry/start.h"

#include "base/time.h"

namespace capstan::entry {
namespace {

// What is told in place of what slurmctld would have said.
std::optional<std::string> WhyNotTried(const Configuration& mounted) {
  const std::optional<std::string> missing = MissingInclude(mounted);
  return missing ? std::optional("it includes " + *missing + ", which is not there") : std::nullopt;
}

// In a few words; nullopt: slurmctld may be started with it.
std::optional<std::string> WhyNotKept(const StartSeen& seen) {
  if (!seen.kept) return "the one that ran before is not used: " + seen.kept.error().message();
  if (!*seen.kept) return "there is none that ran before";
  const Configuration& kept = (*seen.kept)->configuration;
  if (kept == WithoutKeys(seen.mounted)) return "it is the one that ran before";
  if (const auto differs = WhyNotInsteadOf(seen.mounted, kept))
    return "the one that ran before is not used: " + *differs;
  if (seen.another_writes) return "the one that ran before is not used: another slurmctld is in charge";
  return std::nullopt;
}

}  // namespace

StartDecision DecideStart(const StartSeen& seen) {
  const std::optional<std::string> said = seen.mounted_said ? seen.mounted_said : WhyNotTried(seen.mounted);
  if (!said) return {StartWith::kMounted, ""};
  const std::string told = "slurmctld does not start with it: " + *said;
  if (const auto why = WhyNotKept(seen)) return {StartWith::kNone, told + " (" + *why + ")"};
  const std::string since = FormatRfc3339((*seen.kept)->since);
  if (seen.kept_said)
    return {StartWith::kNone, told + "; nor with the one that was live since " + since + ": " + *seen.kept_said};
  return {StartWith::kKept, told + "; it was started with the one that is live since " + since};
}

}  // namespace capstan::entry
