#include "entry/root/served.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "entry/process.h"
#include "entry/root/layout.h"
#include "entry/root/reports.h"

namespace capstan::entry {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);
constexpr auto kSilentAfter = std::chrono::seconds(10);
constexpr auto kReportAgain = std::chrono::seconds(30);  // that could not be written
constexpr auto kFormerFor = std::chrono::seconds(10);

constexpr MountedFile kShownFiles[] = {
    {.from = "/etc/hosts", .to = "/run/capstan/etc/hosts", .mode = 0644, .reload = false},
    {.from = "/etc/hostname", .to = "/run/capstan/etc/hostname", .mode = 0644, .reload = false},
    {.from = "/etc/resolv.conf", .to = "/run/capstan/etc/resolv.conf", .mode = 0644, .reload = false},
};

}  // namespace

ServedRoot::ServedRoot(Options options) : options_(std::move(options)), files_(kShownFiles, options_.pod_files) {
  next_ = Clock::now();
}

Result<ServedRoot> ServedRoot::Begin(Options options) {
  std::error_code failed;
  std::filesystem::create_directories(options.links, failed);
  if (!failed) std::filesystem::create_directories(options.pod_files + "/run/capstan/etc", failed);
  if (failed) return Fail(Code::kInternal, "making " + options.links + " for the shared root: " + failed.message());
  // One of a container before it leads nowhere any more.
  unlink((options.links + "/current").c_str());
  ServedRoot root(std::move(options));
  if (root.options_.pod.empty())
    Say("CAPSTAN_POD_UID is not set: this pod cannot tell which roots its sessions have, and no old one is removed");
  root.ends_ = Descriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!root.ends_)
    Say(std::string(
            "no inotify instance, so that no root that sessions have had is removed while this container runs: ") +
        strerror(errno));
  return root;
}

void ServedRoot::AddTo(std::vector<pollfd>* waiting) const {
  if (look_) look_->AddTo(waiting);
}

void ServedRoot::Serve(Clock::time_point now) {
  if (look_) {
    if (std::optional<Result<Looked>> looked = look_->Turn()) {
      look_.reset();
      next_ = begun_ + kLookEvery;
      const bool away = !*looked && looked->error().code() == Code::kUnavailable;
      if (silent_ && !away) Say("the volume of the shared root answers again");
      silent_ = away;
      Take(*std::move(looked), now);
    } else if (!silent_ && now >= begun_ + kSilentAfter) {
      silent_ = true;
      next_.reset();
      Say("the volume of the shared root has not answered for 10 s");
    }
  }
  if (look_ || !next_ || now < *next_) return;
  files_.Refresh();
  if (former_ && now >= former_since_ + kFormerFor) former_.Close();
  begun_ = now;
  Result<Look> look = BeginLook(now);
  if (look) {
    look_.emplace(*std::move(look));
    next_ = begun_ + kSilentAfter;
    return;
  }
  SayOnce(look.error().message());
  next_ = begun_ + kLookEvery;
}

Result<Look> ServedRoot::BeginLook(Clock::time_point now) {
  SeeEnds();
  std::set<std::string> in_use = unwatched_;
  for (const auto& [watch, generation] : in_use_) in_use.insert(generation);
  reports_ = in_use != reported_ || now >= report_at_;
  reported_ = in_use;
  return Look::Begin({.volume = options_.volume,
                      .known = current_,
                      .people = options_.pod_files + "/var/lib/extrausers",
                      .pod = options_.pod,
                      .in_use = std::move(in_use),
                      .reports = reports_,
                      .notify = ends_.fd(),
                      .hidden = options_.links});
}

void ServedRoot::Take(Result<Looked> looked, Clock::time_point now) {
  if (!looked) {
    report_at_ = now;
    return SayOnce("shared root: " + looked.error().message());
  }
  if (reports_ || looked->tree) {
    report_at_ = now + (looked->trouble.empty() ? Clock::duration(kReportEvery) : Clock::duration(kReportAgain));
    if (!looked->trouble.empty())
      SayOnce("which roots sessions have cannot be told, so that none is removed: " + looked->trouble);
  }
  if (!looked->tree) return;
  const Result<Layout> layout = ParseLayout(looked->current);
  const std::string generation = layout ? layout->generation : "";
  if (looked->watch < 0)
    unwatched_.insert(generation);
  else
    in_use_[looked->watch] = generation;
  reported_.insert(generation);
  // Until the link leads there it is not ours: the next look makes it again.
  if (const Result<void> leads = Lead(looked->tree.fd()); !leads) return SayOnce(leads.error().message());
  former_ = std::move(tree_);
  former_since_ = now;
  tree_ = std::move(looked->tree);
  current_ = std::move(looked->current);
  SayOnce("sessions and steps that begin now are in generation " + generation + " of the shared root");
}

void ServedRoot::SeeEnds() {
  alignas(inotify_event) char events[4096];
  for (ssize_t size; ends_ && (size = read(ends_.fd(), events, sizeof events)) > 0;) {
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      if ((event->mask & IN_UNMOUNT) != 0) in_use_.erase(event->wd);
      if ((event->mask & IN_Q_OVERFLOW) != 0) SayOnce("ends of former roots were missed: they count as in use");
      at += ssize_t(sizeof *event + event->len);
    }
  }
}

Result<void> ServedRoot::Lead(int tree) const {
  const std::string link = options_.links + "/current", next = link + ".next";
  const std::string to = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(tree);
  unlink(next.c_str());
  if (symlink(to.c_str(), next.c_str()) != 0 || rename(next.c_str(), link.c_str()) != 0)
    return Fail(Code::kInternal, "leading " + link + " to the shared root: " + strerror(errno));
  return {};
}

void ServedRoot::SayOnce(const std::string& text) {
  if (text == said_) return;
  said_ = text;
  Say(text);
}

}  // namespace capstan::entry
