#include "process/process.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "async/timer.h"
#include "base/log.h"
#include "base/text.h"
#include "net/certificate_authority.h"
#include "net/client.h"
#include "net/serving.h"

namespace capstan::process {
namespace {

constexpr Duration kBeat = 1s;
constexpr Duration kBeatWhileWaiting = 200ms;
constexpr Duration kLongTurn = 5ms;
constexpr Duration kIdentityLasts = 90 * 24h;
constexpr Duration kBackdate = 1h;

// ":8081" or "127.0.0.1:8081"; nullopt for "0".
Result<std::optional<net::HttpServer::Options>> ParseAddress(std::string_view what, std::string_view text) {
  if (text == "0") return std::nullopt;
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : ParseInt(text.substr(colon + 1));
  if (!port || *port < 0 || *port > 65535) {
    return Fail(Code::kInvalid, "the address for " + std::string(what) + " is \"" + std::string(text) +
                                    "\", must be [address]:port or 0");
  }
  net::HttpServer::Options options{.port = uint16_t(*port)};
  if (colon > 0) options.address = std::string(text.substr(0, colon));
  return options;
}

// Signed by an authority that is forgotten at once: whoever scrapes has nothing to check it with, and is protected from
// those who listen, not from those who answer in our place.
Result<void> Renew(net::ServingIdentity& identity, Time now) {
  const net::Validity validity{now - kBackdate, now + kIdentityLasts};
  CAPSTAN_TRY(const net::CertifiedKey authority, net::NewAuthority("metrics", validity));
  CAPSTAN_TRY(net::CertifiedKey own, net::IssueServing(authority, {HostName(), "localhost"}, validity));
  return identity.Replace({.certificate_pem = std::move(own.certificate_pem), .key_pem = std::move(own.key_pem)});
}

net::Response Answer(const std::string& why_not) {
  net::Response response = net::TextResponse(why_not.empty() ? "ok" : why_not);
  if (!why_not.empty()) response.status = 503;
  return response;
}

}  // namespace

std::string Agent(const std::string& program) { return program + " " + std::string(net::UserAgent()); }

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Result<void> SetLogLevel(const std::string& asked) {
  const std::string name = ToLower(asked);
  if (const auto level = log::LevelNamed(name)) {
    log::SetLevel(*level);
  } else if (name == "panic") {
    log::SetLevel(log::Level::kError);
  } else if (ParseInt(name).value_or(0) > 0) {
    log::SetLevel(log::Level::kDebug);
  } else {
    return Fail(Code::kInvalid, "the log level is \"" + asked +
                                    "\", must be debug, info, warn, error, panic, or a number above 0 for debug");
  }
  return {};
}

Process::Process() : tasks_(loop_), tasks_ended_(loop_), own_(loop_) {
  metrics_.AddProcessFigures();
  metrics_.AddGauge("capstan_ready", "1 while /readyz says ok", [this] { return health_.Ready() ? 1.0 : 0.0; });
  long_turns_ = &metrics_.AddHistogram("capstan_loop_long_turn_seconds",
                                       "Longest turn of the event loop in a second, where that is over 5 ms",
                                       {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5});
}

Process::~Process() = default;

void Process::ReadyWhen(std::function<std::string()> waiting) { waiting_.push_back(std::move(waiting)); }

void Process::EachSecond(std::function<void()> beat) { beats_.push_back(std::move(beat)); }

Result<void> Process::Serve(const Addresses& addresses) {
  CAPSTAN_TRY(const auto health, ParseAddress("health", addresses.health_address));
  CAPSTAN_TRY(const auto metrics, ParseAddress("metrics", addresses.metrics_address));
  if (health) {
    const auto live = [this](const net::Request&) { return Answer(health_.WhyNotLive()); };
    const auto ready = [this](const net::Request&) { return Answer(health_.WhyNotReady()); };
    CAPSTAN_TRY(health_server_, net::HttpServer::Start(*health, {{"/healthz", live}, {"/readyz", ready}}));
  }
  if (metrics) {
    net::HttpServer::Options where = *metrics;
    if (addresses.admit_to_metrics) {
      where.admit = addresses.admit_to_metrics;
      where.identity = identity_ = std::make_shared<net::ServingIdentity>();
      CAPSTAN_CHECK_OK(Renew(*identity_, loop_.WallNow()));
    }
    const auto scrape = [this](const net::Request&) {
      std::string text = metrics_.Exposition();
      if (exposed_) exposed_(text);
      return net::TextResponse(std::move(text), net::Metrics::kContentType);
    };
    CAPSTAN_TRY(metrics_server_, net::HttpServer::Start(std::move(where), {{"/metrics", scrape}}));
  }
  return {};
}

void Process::Run(Step first, Step last) {
  boost::asio::signal_set signals(loop_.context(), SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code& error, int signal) {
    if (error) return;
    log::Info("stopping", {{"signal", signal}});
    own_.Spawn("stop", Stop(std::move(first), std::move(last)));
  });
  own_.Spawn("beat", Beat());
  if (identity_) own_.Spawn("certificate", RenewIdentity());
  loop_.Run();
  std::quick_exit(status_);
}

void Process::End(int status) {
  status_ = status;
  loop_.Stop();
}

std::string Process::Waiting() const {
  std::vector<std::string> waiting;
  for (const auto& ask : waiting_)
    if (std::string answer = ask(); !answer.empty()) waiting.push_back(std::move(answer));
  return Join(waiting, "; ");
}

async::Task<void> Process::Beat() {
  for (Tick told = Tick::min();;) {
    std::string waiting = Waiting();
    const Duration pause = waiting.empty() ? kBeat : kBeatWhileWaiting;
    health_.Beat(std::move(waiting));
    if (loop_.Now() - kBeat >= told) {
      told = loop_.Now();
      for (const auto& beat : beats_) beat();
      if (const Duration longest = loop_.TakeLongestTurn(); longest > kLongTurn) long_turns_->Observe(longest);
    }
    co_await async::Sleep(loop_, pause);
  }
}

async::Task<void> Process::RenewIdentity() {
  while (true) {
    co_await async::Sleep(loop_, kIdentityLasts / 3);
    if (const auto renewed = Renew(*identity_, loop_.WallNow()); !renewed)
      log::Error("no new certificate for the metrics", {{"error", renewed.error().message()}});
  }
}

async::Task<void> Process::EndTasks() {
  tasks_.Cancel();
  co_await tasks_.Join();
  tasks_ended_.Set();
}

async::Task<void> Process::Stop(Step first, Step last) {
  if (first) co_await first();
  own_.Spawn("end", EndTasks());
  if (!co_await tasks_ended_.Wait(loop_.After(kStopTimeout))) log::Warn("tasks do not end", {{"tasks", tasks_.size()}});
  if (last) co_await last();
  loop_.Stop();
}

}  // namespace capstan::process
