#include "cli/doctor.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "base/log.h"
#include "cli/await.h"
#include "cli/terminal.h"
#include "doctor/causes.h"
#include "doctor/look.h"
#include "doctor/report.h"
#include "kube/config/config.h"
#include "net/client.h"

namespace capstan::cli {
namespace {

constexpr const char* kHelp = R"(
What it does
  Looks at the Slurm clusters of a namespace, or of all, and says what is wrong, why, and what to do, most serious first.
  It only reads, with your own rights, and says what it could not look at and which right that needs. Besides custom
  resources and what is made of them it looks at the operator, its lease, Kubernetes nodes, volume claims and the Secrets
  that are named; it asks slurmrestd for Slurm's nodes through the API server, with a token signed by the key of the
  cluster if you may read that. Values of Secrets are in no output.

Output
  A paragraph for each thing that is wrong: "error" (something does not work) or "warning", the object, the cause, what is
  seen, and what to do about it. Then what could not be looked at. In colours on a terminal, unless NO_COLOR is set.

  With -o json one object: "healthy" (true or false), "findings", a list of objects with "severity", "cause", "object",
  "what" and "todo", and "notSeen", a list of sentences.

Environment
  KUBECONFIG, and HTTPS_PROXY and NO_PROXY, as kubectl reads them.

Exit status
  0 nothing is wrong, as far as can be seen; 1 something is; 2 the cluster could not be looked at

Examples
  capstan doctor --namespace slurm
  capstan doctor -A -o json | jq -r '.findings[] | [.severity, .object, .cause] | @tsv'
  kubectl capstan doctor -A       (with this program as kubectl-capstan in $PATH)

Causes
)";

std::string CausesText() {
  std::string text;
  for (const doctor::Cause& cause : doctor::Causes()) {
    text += "  " + std::string(cause.name) + std::string(22 - std::min<size_t>(cause.name.size(), 21), ' ') +
            std::string(cause.meaning) + "\n";
  }
  return text;
}

}  // namespace

void AddDoctorFlags(CLI::App& command, DoctorFlags& flags) {
  command.add_option("-n,--namespace", flags.ns, "To look at; absent: the kubeconfig's");
  command.add_flag("-A,--all-namespaces", flags.all_namespaces, "Look at all namespaces");
  command.add_option("-o,--output", flags.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command.add_option("--kubeconfig", flags.kubeconfig, "File that says how to reach the API server");
  command.add_option("--context", flags.context, "The kubeconfig's context to use");
  command.footer([] { return kHelp + CausesText(); });
}

int RunDoctor(const DoctorFlags& flags) {
  log::SetLevel(log::Level::kError);
  const auto config = kube::LoadConfig({.kubeconfig = flags.kubeconfig, .context = flags.context});
  if (!config) {
    std::fprintf(stderr, "capstan: %s\n", config.error().message().c_str());
    return 2;
  }
  async::RealLoop loop;
  const net::HttpClient::Options options{.server = config->server, .credentials = config->credentials};
  net::HttpClient http(loop, options);
  const auto below = [&](const std::string& path) -> std::unique_ptr<net::Transport> {
    net::HttpClient::Options to = options;
    to.server.base_path += path;
    return std::make_unique<net::HttpClient>(loop, std::move(to));
  };
  const std::string ns = flags.all_namespaces ? "" : flags.ns.empty() ? config->ns : flags.ns;
  const auto cluster = Await(loop, doctor::Look(loop, http, {.ns = ns, .below = below}));
  if (!cluster) {
    std::fprintf(stderr, "capstan: the cluster cannot be looked at: %s\n", cluster.error().message().c_str());
    return 2;
  }
  const auto findings = doctor::Diagnose(*cluster);
  const std::string report = flags.output == "json" ? doctor::JsonReport(findings, *cluster)
                                                    : doctor::TextReport(findings, *cluster, HasColours());
  std::fputs(report.c_str(), stdout);
  return findings.empty() ? 0 : 1;
}

}  // namespace capstan::cli
