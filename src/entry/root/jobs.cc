#include "entry/root/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <map>
#include <optional>

#include "base/text.h"
#include "entry/descriptor.h"
#include "entry/process.h"
#include "entry/root/failed.h"
#include "entry/root/fill.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

constexpr const char* kCurrentLink = "/run/capstan/root/current";
constexpr const char* kUsage =
    "usage: capstan-entry root fill --volume V --generation G [--from D] [--report FILE], or capstan-entry root switch "
    "--volume V --generation G [--keep F]... [--node-local F]... [--order UID/NUMBER] [--report FILE]";

struct Job {
  bool fills = false;
  std::string volume, from = "/";
  Layout layout;
  SwitchOrder order;
  std::string report = "/dev/termination-log";
};

Result<Job> Parse(const std::vector<std::string>& arguments) {
  if (arguments.empty() || (arguments[0] != "fill" && arguments[0] != "switch")) return Fail(Code::kInvalid, kUsage);
  Job job{.fills = arguments[0] == "fill", .volume = {}, .layout = {}, .order = {}};
  std::string order;
  std::map<std::string_view, std::string*> texts = {
      {"--volume", &job.volume}, {"--generation", &job.layout.generation}, {"--report", &job.report}};
  std::map<std::string_view, std::vector<std::string>*> lists;
  if (job.fills) {
    texts.emplace("--from", &job.from);
  } else {
    texts.emplace("--order", &order);
    lists = {{"--keep", &job.layout.keep}, {"--node-local", &job.layout.node_local}};
  }
  for (size_t i = 1; i < arguments.size(); i += 2) {
    const auto text = texts.find(arguments[i]);
    const auto list = lists.find(arguments[i]);
    if (i + 1 == arguments.size() || (text == texts.end() && list == lists.end()))
      return Fail(Code::kInvalid, "\"" + arguments[i] + "\" is unknown, or has no value; " + kUsage);
    if (text != texts.end())
      *text->second = arguments[i + 1];
    else
      list->second->push_back(arguments[i + 1]);
  }
  if (job.volume.empty()) return Fail(Code::kInvalid, std::string("--volume is missing; ") + kUsage);
  if (order.empty()) return job;
  const size_t slash = order.find('/');
  const auto number = slash == std::string::npos ? std::nullopt : ParseInt(std::string_view(order).substr(slash + 1));
  if (!number || slash == 0) return Fail(Code::kInvalid, "--order is \"" + order + "\", must be UID/NUMBER");
  job.order = {order.substr(0, slash), *number};
  return job;
}

Result<std::string> Do(const Job& job) {
  const std::string& generation = job.layout.generation;
  if (job.fills) {
    CAPSTAN_TRY(const Filled filled, FillRoot({.volume = job.volume, .generation = generation, .from = job.from}));
    Say(filled.was_there ? "generation " + generation + " is there already"
                         : "generation " + generation + " is filled: " + std::to_string(filled.copied.files) +
                               " files, " + std::to_string(filled.copied.bytes) + " bytes");
    return FilledText(generation, filled);
  }
  CAPSTAN_TRY(const Descriptor lock, LockVolume(job.volume));
  CAPSTAN_CHECK_OK(SetCurrent(job.volume, job.layout, job.order));
  Say("generation " + generation + " is current from now on");
  return "{\"generation\":\"" + generation + "\"}";
}

// Unless it is known not to be.
bool IsOnVolume(const Job& job) {
  return access(RootFolder(job.volume, job.layout.generation).c_str(), F_OK) == 0 || errno != ENOENT;
}

// Where there is none to write to, the log has it.
void Report(const std::string& file, const std::string& text) {
  const Descriptor report(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (report) (void)!write(report.fd(), text.data(), text.size());
}

}  // namespace

Result<int> RunRootJob(const std::vector<std::string>& arguments) {
  const Result<Job> job = Parse(arguments);
  const Result<std::string> done = job ? Do(*job) : Result<std::string>(Fail(job.error()));
  Report(job ? job->report : Job().report, done ? *done : done.error().message());
  if (done) return 0;
  if (job && !job->fills && done.error().code() == Code::kNotFound && !IsOnVolume(*job)) {
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
