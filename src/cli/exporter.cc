#include "cli/exporter.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "api/common.h"
#include "base/log.h"
#include "cli/slurm_token.h"
#include "exporter/collector.h"
#include "kube/config/config.h"
#include "process/metrics_guard.h"
#include "process/process.h"

namespace capstan::cli {
namespace {

constexpr std::string_view kProgram = "slurm-exporter";

Result<Duration> DurationOf(std::string_view flag, const std::string& text) {
  const auto duration = api::ParseGoDuration(text);
  if (duration && *duration > 1s) return *duration;
  return Fail(Code::kInvalid,
              std::string(flag) + " is \"" + text + "\", must be a time of more than a second: 5s, 1m30s");
}

// What is needed to ask the API server whom metrics are for.
struct Guard {
  Guard(process::Process& process, const kube::Config& config)
      : http(process.loop(), {.server = config.server, .credentials = config.credentials}),
        client(process.loop(), http, {.field_manager = std::string(kProgram)}),
        guard(process, client) {}
  net::HttpClient http;
  kube::Client client;
  process::MetricsGuard guard;
};

async::Task<void> Collect(exporter::Collector& collector) { co_await collector.Run(); }

Result<void> Run(const ExporterFlags& flags) {
  CAPSTAN_CHECK_OK(process::SetLogLevel(flags.log_level));
  CAPSTAN_TRY(const Duration interval, DurationOf("--cache-freq", flags.interval));
  CAPSTAN_TRY(const Duration keep, DurationOf("--keep-last", flags.keep));
  if (keep / 2 < interval) return Fail(Code::kInvalid, "--keep-last must be twice --cache-freq or longer");
  CAPSTAN_TRY(slurm::TokenFactory token, SlurmToken(flags.token_file));
  CAPSTAN_TRY(net::Endpoint server, net::Endpoint::Parse(flags.server));
  log::Info("starting", {{"program", process::Agent(std::string(kProgram))}, {"server", server.ToString()}});

  process::Process process;
  net::HttpClient http(process.loop(), {.server = std::move(server), .max_requests = 2, .max_idle = 1});
  slurm::RestClient client(process.loop(), http, std::move(token));
  exporter::Collector collector(process.loop(), client, {.interval = interval, .keep = keep, .cluster = flags.cluster});
  process.Expose([&collector](std::string& text) { collector.AppendTo(text); });
  process.ReadyWhen(
      [&collector] { return collector.has_begun() ? "" : "Slurm has not been asked for everything yet"; });
  process::Process::Addresses addresses{.health_address = flags.health_address,
                                        .metrics_address = flags.metrics_address};
  std::optional<Guard> guard;
  if (flags.metrics_secure) {
    CAPSTAN_TRY(const kube::Config config, kube::LoadConfig({.kubeconfig = flags.kubeconfig}));
    addresses.admit_to_metrics = guard.emplace(process, config).guard.admit();
  }
  CAPSTAN_CHECK_OK(process.Serve(addresses));
  process.tasks().Spawn("collector", Collect(collector));
  process.Run();
}

}  // namespace

void AddExporterFlags(CLI::App& command, ExporterFlags& flags) {
  command.add_option("--server", flags.server, "slurmrestd's address");
  command.add_option("--token-file", flags.token_file,
                     "File with a token of Slurm, read anew as it changes; absent: SLURM_JWT holds the token");
  command.add_option("--cache-freq", flags.interval,
                     "How often Slurm is asked, where it answers within a tenth of that");
  command.add_option("--keep-last", flags.keep, "How long series of a Slurm that does not answer are shown");
  command.add_option("--cluster-label", flags.cluster, "Value of a label \"cluster\" of all series; absent: none");
  command.add_option("--metrics-bind-address", flags.metrics_address, "Where /metrics is served");
  command.add_option("--health-probe-bind-address", flags.health_address, "Where /healthz and /readyz are served");
  command.add_flag("--metrics-secure", flags.metrics_secure,
                   "Serve /metrics over HTTPS, to bearers of a token that may get that path");
  command.add_option("--kubeconfig", flags.kubeconfig,
                     "File that says how to reach the API server, for --metrics-secure");
  command.add_option("--zap-log-level", flags.log_level,
                     "debug, info, warn, error, panic, or a number above 0 for debug");
}

int RunExporter(const ExporterFlags& flags) {
  const auto ran = Run(flags);
  if (!ran) log::Error("cannot begin", {{"error", ran.error().message()}});
  return 1;
}

}  // namespace capstan::cli
