#include "cli/slurm.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <random>

#include "api/common.h"
#include "base/log.h"
#include "cli/await.h"
#include "cli/slurm_token.h"
#include "listing/listing.h"
#include "net/client.h"
#include "net/credentials.h"

namespace capstan::cli {
namespace {

using listing::Kind;

constexpr std::streamsize kLargestCaFile = 1 << 20;
// Of one array of jobs, which is a single answer.
constexpr size_t kLargestAnswer = 64 << 20, kMostElements = 2'000'000;

constexpr const char* kHelp = R"(
What it does
  Asks slurmrestd and shows what it says: a table, or JSON with Slurm's names of fields. It only reads. Any version of
  slurmrestd will do that has one of the data parsers v0.0.42 to v0.0.45. A text or a time that Slurm does not tell is "-",
  and absent in JSON; a number is 0.

Output
  -o json is an array of objects. With --watch a row for each record that came, changed or went: behind ADDED, MODIFIED
  or DELETED in a table, in JSON a line {"type": "MODIFIED", "object": {...}} each. Times are in UTC; limits of time
  in JSON are in minutes.

Environment
  SLURM_JWT, the token, as `export $(scontrol token)` sets it. With a socket (--server unix:///run/slurmrestd.sock) it may be
  absent.

Exit status
  0 shown; 1 Slurm cannot be asked, does not know one of the names, or (ping) no slurmctld responds; 2 the command is wrong

Examples
  capstan slurm nodes --server http://slurm-restapi.slurm.svc:6820 'gpu-[0-7]'
  capstan slurm jobs -o json | jq -r '.[] | select(.job_state[0] == "PENDING") | .state_reason' | sort | uniq -c
  capstan slurm nodes --watch
  capstan slurm diag -o json | jq from_entries
)";

struct Command {
  Kind kind;
  const char* name;
  const char* what;
  const char* names;  // of its arguments; nullptr: it takes none
};
constexpr Command kCommands[] = {
    {Kind::kNodes, "nodes", "List nodes", "Only these; a hostlist names many: w-[0-3]"},
    {Kind::kJobs, "jobs", "List jobs", "Ids, only of these"},
    {Kind::kPartitions, "partitions", "List partitions", "Only these"},
    {Kind::kReservations, "reservations", "List reservations", "Only these"},
    {Kind::kControllers, "ping", "Say which slurmctld responds", nullptr},
    {Kind::kStatistics, "diag", "Show slurmctld's statistics", nullptr},
};

// A certificate authority of a file, or the machine's own.
class TrustedCa final : public net::Credentials {
 public:
  explicit TrustedCa(std::string pem)
      : material_(std::make_shared<const net::TlsMaterial>(net::TlsMaterial{.ca_pem = std::move(pem)})) {}
  Result<std::shared_ptr<const net::TlsMaterial>> Tls() override { return material_; }

 private:
  std::shared_ptr<const net::TlsMaterial> material_;
};

Result<std::shared_ptr<net::Credentials>> CredentialsOf(const std::string& ca_file) {
  if (ca_file.empty()) return std::shared_ptr<net::Credentials>();
  std::ifstream file(ca_file, std::ios::binary);
  std::string pem(size_t(kLargestCaFile), '\0');
  file.read(pem.data(), kLargestCaFile);
  pem.resize(size_t(file.gcount()));
  if (file.bad() || pem.empty()) return Fail(Code::kInvalid, "--ca-file " + ca_file + " cannot be read, or is empty");
  return std::make_shared<TrustedCa>(std::move(pem));
}

// A socket's other side knows whose process asks.
Result<slurm::TokenFactory> TokenOf(const SlurmFlags& flags, const net::Endpoint& server) {
  auto token = SlurmToken(flags.token_file);
  if (!token && server.scheme == net::Endpoint::Scheme::kUnix)
    return [](Duration) -> Result<Secret> { return Secret(); };
  return token;
}

Result<Duration> DurationOf(std::string_view flag, const std::string& text, Duration least) {
  const auto duration = api::ParseGoDuration(text);
  if (duration && *duration >= least && *duration <= 24h) return *duration;
  return Fail(Code::kInvalid, std::string(flag) + " is \"" + text + "\", must be a time of " + FormatDuration(least) +
                                  " to a day: 5s, 1m30s");
}

bool WriteOut(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

void Say(const std::string& sentence) { std::fprintf(stderr, "capstan: %s\n", sentence.c_str()); }

struct Asked {
  net::Endpoint server;
  std::shared_ptr<net::Credentials> credentials;
  slurm::TokenFactory token;
  listing::Options options;
};

Result<Asked> Read(const SlurmFlags& flags) {
  Asked asked;
  CAPSTAN_TRY(asked.server, net::Endpoint::Parse(flags.server));
  CAPSTAN_TRY(asked.credentials, CredentialsOf(flags.ca_file));
  CAPSTAN_TRY(asked.token, TokenOf(flags, asked.server));
  CAPSTAN_TRY(const Duration every, DurationOf("--every", flags.every, 100ms));
  CAPSTAN_TRY(const Duration patience, DurationOf("--timeout", flags.patience, 100ms));
  asked.options = {.watch = flags.watch,
                   .every = every,
                   .patience = patience,
                   .seed = std::random_device()(),
                   .out = WriteOut,
                   .say = Say};
  return asked;
}

int Run(const Command& command, const SlurmFlags& flags) {
  log::SetLevel(log::Level::kError);
  auto asked = Read(flags);
  if (!asked) return Say(asked.error().message()), 2;
  async::RealLoop loop;
  net::HttpClient http(loop,
                       {.server = asked->server, .credentials = asked->credentials, .max_requests = 1, .max_idle = 1});
  slurm::RestClient client(loop, http, asked->token,
                           {.max_answer_bytes = kLargestAnswer, .max_answer_elements = kMostElements});
  const auto format = flags.output == "json" ? listing::Format::kJson : listing::Format::kTable;
  auto reader = listing::Reader::Make(client, command.kind, format, flags.names);
  if (!reader) return Say(reader.error().message()), 2;
  const auto listed = Await(loop, listing::List(loop, *std::move(reader), asked->options));
  if (listed) return 0;
  return Say(listed.error().message()), 1;
}

}  // namespace

void AddSlurm(CLI::App& command, SlurmFlags& flags) {
  command.require_subcommand(1);
  command.add_option("--server", flags.server, "slurmrestd's address: http://, https:// or unix://")
      ->capture_default_str();
  command.add_option("--token-file", flags.token_file, "File with a token of Slurm; absent: SLURM_JWT holds it");
  command.add_option("--ca-file", flags.ca_file,
                     "Who may have signed slurmrestd's certificate; absent: as this machine trusts");
  command.add_option("-o,--output", flags.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command.add_flag("-w,--watch", flags.watch, "Go on with what changes");
  command.add_option("--every", flags.every, "Between two looks of a watch")->capture_default_str();
  command.add_option("--timeout", flags.patience, "How long Slurm may take to answer")->capture_default_str();
  command.footer(kHelp);
  for (const Command& each : kCommands) {
    CLI::App* one = command.add_subcommand(each.name, each.what);
    one->fallthrough();
    if (each.names != nullptr) one->add_option("names", flags.names, each.names);
  }
}

int RunSlurm(const CLI::App& command, const SlurmFlags& flags) {
  for (const Command& each : kCommands)
    if (command.got_subcommand(each.name)) return Run(each, flags);
  return 2;
}

}  // namespace capstan::cli
