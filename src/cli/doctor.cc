#include "cli/doctor.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <random>
#include <string>

#include "base/log.h"
#include "cli/await.h"
#include "cli/terminal.h"
#include "doctor/causes.h"
#include "doctor/look.h"
#include "doctor/report.h"
#include "doctor/shared_volume.h"
#include "kube/config/config.h"
#include "net/client.h"

namespace capstan::cli {
namespace {

constexpr const char* kHelp = R"(
What it does
  Looks at the Slurm clusters of a namespace, or of all, and says what is wrong, why, and what to do, most serious first.
      It only reads (capstan doctor sharedroot alone writes), with your own rights, and says what it could not look at and
  which right that needs. Besides custom resources and what is made of them it looks at the operator, its lease,
  Kubernetes nodes, volume claims and the Secrets that are named; it asks slurmrestd for Slurm's nodes through the API server, with a token signed by the key of the
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

constexpr const char* kVolumeHelp = R"(
What it does
  Tries whether a volume can hold a shared root: starts two pods on two nodes, which mount it, write to a folder of their
  own below meta/, tell each other files there, and are deleted. Without --claim they get a new claim, which is deleted
  with them. Nothing else of the volume is read or written, so that one in use may be tried.

  It needs the rights to create, get and delete pods (and persistentvolumeclaims, without --claim), and to list the
  operator's Deployment unless --image is given; to tell why a pod does not start, to list events.events.k8s.io. The pods
  run as root with capabilities that Pod Security's baseline allows.

Output
  As that of capstan doctor, then a line: on which nodes, how many files are made a second, and after how many
  milliseconds a change on one node was seen on the other and answered.

  With -o json one object: "healthy", "claim", "nodes", "filesPerSecond", "seenAfterMs", "findings" as for capstan doctor,
  and "left", a sentence for each object that could not be deleted.

Exit status
  0 the volume can hold a shared root; 1 something is wrong with it; 2 it could not be tried

Examples
  capstan doctor sharedroot --namespace slurm --storage-class nfs
  capstan doctor sharedroot --namespace slurm --claim main-root -o json

Causes
)";

constexpr size_t kCauseColumns = 22;

std::string CauseText(std::string_view name, std::string_view meaning) {
  const size_t spaces = kCauseColumns - std::min(name.size(), kCauseColumns - 1);
  return "  " + std::string(name) + std::string(spaces, ' ') + std::string(meaning) + "\n";
}

std::string CausesText() {
  std::string text;
  for (const doctor::Cause& cause : doctor::Causes()) text += CauseText(cause.name, cause.meaning);
  return text;
}

std::string VolumeCausesText() {
  std::string text;
  for (const auto& [name, meaning] : doctor::VolumeCauses()) text += CauseText(name, meaning);
  return text;
}

std::string NewId() {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", unsigned(std::random_device()()));
  return "capstan-doctor-" + std::string(digits);
}

int TryVolume(async::RealLoop& loop, net::Transport& http, const DoctorFlags& flags, const std::string& ns) {
  bool interrupted = false;
  boost::asio::signal_set signals(loop.context(), SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) { interrupted = !error; });
  const auto report = Await(loop, doctor::TryVolume(loop, http,
                                                    {.ns = ns,
                                                     .claim = flags.claim,
                                                     .storage_class = flags.storage_class,
                                                     .size = flags.size,
                                                     .image = flags.image,
                                                     .id = NewId(),
                                                     .interrupted = &interrupted}));
  if (!report) {
    std::fprintf(stderr, "capstan: the volume cannot be tried: %s\n", report.error().message().c_str());
    return 2;
  }
  const std::string text =
      flags.output == "json" ? doctor::JsonReport(*report) : doctor::TextReport(*report, HasColours());
  std::fputs(text.c_str(), stdout);
  return report->findings.empty() ? 0 : 1;
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
  CLI::App* volume = command.add_subcommand("sharedroot", "Try whether a volume can hold a shared root");
  volume->fallthrough();
  CLI::Option* claim = volume->add_option("--claim", flags.claim, "To be tried");
  volume->add_option("--storage-class", flags.storage_class, "Of a new claim; absent: the cluster's default")
      ->excludes(claim);
  volume->add_option("--size", flags.size, "Of a new claim")->excludes(claim)->capture_default_str();
  volume->add_option("--image", flags.image, "With capstan-entry; absent: the operator's of slurmd");
  volume->footer([] { return kVolumeHelp + VolumeCausesText(); });
}

int RunDoctor(const CLI::App& command, const DoctorFlags& flags) {
  log::SetLevel(log::Level::kError);
  const auto config = kube::LoadConfig({.kubeconfig = flags.kubeconfig, .context = flags.context});
  if (!config) {
    std::fprintf(stderr, "capstan: %s\n", config.error().message().c_str());
    return 2;
  }
  async::RealLoop loop;
  const net::HttpClient::Options options{.server = config->server, .credentials = config->credentials};
  net::HttpClient http(loop, options);
  if (command.got_subcommand("sharedroot")) {
    if (flags.all_namespaces) {
      std::fprintf(stderr, "capstan: a volume is tried in one namespace: give --namespace, not --all-namespaces\n");
      return 2;
    }
    return TryVolume(loop, http, flags, flags.ns.empty() ? config->ns : flags.ns);
  }
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
