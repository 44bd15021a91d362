// capstan: one program, several services.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/bridge.h"
#include "cli/crds.h"
#include "cli/doctor.h"
#include "cli/exporter.h"
#include "cli/operator.h"
#include "cli/render.h"
#include "cli/rights.h"
#include "cli/slurm.h"
#include "net/client.h"

namespace {

// As a plugin of kubectl the program is called kubectl-capstan.
std::string NameOf(std::string_view path) { return path.ends_with("kubectl-capstan") ? "kubectl capstan" : "capstan"; }

int Help(CLI::App& app, const std::string& command) {
  if (command.empty()) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  }
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() != command) continue;
    std::fputs(each->help(app.get_name()).c_str(), stdout);
    return 0;
  }
  std::fprintf(stderr, "capstan: there is no command %s\n", command.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Slurm on Kubernetes", NameOf(argc > 0 ? argv[0] : ""));
  app.require_subcommand(1);

  capstan::cli::OperatorFlags flags;
  CLI::App* run_operator = app.add_subcommand("operator", "Keep Slurm clusters as their custom resources want them");
  run_operator->add_option("--kubeconfig", flags.kubeconfig, "File that says how to reach the API server");
  run_operator->add_option("--namespaces", flags.namespaces, "Look for custom resources in these only")->delimiter(',');
  run_operator->add_option("--leader-elect", flags.leader_elect, "Act only while holding the lease")
      ->expected(0, 1)
      ->default_str("true")
      ->option_text("[BOOLEAN]");
  run_operator->add_option("--leader-elect-namespace", flags.lease_namespace, "Where the lease is");
  run_operator->add_option("--health-addr", flags.health_address, "Where /healthz and /readyz are served");
  run_operator->add_option("--metrics-addr", flags.metrics_address, "Where /metrics is served; 0: nowhere");
  run_operator->add_flag("--metrics-secure", flags.metrics_secure,
                         "Serve /metrics over HTTPS, to bearers of a token that may get that path");
  run_operator->add_option("--zap-log-level", flags.log_level,
                           "debug, info, warn, error, panic, or a number above 0 for debug");
  run_operator->add_option("--image-prefix", flags.image_prefix, "Of images that a custom resource does not name");
  run_operator->add_option("--image-tag", flags.image_tag, "The same");
  run_operator
      ->add_option("--propagated-node-conditions", flags.propagated_node_conditions,
                   "Types of node conditions that say in Slurm why a cordoned node is drained")
      ->delimiter(',');
  run_operator->add_option("--cluster-domain", flags.cluster_domain,
                           "Of the cluster's DNS names; absent: as in /etc/resolv.conf");

  capstan::cli::BridgeFlags bridge;
  CLI::App* run_bridge = app.add_subcommand("bridge", "Let Slurm decide when and where pods of chosen namespaces run");
  capstan::cli::AddBridge(*run_bridge, bridge);

  capstan::cli::ExporterFlags exporter;
  CLI::App* run_exporter = app.add_subcommand("exporter", "Show Slurm's figures to Prometheus");
  capstan::cli::AddExporterFlags(*run_exporter, exporter);

  capstan::cli::CrdsFlags crds;
  CLI::App* run_crds = app.add_subcommand("crds", "Print the custom resource definitions");
  capstan::cli::AddCrdsFlags(*run_crds, crds);

  capstan::cli::RightsFlags rights;
  CLI::App* run_rights = app.add_subcommand("rights", "Print what a service may do, as the rules of its chart");
  capstan::cli::AddRightsFlags(*run_rights, rights);

  capstan::cli::RenderFlags render;
  CLI::App* run_render =
      app.add_subcommand("render", "Print what the operator would make of files of custom resources");
  capstan::cli::AddRenderFlags(*run_render, render);

  capstan::cli::DoctorFlags doctor;
  CLI::App* run_doctor = app.add_subcommand("doctor", "Say what is wrong with a cluster, why, and what to do");
  capstan::cli::AddDoctorFlags(*run_doctor, doctor);

  capstan::cli::SlurmFlags slurm;
  CLI::App* run_slurm = app.add_subcommand("slurm", "Show what Slurm says of its nodes, jobs and itself");
  capstan::cli::AddSlurm(*run_slurm, slurm);

  std::string helped;
  CLI::App* help = app.add_subcommand("help", "Say more about a command");
  help->add_option("command", helped, "Its name");

  CLI::App* version = app.add_subcommand("version", "Print the version");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (run_operator->parsed()) return capstan::cli::RunOperator(flags);
  if (run_bridge->parsed()) return capstan::cli::RunBridge(*run_bridge, bridge);
  if (run_exporter->parsed()) return capstan::cli::RunExporter(exporter);
  if (run_crds->parsed()) return capstan::cli::RunCrds(crds);
  if (run_rights->parsed()) return capstan::cli::RunRights(rights);
  if (run_render->parsed()) return capstan::cli::RunRender(render);
  if (run_doctor->parsed()) return capstan::cli::RunDoctor(*run_doctor, doctor);
  if (run_slurm->parsed()) return capstan::cli::RunSlurm(*run_slurm, slurm);
  if (help->parsed()) return Help(app, helped);
  if (version->parsed()) std::printf("%s\n", std::string(capstan::net::UserAgent()).c_str());
  return 0;
}
