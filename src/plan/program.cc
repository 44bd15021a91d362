#include "plan/program.h"

#include <openssl/rand.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdlib>
#include <random>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config/config.h"
#include "kube/events.h"
#include "kube/fence.h"
#include "kube/health.h"
#include "kube/lease.h"
#include "net/client.h"
#include "net/metrics.h"
#include "net/server.h"
#include "plan/engine.h"
#include "slurm/rest_source.h"

namespace capstan::plan {
namespace {

constexpr Duration kHeartbeat = 1s;
constexpr Duration kLongTurn = 5ms;
constexpr Duration kHeartbeatAtStart = 200ms;
constexpr Duration kStopTimeout = 3s;  // for the engine, and then for what runs beside it

// In a pod, the pod's name.
std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// "slurm-operator capstan/1.0.0": by it an audit log tells who wrote.
std::string Agent(const std::string& name) { return name + " " + std::string(net::UserAgent()); }

Secret Entropy(size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), int(bytes)) != 1) {
    log::Error("the operating system has no random bytes to give");
    std::abort();
  }
  return Secret(std::move(random));
}

// A Source together with the connections that it uses.
struct HttpSlurm {
  HttpSlurm(async::Loop& loop, net::Endpoint server, SlurmClusters::SignToken sign, uint64_t seed,
            std::function<Tick()> good_until)
      : http(loop, {.server = std::move(server), .max_requests = 4, .max_idle = 2}),
        fence(loop, http, std::move(good_until)),
        rest(loop, fence, std::move(sign), {.seed = seed}) {}
  net::HttpClient http;
  kube::Fence fence;
  slurm::RestSource rest;
};

// ":8081" or "127.0.0.1:8081"; nullopt for "0", which means nowhere.
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

net::Response Answer(const std::string& why_not) {
  net::Response response = net::TextResponse(why_not.empty() ? "ok" : why_not);
  if (!why_not.empty()) response.status = 503;
  return response;
}

// The process: what lives from start to end, and what runs while the lease is held.
class Program {
 public:
  Program(const ProgramOptions& options, const kube::Config& config)
      : name_(options.name),
        seed_(std::random_device{}()),
        http_(loop_, {.server = config.server, .credentials = config.credentials, .user_agent = Agent(name_)}),
        fence_(loop_, http_, [this] { return GoodUntil(); }),
        lease_http_(loop_, {.server = config.server,
                            .credentials = config.credentials,
                            .user_agent = Agent(name_),
                            .max_requests = 1}),
        lease_client_(loop_, lease_http_, ClientOptions(config, seed_ + 3)),
        client_(loop_, fence_, ClientOptions(config, seed_)),
        unfenced_(loop_, http_, ClientOptions(config, seed_ + 4)),
        engine_(loop_, client_, EngineOptions(options)),
        events_(loop_, client_, {.controller = name_, .instance = HostName()}),
        telling_(loop_),
        beside_(loop_),
        beside_ended_(loop_),
        group_(loop_) {
    const std::string lease_name = options.lease_name.empty() ? name_ : options.lease_name;
    if (options.leader_elect) {
      lease_.emplace(loop_, lease_client_,
                     kube::Lease::Options{
                         .key = {options.lease_namespace.empty() ? config.ns : options.lease_namespace, lease_name},
                         .identity = HostName() + "_" + std::to_string(seed_),
                         .seed = seed_ + 2});
    }
    AddFigures(lease_name);
  }

  Result<void> SetUp(const ProgramOptions& options) {
    return options.set_up({.engine = engine_,
                           .loop = loop_,
                           .client = unfenced_,
                           .metrics = metrics_,
                           .group = beside_,
                           .ready_when = [this](std::string what, std::function<bool()> ready) {
                             conditions_.push_back({std::move(what), std::move(ready)});
                           }});
  }

  Result<void> Serve(const ProgramOptions& options) {
    CAPSTAN_TRY(const auto health, ParseAddress("health", options.health_address));
    CAPSTAN_TRY(const auto metrics, ParseAddress("metrics", options.metrics_address));
    if (health) {
      const auto live = [this](const net::Request&) { return Answer(health_.WhyNotLive()); };
      const auto ready = [this](const net::Request&) { return Answer(health_.WhyNotReady()); };
      CAPSTAN_TRY(health_server_, net::HttpServer::Start(*health, {{"/healthz", live}, {"/readyz", ready}}));
    }
    if (metrics) {
      const auto scrape = [this](const net::Request&) {
        return net::TextResponse(metrics_.Exposition(), net::Metrics::kContentType);
      };
      CAPSTAN_TRY(metrics_server_, net::HttpServer::Start(*metrics, {{"/metrics", scrape}}));
    }
    return {};
  }

  // Does not return: what is still suspended ends with the process.
  [[noreturn]] void Run() {
    boost::asio::signal_set signals(loop_.context(), SIGTERM, SIGINT);
    signals.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      log::Info("stopping", {{"signal", signal}});
      group_.Spawn("stop", Stop());
    });
    telling_.Spawn("events", events_.Run());
    group_.Spawn("beat", Beat());
    group_.Spawn("engine", engine_.Run());
    if (lease_)
      group_.Spawn("lease", lease_->Run([this] { Lead(); }, [this](std::string why) { Lost(std::move(why)); }));
    else
      Lead();
    loop_.Run();
    std::quick_exit(status_);
  }

 private:
  kube::Client::Options ClientOptions(const kube::Config& config, uint64_t seed) {
    return {.field_manager = name_, .seed = seed, .metrics = &metrics_, .host = config.server.Authority()};
  }

  Engine::Options EngineOptions(const ProgramOptions& options) {
    return {.field_manager = name_,
            .former_managers = options.former_managers,
            .seed = seed_ + 1,
            .entropy = Entropy,
            .may_write = [this] { return loop_.Now() < GoodUntil(); },
            .slurm = [this](const SlurmConnection& how,
                            SlurmClusters::SignToken sign) { return MakeSlurm(how, std::move(sign)); },
            .settings = options.settings,
            .namespaces = options.namespaces,
            .tell = [this](const kube::Resource& resource, const kube::Key& key, const std::string& uid,
                           Notice notice) { Tell(resource, key, uid, std::move(notice)); },
            .metrics = &metrics_};
  }

  void AddFigures(const std::string& lease_name) {
    metrics_.AddProcessFigures();
    metrics_.AddGauge("capstan_ready", "1 while /readyz says ok", [this] { return health_.Ready() ? 1.0 : 0.0; });
    leader_ = &metrics_.AddGauge("leader_election_master_status", "1 while this process holds the lease",
                                 {{"name", lease_name}});
    lost_events_ = &metrics_.AddCounter("capstan_events_lost_total", "Events that users were not told");
    long_turns_ = &metrics_.AddHistogram("capstan_loop_long_turn_seconds",
                                         "Longest turn of the event loop in a second, where that is over 5 ms",
                                         {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5});
  }

  Result<SlurmClusters::Link> MakeSlurm(const SlurmConnection& how, SlurmClusters::SignToken sign) {
    CAPSTAN_TRY(net::Endpoint server, net::Endpoint::Parse(how.server));
    const auto slurm =
        std::make_shared<HttpSlurm>(loop_, std::move(server), std::move(sign), ++seed_, [this] { return GoodUntil(); });
    return SlurmClusters::Link{{slurm, &slurm->rest}, [rest = &slurm->rest] { return rest->Run(); }};
  }

  // What readiness waits for, in words.
  std::string Waiting() const {
    std::vector<std::string> waiting;
    if (const std::string unlisted = engine_.Unlisted(); !unlisted.empty())
      waiting.push_back("not listed yet: " + unlisted);
    for (const Condition& condition : conditions_)
      if (!condition.ready()) waiting.push_back("not ready yet: " + condition.what);
    return Join(waiting, "; ");
  }

  async::Task<void> Beat() {
    uint64_t told_lost = 0;
    while (true) {
      std::string waiting = Waiting();
      const Duration pause = waiting.empty() ? kHeartbeat : kHeartbeatAtStart;
      health_.Beat(std::move(waiting));
      const kube::Recorder::Counts events = events_.counts();
      const uint64_t lost = events.dropped_full + events.dropped_flood + events.dropped_failed;
      lost_events_->Add(double(lost - std::exchange(told_lost, lost)));
      if (const Duration longest = loop_.TakeLongestTurn(); longest > kLongTurn) long_turns_->Observe(longest);
      co_await async::Sleep(loop_, pause);
    }
  }

  // Until when writes may leave.
  Tick GoodUntil() const { return lease_ ? lease_->good_until() : Tick::max(); }

  void Lead() {
    leader_->Set(1);
    engine_.Lead();
  }

  // Whoever was too late to renew does not know what happened meanwhile: the process ends at once, and begins anew.
  void Lost(std::string why) {
    log::Error("the lease is lost", {{"reason", why}});
    status_ = 1;
    loop_.Stop();
  }

  void Tell(const kube::Resource& resource, const kube::Key& key, const std::string& uid, Notice notice) {
    events_.Record({.regarding = {resource.ApiVersion(), std::string(resource.kind), key, uid},
                    .warning = notice.warning,
                    .reason = std::move(notice.reason),
                    .action = std::move(notice.action),
                    .note = std::move(notice.note)});
  }

  async::Task<void> EndBeside() {
    beside_.Cancel();
    co_await beside_.Join();
    beside_ended_.Set();
  }

  async::Task<void> Stop() {
    // What has begun is let end: a call that is cancelled could still take effect when another one leads already.
    co_await engine_.Stop(kStopTimeout);
    telling_.Cancel();
    co_await telling_.Join();
    group_.Spawn("end", EndBeside());
    if (!co_await beside_ended_.Wait(loop_.After(kStopTimeout)))
      log::Warn("what runs beside the engine does not end", {{"tasks", beside_.size()}});
    if (lease_) {
      const auto released = co_await lease_->Release(loop_.After(3s));
      if (!released) log::Warn("the lease runs out by itself", {{"error", released.error().message()}});
    }
    loop_.Stop();
  }

  // What set_up has readiness wait for.
  struct Condition {
    std::string what;
    std::function<bool()> ready;
  };

  std::string name_;
  uint64_t seed_;
  net::Metrics metrics_;
  async::RealLoop loop_;
  net::HttpClient http_;
  kube::Fence fence_;
  net::HttpClient lease_http_;  // its own connection: a renewal queues behind nothing
  kube::Client lease_client_;
  kube::Client client_;
  kube::Client unfenced_;
  std::optional<kube::Lease> lease_;
  Engine engine_;
  kube::Recorder events_;
  async::TaskGroup telling_;
  async::TaskGroup beside_;  // what set_up started
  async::Event beside_ended_;
  std::vector<Condition> conditions_;
  async::TaskGroup group_;
  net::Gauge* leader_ = nullptr;
  net::Counter* lost_events_ = nullptr;
  net::Histogram* long_turns_ = nullptr;
  int status_ = 0;
  kube::Health health_;
  std::unique_ptr<net::HttpServer> health_server_;
  std::unique_ptr<net::HttpServer> metrics_server_;
};

}  // namespace

int RunProgram(ProgramOptions options) {
  log::SetLevel(log::LevelNamed(options.log_level).value_or(log::Level::kInfo));
  const auto config = kube::LoadConfig({.kubeconfig = options.kubeconfig, .context = options.context});
  if (!config) {
    log::Error("no way to the API server", {{"error", config.error().message()}});
    return 1;
  }
  log::Info("starting",
            {{"program", Agent(options.name)}, {"config", config->source}, {"server", config->server.ToString()}});
  Program program(options, *config);
  if (const auto served = program.Serve(options); !served) {
    log::Error("cannot serve", {{"error", served.error().message()}});
    return 1;
  }
  if (const auto set_up = program.SetUp(options); !set_up) {
    log::Error("cannot set up", {{"error", set_up.error().message()}});
    return 1;
  }
  program.Run();
}

}  // namespace capstan::plan
