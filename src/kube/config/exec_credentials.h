// Who we are according to an exec plugin, kept and renewed.
//
//   what we have                              | a request
//   ------------------------------------------|---------------------------------------------------------------
//   nothing yet                               | runs the plugin and waits for it
//   fresh                                     | takes it
//   due: the last fifth of its life,          | takes it, and the plugin runs meanwhile; when that fails, what
//   five minutes at most                      |   we have stays in force, and the log says so
//   stale: expired, or refused by the server  | runs the plugin and waits for it
//   the plugin failed a moment ago            | fails with the same words (unless fresh or due); the plugin runs
//                                             |   again after 1 s, 2 s, ... 60 s
//
// There is one run at a time, whoever waits for it; who cannot wait any longer is let go at its deadline, and
// the run goes on to its own. What is younger than ten seconds is fresh in any case, even when the plugin says
// that it has expired or the server refuses it: asking again at once would give the same.
//
// kubectl differs: it has no run ahead of time, and runs a plugin that fails or gives expired credentials at
// every request.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "async/backoff.h"
#include "base/random.h"
#include "kube/config/auth.h"
#include "kube/config/exec_plugin.h"

namespace capstan::kube {

enum class Freshness : uint8_t { kFresh, kDue, kStale };

// `age` since the plugin gave it; `left` until it expires and `life` between the two, absent when it never does.
Freshness FreshnessOf(Duration age, std::optional<Duration> left, std::optional<Duration> life, Duration youngest);

// REQUIRES: destroyed before the loop on which it was used. Destroying it ends a plugin that is running.
class ExecCredentials final : public net::Credentials {
 public:
  struct Options {
    Duration run_limit = 60s;
    Duration youngest = 10s;
    async::Backoff::Limits failures{.first = 1s, .cap = 60s, .jitter = 0.2};
    uint64_t seed = 1;  // of jitter; different in each process
  };
  // REQUIRES: sources.exec.
  ExecCredentials(CredentialSources sources, Options options);
  ~ExecCredentials() override;

  async::Task<Result<Secret>> BearerToken(async::Loop& loop, async::Deadline deadline) override;
  Result<std::shared_ptr<const net::TlsMaterial>> Tls() override;
  net::Headers Impersonation() const override { return sources_.impersonation; }
  bool Rejected(const Secret& token, const net::TlsMaterial* material) override;

 private:
  struct Run;
  struct Issued {
    ExecCredential credential;
    Tick at;
    std::optional<Duration> life;
    bool refused = false;
  };

  Freshness Now() const;
  Result<void> Start();
  void Ended(Result<ExecCredential> result);

  CredentialSources sources_;
  const Options options_;
  Random random_;
  async::Backoff failures_;
  async::Loop* loop_ = nullptr;  // since the first request
  std::optional<Issued> issued_;
  std::optional<Error> failure_;  // of the last run
  Tick not_before_{};             // the next run, after a failure
  std::shared_ptr<Run> run_;      // under way
  std::thread thread_;            // of the last run
  std::shared_ptr<const net::TlsMaterial> tls_;
  std::string ca_pem_;                     // the last that could be used; in tls_
  std::optional<uint64_t> ca_generation_;  // the last that was tried
};

}  // namespace capstan::kube
