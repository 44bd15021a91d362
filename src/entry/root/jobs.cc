#include "entry/root/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "entry/descriptor.h"
#include "entry/process.h"
#include "entry/root/failed.h"
#include "entry/root/files.h"
#include "entry/root/fill.h"
#include "entry/root/probe.h"
#include "entry/root/removal.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

constexpr const char* kCurrentLink = "/run/capstan/root/current";
constexpr const char* kUsage =
    "usage: capstan-entry root fill --volume V --generation G [--from D] [--report FILE], capstan-entry root switch "
    "--volume V --generation G [--keep F]... [--node-local F]... [--mount F]... [--order UID/NUMBER] [--report FILE], "
    "capstan-entry "
    "root files --volume V --generation G --file MODE:SHA256:FROM:TO... [--report FILE], capstan-entry root remove "
    "--volume V --generation G... --order UID/NUMBER [--pod NAME/UID]... [--report FILE], or capstan-entry root probe "
    "--volume V --id ID --side first|second [--report FILE]";
constexpr const char* kReport = "/dev/termination-log";

// Options with a value; those that may be there several times have a list.
struct Options {
  std::map<std::string_view, std::string> texts;
  std::map<std::string_view, std::vector<std::string>> lists;
};

std::unexpected<Error> Misused(const std::string& what) { return Fail(Code::kInvalid, what + "; " + kUsage); }

// "A/B" in two.
std::optional<std::pair<std::string, std::string>> InTwo(const std::string& value) {
  const size_t slash = value.rfind('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == value.size()) return std::nullopt;
  return std::pair(value.substr(0, slash), value.substr(slash + 1));
}

Result<SwitchOrder> OrderIn(const std::string& text) {
  if (text.empty()) return SwitchOrder();
  const auto order = InTwo(text);
  const std::optional<int64_t> number = order ? ParseInt(order->second) : std::nullopt;
  if (!number) return Fail(Code::kInvalid, "--order is \"" + text + "\", must be UID/NUMBER");
  return SwitchOrder{order->first, *number};
}

Result<std::string> RunFill(const Options& options) {
  const std::string& generation = options.texts.at("--generation");
  CAPSTAN_TRY(
      const Filled filled,
      FillRoot({.volume = options.texts.at("--volume"), .generation = generation, .from = options.texts.at("--from")}));
  Say(filled.was_there ? "generation " + generation + " is there already"
                       : "generation " + generation + " is filled: " + std::to_string(filled.copied.files) +
                             " files, " + std::to_string(filled.copied.bytes) + " bytes");
  return FilledText(generation, filled);
}

Result<std::string> RunSwitch(const Options& options) {
  const std::string &volume = options.texts.at("--volume"), &generation = options.texts.at("--generation");
  CAPSTAN_TRY(const SwitchOrder order, OrderIn(options.texts.at("--order")));
  CAPSTAN_TRY(const Descriptor lock, LockVolume(volume, VolumeLock::kCurrent));
  CAPSTAN_CHECK_OK(SetCurrent(volume,
                              {.generation = generation,
                               .keep = options.lists.at("--keep"),
                               .node_local = options.lists.at("--node-local"),
                               .mounts = options.lists.at("--mount")},
                              order));
  Say("generation " + generation + " is current from now on");
  return "{\"generation\":\"" + generation + "\"}";
}

// "MODE:SHA256:FROM:TO", MODE in octal digits.
std::optional<PutFile> FileIn(const std::string& text) {
  const std::vector<std::string_view> words = Split(text, ':');
  if (words.size() < 4) return std::nullopt;
  PutFile file{.sha256 = std::string(words[1]), .from = std::string(words[2])};
  file.to = text.substr(words[0].size() + words[1].size() + words[2].size() + 3);
  const char* end = words[0].data() + words[0].size();
  const std::from_chars_result mode = std::from_chars(words[0].data(), end, file.mode, 8);
  const bool good = mode.ec == std::errc() && mode.ptr == end && file.mode <= 07777;
  if (!good || file.from.empty() || !file.to.starts_with("/") || file.to.ends_with("/")) return std::nullopt;
  return file;
}

Result<std::string> RunFiles(const Options& options) {
  const std::string &volume = options.texts.at("--volume"), &generation = options.texts.at("--generation");
  std::vector<PutFile> files;
  for (const std::string& text : options.lists.at("--file")) {
    const auto file = FileIn(text);
    if (!file) return Fail(Code::kInvalid, "--file is \"" + text + "\", must be MODE:SHA256:FROM:TO");
    files.push_back(*file);
  }
  CAPSTAN_TRY(const Descriptor lock, LockVolume(volume, VolumeLock::kCurrent));
  CAPSTAN_TRY(const size_t written, PutFiles(volume, generation, files));
  Say(std::to_string(written) + " of " + std::to_string(files.size()) + " files are written, the others were there");
  return "{\"written\":" + std::to_string(written) + "}";
}

Result<std::string> RunRemove(const Options& options) {
  Removal removal{.volume = options.texts.at("--volume"), .generations = options.lists.at("--generation")};
  CAPSTAN_TRY(removal.order, OrderIn(options.texts.at("--order")));
  if (removal.order.owner.empty()) return Misused("--order is missing");
  for (const std::string& pod : options.lists.at("--pod")) {
    const auto named = InTwo(pod);
    if (!named) return Fail(Code::kInvalid, "--pod is \"" + pod + "\", must be NAME/UID");
    removal.pods.push_back({named->first, named->second});
  }
  CAPSTAN_TRY(const Removed removed, RemoveGenerations(removal));
  for (const std::string& generation : removed.removed) Say("generation " + generation + " is removed");
  for (const auto& [generation, why] : removed.kept) Say("generation " + generation + " stays: " + why);
  return RemovedText(removed);
}

Result<std::string> RunProbe(const Options& options) {
  const std::string& side = options.texts.at("--side");
  if (side != "first" && side != "second") return Misused("--side is \"" + side + "\", must be first or second");
  CAPSTAN_TRY(const Probed probed, ProbeTogether({.volume = options.texts.at("--volume"),
                                                  .id = options.texts.at("--id"),
                                                  .side = side == "first" ? Side::kFirst : Side::kSecond}));
  return ProbedText(probed);
}

struct Command {
  std::string_view name;
  std::vector<std::string_view> texts, lists;
  Result<std::string> (*run)(const Options& options);
};

const Command* FindCommand(std::string_view name) {
  static const Command commands[] = {
      {"fill", {"--volume", "--generation", "--from", "--report"}, {}, &RunFill},
      {"switch",
       {"--volume", "--generation", "--order", "--report"},
       {"--keep", "--node-local", "--mount"},
       &RunSwitch},
      {"files", {"--volume", "--generation", "--report"}, {"--file"}, &RunFiles},
      {"remove", {"--volume", "--order", "--report"}, {"--generation", "--pod"}, &RunRemove},
      {"probe", {"--volume", "--id", "--side", "--report"}, {}, &RunProbe},
  };
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == std::end(commands) ? nullptr : &*found;
}

Result<Options> Parse(const Command& command, const std::vector<std::string>& arguments) {
  Options options;
  for (const std::string_view name : command.texts) options.texts[name] = "";
  for (const std::string_view name : command.lists) options.lists[name] = {};
  options.texts["--report"] = kReport;
  if (const auto from = options.texts.find("--from"); from != options.texts.end()) from->second = "/";
  for (size_t i = 1; i < arguments.size(); i += 2) {
    const auto text = options.texts.find(arguments[i]);
    const auto list = options.lists.find(arguments[i]);
    if (i + 1 == arguments.size() || (text == options.texts.end() && list == options.lists.end()))
      return Misused("\"" + arguments[i] + "\" is unknown, or has no value");
    if (text != options.texts.end())
      text->second = arguments[i + 1];
    else
      list->second.push_back(arguments[i + 1]);
  }
  if (options.texts["--volume"].empty()) return Misused("--volume is missing");
  return options;
}

// Unless it is known not to be.
bool IsOnVolume(const Options& options) {
  return access(RootFolder(options.texts.at("--volume"), options.texts.at("--generation")).c_str(), F_OK) == 0 ||
         errno != ENOENT;
}

// Where there is none to write to, the log has it.
void Report(const std::string& file, const std::string& text) {
  const Descriptor report(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (report) (void)!write(report.fd(), text.data(), text.size());
}

}  // namespace

Result<int> RunRootJob(const std::vector<std::string>& arguments) {
  const Command* command = arguments.empty() ? nullptr : FindCommand(arguments[0]);
  const Result<Options> options = command == nullptr ? Fail(Code::kInvalid, kUsage) : Parse(*command, arguments);
  const Result<std::string> done = options ? command->run(*options) : Result<std::string>(Fail(options.error()));
  Report(options ? options->texts.at("--report") : kReport, done ? *done : done.error().message());
  if (done) return 0;
  const bool needs_it = options && (command->name == "switch" || command->name == "files");
  if (needs_it && done.error().code() == Code::kNotFound && !IsOnVolume(*options)) {
    Say(done.error().message());
    return kNotOnVolume;
  }
  return Fail(done.error());
}

Result<int> EnterRoot(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = arguments;
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) return Fail(Code::kInvalid, "usage: capstan-entry enter [--] COMMAND [ARGUMENT]...");
  const Descriptor tree(open(kCurrentLink, O_RDONLY | O_CLOEXEC));
  if (!tree) return Fail(Code::kUnavailable, std::string("no shared root is here: ") + kCurrentLink + ": " + Why());
  if (setns(tree.fd(), CLONE_NEWNS) != 0)
    return Fail(Code::kUnavailable, std::string("joining the shared root: ") + Why());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return Fail(Code::kUnavailable, "starting " + words.front() + " in the shared root: " + Why());
}

}  // namespace capstan::entry
