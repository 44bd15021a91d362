#include "kube/watch.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/timer.h"
#include "async/turn.h"
#include "base/log.h"
#include "kube/protobuf.h"

namespace asio = boost::asio;

namespace capstan::kube {
namespace {

constexpr Duration kOpenTimeout = 30s;
constexpr Duration kPageTimeout = 60s;
constexpr Duration kSilenceTimeout = 90s;
// Initial events come in one go; a server that does not know how to end them must not hold us for long.
constexpr Duration kInitialSilenceTimeout = 30s;
constexpr Duration kInitialListTimeout = 2min;
constexpr Duration kStreamLifetime = 450s;  // +- a third: five to ten minutes
constexpr Duration kRelistCheck = 20s;
constexpr int kPageSize = 500;

// For the server's audit log; "" when the stream broke after it was opened.
std::string_view RequestIdOf(const Error& error) {
  const FailedCall* call = FailedCallOf(error);
  return call ? std::string_view(call->request_id) : std::string_view();
}

}  // namespace

Watcher::Watcher(async::Loop& loop, Client& client, Resource resource, Feed& feed, Selection selection, uint64_t seed)
    : loop_(loop),
      client_(client),
      resource_(resource),
      feed_(feed),
      selection_(std::move(selection)),
      random_(seed),
      state_(random_, loop.Now()),
      relist_asked_(loop) {
  feed_.OnRelistAsked([this] { relist_asked_.Set(); });
  if (net::Metrics* metrics = client_.metrics()) figures_.emplace(*metrics, feed_.store().name());
}

Watcher::~Watcher() { feed_.OnRelistAsked({}); }

async::Task<void> Watcher::Run() {
  async::Timer pause(loop_);
  while (true) {
    if (state_.not_before() > loop_.Now()) co_await pause.WaitUntil(state_.not_before());
    WatchState::Step step = state_.Next();
    co_await TakeUnlessRelistDue(std::move(step));
    Publish();
  }
}

async::Task<void> Watcher::Take(WatchState::Step step) {
  if (auto* page = std::get_if<WatchState::ListPage>(&step)) return Take(std::move(*page));
  if (auto* follow = std::get_if<WatchState::Follow>(&step)) return Take(*follow);
  return Take(WatchState::StreamInitial());
}

async::Task<void> Watcher::Take(WatchState::StreamInitial) {
  feed_.BeginList();
  WatchOptions options;
  options.send_initial_events = true;
  co_await Stream(std::move(options));
}

async::Task<void> Watcher::Take(WatchState::Follow step) {
  WatchOptions options;
  options.resource_version = std::to_string(step.version);
  co_await Stream(std::move(options));
}

async::Task<void> Watcher::Take(WatchState::ListPage step) {
  if (step.continue_token.empty()) feed_.BeginList();
  ListOptions options;
  options.ns = feed_.ns();
  options.label_selector = selection_.label_selector;
  options.field_selector = selection_.field_selector;
  options.metadata_only = selection_.metadata_only;
  options.protobuf = feed_.store().ReadsProtobuf();
  options.limit = kPageSize;
  options.continue_token = std::move(step.continue_token);
  const Result<std::string> text = co_await client_.List(resource_, std::move(options), loop_.After(kPageTimeout));
  async::NameTurn(resource_.plural);
  const Result<PageInfo> page = text ? feed_.TakePage(*text) : Fail(text.error());
  if (!page)
    Refused(page.error());
  else if (state_.PageTaken(*page, loop_.Now()))
    feed_.EndList(page->version, loop_.Now());
}

async::Task<void> Watcher::Stream(WatchOptions options) {
  options.ns = feed_.ns();
  options.label_selector = selection_.label_selector;
  options.field_selector = selection_.field_selector;
  options.metadata_only = selection_.metadata_only;
  options.protobuf = feed_.store().ReadsProtobuf();
  options.timeout = random_.Jittered(kStreamLifetime, 1.0 / 3);
  auto stream = co_await client_.OpenWatch(resource_, std::move(options), loop_.After(kOpenTimeout));
  if (!stream) co_return Refused(stream.error());
  state_.Opened(loop_.Now());
  // The server has accepted the version: what it does not send did not happen.
  if (state_.following()) feed_.Heard(loop_.Now());
  Publish();
  events_.Clear();
  frames_ = IsProtobufType(net::Find((*stream)->headers(), "Content-Type"));
  co_await Pump(**stream);
  events_.Clear();
}

// No list or stream was to be had.
void Watcher::Refused(const Error& error) {
  state_.Failed(error, loop_.Now());
  if (error.code() == Code::kNotFound) feed_.NotServed(loop_.Now());
}

async::Task<void> Watcher::Pump(net::BodyStream& stream) {
  const async::Deadline initial = loop_.After(kInitialListTimeout);
  while (true) {
    const auto space = events_.Space();
    if (!space) co_return state_.Failed(space.error(), loop_.Now());
    const async::Deadline silence = loop_.After(kSilenceTimeout);
    const auto deadline = state_.following() ? silence : loop_.After(kInitialSilenceTimeout).Earlier(initial);
    const Result<size_t> bytes = co_await stream.Read(*space, deadline);
    if (!bytes && bytes.error().code() == Code::kDeadline) co_return state_.Silent(loop_.Now());
    if (!bytes) co_return state_.Failed(bytes.error(), loop_.Now());
    if (*bytes == 0) co_return state_.Ended(loop_.Now());
    events_.Commit(*bytes);
    async::NameTurn(resource_.plural);
    if (!TakeEvents()) co_return;
    if (figures_) figures_->Show(state_.status());
  }
}

// False when the stream is of no more use.
bool Watcher::TakeEvents() {
  while (const auto taken = NextEvent()) {
    const Result<WatchEvent>& event = *taken;
    if (!event) {
      state_.Failed(event.error(), loop_.Now());
      return false;
    }
    if (!state_.Heard(*event, loop_.Now())) return false;
    if (!event->list_complete) continue;
    Publish();
    relist_asked_.Set();  // what was asked for meanwhile
  }
  return true;
}

// nullopt: no whole one has come.
std::optional<Result<WatchEvent>> Watcher::NextEvent() {
  if (frames_) {
    const auto frame = events_.NextFrame();
    return frame ? std::optional(feed_.TakeFrame(*frame, loop_.Now())) : std::nullopt;
  }
  const auto line = events_.NextLine();
  return line ? std::optional(feed_.Take(line->text, line->readable, loop_.Now())) : std::nullopt;
}

// Returns when the step has ended or, while it follows, when a list is due; the other has ended too by then.
async::Task<void> Watcher::TakeUnlessRelistDue(WatchState::Step step) {
  auto group =
      asio::experimental::make_parallel_group(asio::co_spawn(loop_.executor(), Take(std::move(step)), asio::deferred),
                                              asio::co_spawn(loop_.executor(), AwaitRelistDue(), asio::deferred));
  auto ended = co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  auto& [order, taken_thrown, due_thrown] = ended;
  if (order[0] == 1 && !due_thrown) co_return state_.RelistAsked(loop_.Now());
  if (taken_thrown) std::rethrow_exception(taken_thrown);
}

async::Task<void> Watcher::AwaitRelistDue() {
  while (true) {
    const auto due = state_.following() ? feed_.RelistDue() : std::nullopt;
    if (due && *due <= loop_.Now()) co_return;
    relist_asked_.Reset();
    // The due time moves with each own write; looking now and then is cheaper than being told.
    co_await relist_asked_.Wait(loop_.After(kRelistCheck).Earlier(async::Deadline(due.value_or(Tick::max()))));
  }
}

void Watcher::Publish() {
  if (figures_) figures_->Show(state_.status());
  LogPhase();
}

void Watcher::LogPhase() {
  const WatchStatus& status = state_.status();
  if (status.phase == logged_) return;
  logged_ = status.phase;
  if (status.error) {
    log::Warn("watch is interrupted", {{"resource", feed_.store().name()},
                                       {"namespace", feed_.ns()},
                                       {"phase", Name(status.phase)},
                                       {"error", status.error->message()},
                                       {"request", RequestIdOf(*status.error)}});
  } else {
    log::Info("watch changed", {{"resource", feed_.store().name()},
                                {"namespace", feed_.ns()},
                                {"phase", Name(status.phase)},
                                {"objects", feed_.store().size()}});
  }
}

}  // namespace capstan::kube
