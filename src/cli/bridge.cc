#include "cli/bridge.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "async/task_group.h"
#include "base/log.h"
#include "bridge/admission.h"
#include "bridge/config.h"
#include "bridge/group_figures.h"
#include "bridge/reconcilers.h"
#include "kube/webhook/keeper.h"
#include "kube/webhook/serving_files.h"
#include "net/server.h"
#include "process/program.h"

namespace capstan::cli {
namespace {

constexpr std::string_view kProgram = "slurm-bridge";
constexpr std::string_view kPath = "/mutate--v1-pod";
constexpr auto kTokenVariable = "SLURM_JWT_FILE";

int Refuse(const Error& error) {
  log::Error("cannot begin", {{"error", error.message()}});
  return 1;
}

Result<bridge::Config> ReadConfigFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(Code::kInvalid, path + " cannot be read");
  return bridge::ReadConfig(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

process::ProgramOptions ProgramOf(const BridgeFlags& flags) {
  return {.name = std::string(kProgram),
          .set_up = {},
          .kubeconfig = flags.kubeconfig,
          .health_address = flags.health_address,
          .metrics_address = flags.metrics_address,
          .metrics_secure = flags.metrics_secure,
          .log_level = flags.log_level};
}

// --- Admission -------------------------------------------------------------------------------------------------------

async::Task<void> Keep(std::shared_ptr<kube::WebhookKeeper> keeper) { co_await keeper->Run(); }
async::Task<void> Follow(std::shared_ptr<kube::ServingFiles> files) { co_await files->Run(); }

// Ends with its task.
async::Task<void> ServeUntilCancelled(async::Loop& loop, std::unique_ptr<net::HttpServer> server) {
  async::Event never(loop);
  co_await never.Wait(async::Deadline::Never());
  server->Retire();
}

Result<void> FollowCertificates(const process::ProgramParts& parts, const BridgeFlags& flags,
                                const std::shared_ptr<net::ServingIdentity>& identity) {
  if (!flags.certificates.empty()) {
    auto files = std::make_shared<kube::ServingFiles>(
        parts.loop, identity,
        kube::ServingFiles::Paths{flags.certificates + "/tls.crt", flags.certificates + "/tls.key"});
    CAPSTAN_CHECK_OK(files->Load());
    parts.group.Spawn("webhook certificates", Follow(std::move(files)));
    return {};
  }
  const std::string service = flags.name + "-admission";
  auto keeper = std::make_shared<kube::WebhookKeeper>(
      parts.loop, parts.client, identity,
      kube::WebhookKeeper::Options{
          .secret = {flags.ns, service + "-tls"},
          .policy = {.name = service, .names = {service + "." + flags.ns + ".svc", service + "." + flags.ns}},
          .targets = {{kube::kMutatingWebhookConfigurations,
                       service,
                       {"pods.slinky.slurm.net", "named.pods.slinky.slurm.net"}}},
          .metrics = &parts.metrics});
  parts.ready_when("the webhook's certificate", [keeper] { return keeper->ready(); });
  parts.group.Spawn("webhook certificates", Keep(std::move(keeper)));
  return {};
}

int RunAdmission(const BridgeFlags& flags, const bridge::Config& config) {
  const bridge::AdmissionSettings settings{bridge::BridgeName(flags.ns, flags.name), config.scheduler_name,
                                           config.target_scheduler_name};
  process::ProgramOptions options = ProgramOf(flags);
  options.set_up = [&](const process::ProgramParts& parts) -> Result<void> {
    const auto identity = std::make_shared<net::ServingIdentity>();
    CAPSTAN_CHECK_OK(FollowCertificates(parts, flags, identity));
    const auto admit = [settings](const kube::AdmissionRequest& request) { return bridge::Admit(settings, request); };
    CAPSTAN_TRY(auto server,
                net::HttpServer::Start(
                    {.port = flags.webhook_port,
                     .max_connections = kube::kAdmissionConnections,
                     .max_body_bytes = kube::kAdmissionBodyBytes,
                     .identity = identity,
                     .metrics = &parts.metrics},
                    {{std::string(kPath), kube::ServeAdmission("pods.slinky.slurm.net", admit, &parts.metrics)}}));
    parts.group.Spawn("webhooks", ServeUntilCancelled(parts.loop, std::move(server)));
    return {};
  };
  return process::RunProgram(std::move(options));
}

// --- Controllers -----------------------------------------------------------------------------------------------------

async::Task<void> Count(std::shared_ptr<bridge::GroupFigures> figures, async::Loop& loop) {
  co_await figures->Run(loop);
}

int RunControllers(const BridgeFlags& flags, const bridge::Config& config) {
  const char* variable = std::getenv(kTokenVariable);
  std::string token_file = flags.token_file.empty() && variable != nullptr ? variable : flags.token_file;
  if (token_file.empty()) return Refuse(Error(Code::kInvalid, "no file holds the token of Slurm: set --token-file"));
  const auto settings = bridge::SettingsFrom(config, bridge::BridgeName(flags.ns, flags.name), std::move(token_file));
  if (!settings) return Refuse(settings.error());
  process::ProgramOptions options = ProgramOf(flags);
  options.set_up = [&](const process::ProgramParts& parts) {
    bridge::AddStores(parts.engine.stores(), settings->bridge);
    for (plan::Reconciler& reconciler : bridge::Reconcilers()) parts.engine.Add(std::move(reconciler));
    const auto* pods = static_cast<const kube::Store<bridge::Pod>*>(parts.engine.stores().Find(bridge::Pod::kResource));
    const auto jobs = [&engine = parts.engine] { return engine.LookAt(bridge::kSlurm).followed; };
    parts.group.Spawn("figures of groups", Count(std::make_shared<bridge::GroupFigures>(parts.metrics, *pods,
                                                                                        settings->scheduler_name, jobs),
                                                 parts.loop));
    return Result<void>();
  };
  options.settings = &*settings;
  options.leader_elect = flags.leader_elect;
  options.lease_name = flags.name;
  options.lease_namespace = flags.ns;
  return process::RunProgram(std::move(options));
}

void AddCommonFlags(CLI::App& command, BridgeFlags& flags) {
  command.add_option("--config", flags.config, "File with the configuration that both programs share");
  command.add_option("--name", flags.name, "The release's name, by which its objects are called");
  command.add_option("--namespace", flags.ns, "Where it runs");
  command.add_option("--kubeconfig", flags.kubeconfig, "File that says how to reach the API server");
  command.add_option("--health-probe-bind-address", flags.health_address, "Where /healthz and /readyz are served");
  command.add_option("--metrics-bind-address", flags.metrics_address, "Where /metrics is served; 0: nowhere");
  command.add_flag("--metrics-secure", flags.metrics_secure,
                   "Serve /metrics over HTTPS, to bearers of a token that may get that path");
  command.add_option("--zap-log-level", flags.log_level,
                     "debug, info, warn, error, panic, or a number above 0 for debug");
}

}  // namespace

void AddBridge(CLI::App& command, BridgeFlags& flags) {
  command.require_subcommand(1);
  CLI::App* admission = command.add_subcommand("admission", "Let new pods of bridged namespaces wait for Slurm");
  AddCommonFlags(*admission, flags);
  admission->add_option("--webhook-port", flags.webhook_port, "Where the webhook is served");
  admission->add_option("--certificate-directory", flags.certificates,
                        "Folder with tls.crt and tls.key; absent: of a CA of its own");
  CLI::App* controllers = command.add_subcommand("controllers", "Ask Slurm for bridged pods, and let them go");
  AddCommonFlags(*controllers, flags);
  controllers->add_option("--leader-elect", flags.leader_elect, "Act only while holding the lease")
      ->expected(0, 1)
      ->default_str("true")
      ->option_text("[BOOLEAN]");
  controllers->add_option("--token-file", flags.token_file,
                          "File with a token of Slurm's own user; absent: the one that SLURM_JWT_FILE names");
}

int RunBridge(const CLI::App& command, const BridgeFlags& flags) {
  const auto config = ReadConfigFile(flags.config);
  if (!config) return Refuse(config.error());
  return command.got_subcommand("admission") ? RunAdmission(flags, *config) : RunControllers(flags, *config);
}

}  // namespace capstan::cli
