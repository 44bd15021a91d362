#include "entry/root/served.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "entry/process.h"
#include "entry/root/layout.h"

namespace capstan::entry {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);
constexpr auto kSilentAfter = std::chrono::seconds(10);

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
  return ServedRoot(std::move(options));
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
      Take(*std::move(looked));
    } else if (!silent_ && now >= begun_ + kSilentAfter) {
      silent_ = true;
      next_.reset();
      Say("the volume of the shared root has not answered for 10 s");
    }
  }
  if (look_ || !next_ || now < *next_) return;
  files_.Refresh();
  begun_ = now;
  Result<Look> look = Look::Begin(options_.volume, current_, options_.pod_files + "/var/lib/extrausers");
  if (look) {
    look_.emplace(*std::move(look));
    next_ = begun_ + kSilentAfter;
    return;
  }
  SayOnce(look.error().message());
  next_ = begun_ + kLookEvery;
}

void ServedRoot::Take(Result<Looked> looked) {
  if (!looked) return SayOnce("shared root: " + looked.error().message());
  if (!looked->tree) return;
  // Until the link leads there it is not ours: the next look makes it again.
  if (const Result<void> leads = Lead(looked->tree.fd()); !leads) return SayOnce(leads.error().message());
  former_ = std::move(tree_);
  tree_ = std::move(looked->tree);
  current_ = std::move(looked->current);
  const Result<Layout> layout = ParseLayout(current_);
  SayOnce("sessions and steps that begin now are in generation " + (layout ? layout->generation : "?") +
          " of the shared root");
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
