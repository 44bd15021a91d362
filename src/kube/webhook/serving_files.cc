#include "kube/webhook/serving_files.h"

#include "async/timer.h"
#include "base/log.h"

namespace capstan::kube {

ServingFiles::ServingFiles(async::Loop& loop, std::shared_ptr<net::ServingIdentity> identity, Paths paths,
                           Duration interval)
    : loop_(loop),
      identity_(std::move(identity)),
      certificate_(Source::File(std::move(paths.certificate), "serving certificate")),
      key_(Source::File(std::move(paths.key), "serving key")),
      interval_(interval) {
  if (!paths.client_ca.empty()) client_ca_ = Source::File(std::move(paths.client_ca), "client CA");
}

Result<void> ServingFiles::Load() {
  CAPSTAN_TRY(const Secret* certificate, certificate_.Read());
  CAPSTAN_TRY(const Secret* key, key_.Read());
  CAPSTAN_TRY(const Secret* client_ca, client_ca_.Read());
  const uint64_t now = certificate_.generation() + key_.generation() + client_ca_.generation();
  if (now == loaded_) return {};
  CAPSTAN_CHECK_OK(identity_->Replace({std::string(certificate->Reveal()), *key, std::string(client_ca->Reveal())}),
                   "serving certificate files");
  loaded_ = now;
  log::Info("serving certificate files in use");
  return {};
}

async::Task<void> ServingFiles::Run() {
  std::string said;
  while (true) {
    const Result<void> loaded = Load();
    const std::string error = loaded ? "" : loaded.error().message();
    if (!error.empty() && error != said) log::Warn("serving certificate files cannot be used", {{"error", error}});
    said = error;
    co_await async::Sleep(loop_, interval_);
  }
}

}  // namespace capstan::kube
