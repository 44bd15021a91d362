#include "kube/config/exec_credentials.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <system_error>

#include "async/event.h"
#include "base/log.h"

namespace capstan::kube {
namespace {

constexpr Duration kLongestAhead = 5min;

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  return environment;
}

}  // namespace

Freshness FreshnessOf(Duration age, std::optional<Duration> left, std::optional<Duration> life, Duration youngest) {
  if (age < youngest || !left) return Freshness::kFresh;
  if (*left <= Duration(0)) return Freshness::kStale;
  const Duration ahead = life ? std::min(*life / 5, kLongestAhead) : kLongestAhead;
  return *left <= ahead ? Freshness::kDue : Freshness::kFresh;
}

// Shared by the ExecCredentials, those who wait, and the thread that runs the plugin.
struct ExecCredentials::Run {
  Run(async::Loop& l, ExecCredentials& o) : ended(l), owner(&o), loop(&l), stop_fd(eventfd(0, EFD_CLOEXEC)) {}
  ~Run() { close(stop_fd); }

  // The loop's thread only:
  async::Event ended;
  ExecCredentials* owner;  // nullptr once it is gone

  std::mutex mutex;
  async::Loop* loop;  // nullptr once nobody is there to be told

  const int stop_fd;
};

ExecCredentials::ExecCredentials(CredentialSources sources, Options options)
    : sources_(std::move(sources)), options_(options), random_(options.seed), failures_(options.failures, random_) {}

ExecCredentials::~ExecCredentials() {
  if (run_) {
    run_->owner = nullptr;
    {
      const std::lock_guard lock(run_->mutex);
      run_->loop = nullptr;
    }
    eventfd_write(run_->stop_fd, 1);
  }
  if (thread_.joinable()) thread_.join();
}

Freshness ExecCredentials::Now() const {
  if (!issued_ || issued_->refused) return Freshness::kStale;
  std::optional<Duration> left;
  if (issued_->credential.expires) left = *issued_->credential.expires - loop_->WallNow();
  return FreshnessOf(loop_->Now() - issued_->at, left, issued_->life, options_.youngest);
}

async::Task<Result<Secret>> ExecCredentials::BearerToken(async::Loop& loop, async::Deadline deadline) {
  loop_ = &loop;
  const Freshness freshness = Now();
  if (freshness != Freshness::kFresh && !run_ && loop.Now() >= not_before_) {
    const Result<void> started = Start();
    if (!started && freshness == Freshness::kStale) co_return Fail(started.error());
  }
  if (freshness == Freshness::kStale) {
    if (!run_) co_return Fail(*failure_);
    const std::shared_ptr<Run> run = run_;
    if (!co_await run->ended.Wait(deadline))
      co_return Fail(Code::kDeadline,
                     sources_.exec->field + ": " + sources_.exec->command + " has not answered in time");
    if (failure_) co_return Fail(*failure_);
  }
  co_return issued_->credential.token;
}

Result<void> ExecCredentials::Start() {
  if (thread_.joinable()) thread_.join();  // it has told us its result, and ends
  const Result<const Secret*> ca = sources_.ca.Read();
  if (!ca) return Fail(Code::kUnauthenticated, ca.error().message());
  auto run = std::make_shared<Run>(*loop_, *this);
  auto work = [run, plugin = *sources_.exec, environment = OwnEnvironment(), ca_pem = std::string((*ca)->Reveal()),
               limit = options_.run_limit]() mutable {
    Result<ExecCredential> result = RunExecPlugin(plugin, std::move(environment), ca_pem, limit, run->stop_fd);
    const std::lock_guard lock(run->mutex);
    if (!run->loop) return;
    run->loop->Post([run, result = std::move(result)]() mutable {
      if (run->owner) run->owner->Ended(std::move(result));
      run->ended.Set();
    });
  };
  try {
    thread_ = std::thread(std::move(work));
  } catch (const std::system_error& error) {
    return Fail(Code::kUnauthenticated, std::string("no thread to run an exec plugin: ") + error.what());
  }
  run_ = std::move(run);
  return {};
}

void ExecCredentials::Ended(Result<ExecCredential> result) {
  run_.reset();
  if (!result) {
    failure_ = std::move(result).error();
    const Duration pause = failures_.Next();
    not_before_ = loop_->Now() + pause;
    if (Now() != Freshness::kStale) {
      log::Warn("credentials could not be renewed; those we have are still good",
                {{"why", failure_->message()}, {"again_in_s", pause / 1s}});
    }
    return;
  }
  failure_.reset();
  failures_.Reset();
  not_before_ = Tick();
  std::optional<Duration> life;
  if (result->expires) life = *result->expires - loop_->WallNow();
  const bool other_certificate = issued_ && !(issued_->credential.certificate_pem == result->certificate_pem &&
                                              issued_->credential.key_pem == result->key_pem);
  if (other_certificate) tls_.reset();
  log::Info(
      "credentials from an exec plugin",
      {{"field", sources_.exec->field}, {"expires", result->expires ? FormatRfc3339(*result->expires) : "never"}});
  issued_ = Issued{*std::move(result), loop_->Now(), life};
}

Result<std::shared_ptr<const net::TlsMaterial>> ExecCredentials::Tls() {
  CAPSTAN_TRY(const Secret* ca, sources_.ca.Read());
  if (ca_generation_ != sources_.ca.generation()) {
    const Result<void> tried = TryMaterial(sources_, {.ca_pem = std::string(ca->Reveal())});
    if (!tried && !ca_generation_) return Fail(tried.error());
    ca_generation_ = sources_.ca.generation();
    if (tried) {
      ca_pem_ = ca->Reveal();
      tls_.reset();
    } else {
      log::Warn("new TLS files cannot be used", {{"why", tried.error().message()}});
    }
  }
  if (tls_) return tls_;
  net::TlsMaterial material;
  material.ca_pem = ca_pem_;
  material.server_name = sources_.server_name;
  if (issued_) {
    material.certificate_pem = issued_->credential.certificate_pem;
    material.key_pem = issued_->credential.key_pem;
  }
  tls_ = std::make_shared<const net::TlsMaterial>(std::move(material));
  return tls_;
}

bool ExecCredentials::Rejected(const Secret& token, const net::TlsMaterial* material) {
  if (!issued_ || token != issued_->credential.token || (material && material != tls_.get())) return true;
  if (loop_->Now() - issued_->at < options_.youngest) return false;
  issued_->refused = true;
  return true;
}

}  // namespace capstan::kube
