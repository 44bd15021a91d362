#include "process/program.h"

#include <openssl/rand.h>

#include <cstdlib>
#include <optional>
#include <random>

#include "async/task_group.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/config/config.h"
#include "kube/events.h"
#include "kube/fence.h"
#include "kube/lease.h"
#include "net/client.h"
#include "net/metrics.h"
#include "plan/engine.h"
#include "process/metrics_guard.h"
#include "process/process.h"
#include "slurm/rest_source.h"

namespace capstan::process {
namespace {

using plan::Engine;
using plan::SlurmClusters;

Secret Entropy(size_t bytes) {
  std::string random(bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(random.data()), int(bytes)) != 1) {
    log::Error("the operating system has no random bytes to give");
    std::abort();
  }
  return Secret(std::move(random));
}

// Over a connection of its own.
async::Task<Result<net::Response>> AskOnce(async::Loop& loop, std::string server, net::Request request,
                                           async::Deadline deadline) {
  constexpr size_t kMaxAnswer = size_t{1} << 20;
  CAPSTAN_CO_TRY(net::Endpoint endpoint, net::Endpoint::Parse(server));
  net::HttpClient client(
      loop, {.server = std::move(endpoint), .max_requests = 1, .max_idle = 0, .max_body_bytes = kMaxAnswer});
  co_return co_await client.Send(std::move(request), deadline);
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

// What this thread has had of the processor.
Duration SpentByThread() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec);
}

// What runs in the process, and while the lease is held.
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
    process_.EachSecond([this] { CountLostEvents(); });
    process_.ReadyWhen([this] {
      const std::string unlisted = engine_.Unlisted();
      return unlisted.empty() ? "" : "not listed yet: " + unlisted;
    });
  }

  Result<void> SetUp(const ProgramOptions& options) {
    return options.set_up({.engine = engine_,
                           .loop = loop_,
                           .client = unfenced_,
                           .metrics = metrics_,
                           .group = process_.tasks(),
                           .ready_when = [this](std::string what, std::function<bool()> ready) {
                             process_.ReadyWhen([what = std::move(what), ready = std::move(ready)] {
                               return ready() ? "" : "not ready yet: " + what;
                             });
                           }});
  }

  Result<void> Serve(const ProgramOptions& options) {
    Process::Addresses addresses{.health_address = options.health_address, .metrics_address = options.metrics_address};
    if (options.metrics_secure) addresses.admit_to_metrics = guard_.admit();
    return process_.Serve(addresses);
  }

  [[noreturn]] void Run() {
    telling_.Spawn("events", events_.Run());
    group_.Spawn("engine", engine_.Run());
    if (lease_)
      group_.Spawn("lease", lease_->Run([this] { Lead(); }, [this](std::string why) { Lost(std::move(why)); }));
    else
      Lead();
    process_.Run([this] { return StopActing(); }, [this] { return GiveUpLease(); });
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
            .slurm = [this](const plan::SlurmConnection& how,
                            SlurmClusters::SignToken sign) { return MakeSlurm(how, std::move(sign)); },
            .ask =
                [this](std::string server, net::Request request, async::Deadline deadline) {
                  return AskOnce(loop_, std::move(server), std::move(request), deadline);
                },
            .settings = options.settings,
            .namespaces = options.namespaces,
            .tell = [this](const kube::Resource& resource, const kube::Key& key, const std::string& uid,
                           plan::Notice notice) { Tell(resource, key, uid, std::move(notice)); },
            .metrics = &metrics_,
            .spent = &SpentByThread};
  }

  void AddFigures(const std::string& lease_name) {
    leader_ = &metrics_.AddGauge("leader_election_master_status", "1 while this process holds the lease",
                                 {{"name", lease_name}});
    lost_events_ = &metrics_.AddCounter("capstan_events_lost_total", "Events that users were not told");
  }

  Result<SlurmClusters::Link> MakeSlurm(const plan::SlurmConnection& how, SlurmClusters::SignToken sign) {
    CAPSTAN_TRY(net::Endpoint server, net::Endpoint::Parse(how.server));
    const auto slurm =
        std::make_shared<HttpSlurm>(loop_, std::move(server), std::move(sign), ++seed_, [this] { return GoodUntil(); });
    return SlurmClusters::Link{{slurm, &slurm->rest}, [rest = &slurm->rest] { return rest->Run(); }};
  }

  void CountLostEvents() {
    const kube::Recorder::Counts events = events_.counts();
    const uint64_t lost = events.dropped_full + events.dropped_flood + events.dropped_failed;
    lost_events_->Add(double(lost - std::exchange(told_lost_, lost)));
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
    process_.End(1);
  }

  void Tell(const kube::Resource& resource, const kube::Key& key, const std::string& uid, plan::Notice notice) {
    events_.Record({.regarding = {resource.ApiVersion(), std::string(resource.kind), key, uid},
                    .warning = notice.warning,
                    .reason = std::move(notice.reason),
                    .action = std::move(notice.action),
                    .note = std::move(notice.note)});
  }

  // What has begun is let end: a call that is cancelled could still take effect when another one leads already.
  async::Task<void> StopActing() {
    co_await engine_.Stop(Process::kStopTimeout);
    telling_.Cancel();
    co_await telling_.Join();
  }

  async::Task<void> GiveUpLease() {
    if (!lease_) co_return;
    const auto released = co_await lease_->Release(loop_.After(3s));
    if (!released) log::Warn("the lease runs out by itself", {{"error", released.error().message()}});
  }

  std::string name_;
  uint64_t seed_;
  Process process_;
  async::Loop& loop_ = process_.loop();
  net::Metrics& metrics_ = process_.metrics();
  net::HttpClient http_;
  kube::Fence fence_;
  net::HttpClient lease_http_;  // its own connection: a renewal queues behind nothing
  kube::Client lease_client_;
  kube::Client client_;
  kube::Client unfenced_;
  MetricsGuard guard_{process_, unfenced_};
  std::optional<kube::Lease> lease_;
  Engine engine_;
  kube::Recorder events_;
  async::TaskGroup telling_;
  async::TaskGroup group_;
  net::Gauge* leader_ = nullptr;
  net::Counter* lost_events_ = nullptr;
  uint64_t told_lost_ = 0;
};

}  // namespace

int RunProgram(ProgramOptions options) {
  if (const auto set = SetLogLevel(options.log_level); !set) {
    log::Error("cannot log", {{"error", set.error().message()}});
    return 1;
  }
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

}  // namespace capstan::process
