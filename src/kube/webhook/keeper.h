// Keeps webhooks served and trusted: does what certificates.h decides, over and over.
//
//   auto identity = std::make_shared<net::ServingIdentity>();
//   WebhookKeeper keeper(loop, client, identity,
//       {.secret = {"slinky", "slurm-bridge-webhook"},
//        .policy = {.name = "slurm-bridge", .names = {"slurm-bridge.slinky.svc"}},
//        .targets = {{kMutatingWebhookConfigurations, "slurm-bridge", {"pods.slinky.slurm.net"}}}});
//   group.Spawn("webhook certificates", keeper.Run());
//   // net::HttpServer serves with `identity`; readiness waits for keeper.ready().
//
// Every replica runs one; they need no leader. A look reads the targets and then, so that a bundle is never
// judged by a Secret older than it, the Secret; takes the serving certificate into use; and does at most one
// step on the Secret and the patches that are due. After a change it looks again at once, else after
// `interval`. It needs: get, create and patch on the Secret; get and patch on the targets.
//
// What cannot be read or written is logged once when it begins and once when it is over, and tried again;
// meanwhile the certificate in use stays in use. Never are two CAs made because one could not be read.
//
// Certificates from outside (cert-manager, files of an administrator) are followed by serving_files.h instead;
// then no caBundle is touched.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/loop.h"
#include "async/task.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/webhook/certificates.h"
#include "kube/webhook/trust.h"
#include "net/metrics.h"
#include "net/serving.h"

namespace capstan::kube {

class WebhookKeeper {
 public:
  struct Options {
    Key secret;
    CertificatePolicy policy;
    std::vector<TrustTarget> targets;
    Duration interval = 30s;  // between looks, +-20 %
    uint64_t seed = 1;
    // capstan_webhook_certificate_expiry_seconds{certificate}: Unix time; capstan_webhook_certificate_steps_total
    // {step}; capstan_webhook_ca_bundle_repairs_total. May be null; outlives the keeper.
    net::Metrics* metrics = nullptr;
  };
  // REQUIRES: loop and client outlive it.
  WebhookKeeper(async::Loop& loop, Client& client, std::shared_ptr<net::ServingIdentity> identity, Options options);

  // Runs until it is cancelled.
  async::Task<void> Run();

  // PEM; "" while there is none. The loop's thread.
  const std::string& served_certificate() const { return served_.certificate_pem; }

  // A certificate is served, and all caBundles that exist have been seen to trust it. Any thread.
  bool ready() const { return ready_; }

 private:
  // What one look saw.
  struct Seen {
    std::optional<ExaminedRecord> record;
    std::vector<std::optional<TrustObject>> objects;  // by target; nullopt: it does not exist
    bool complete = true;                             // every target could be read
  };

  async::Task<Result<bool>> Look();  // true: something is other than it was read
  async::Task<Result<Seen>> Read();
  async::Task<Result<std::optional<ExaminedRecord>>> ReadSecret();
  async::Task<Result<void>> Step(const Seen& seen, CertificateState state);
  async::Task<bool> Repair(const Seen& seen);  // true: something is other than it was read
  void Serve(const Seen& seen, CertificateState state);
  Published PublishedIn(const Seen& seen) const;
  void Began(const std::string& trouble, const Error& error);
  void Over(const std::string& trouble);

  async::Loop& loop_;
  Client& client_;
  std::shared_ptr<net::ServingIdentity> identity_;
  Options options_;
  Random random_;
  std::optional<ExaminedRecord> last_;  // as last read
  net::CertifiedKey served_;
  std::set<std::string> troubles_;  // now going on, already logged
  std::atomic<bool> ready_{false};
};

}  // namespace capstan::kube
