// What listing with the Slurm library takes. Run by bench/slurm_library.py, which measures the process from outside, too.
//
//   bench_slurm_list URL nodes|jobs   lists once; SLURM_JWT holds the token
//   bench_slurm_list hostlist         expands a million names
//
// Standard output: "listed COUNT MILLISECONDS RETAINED_MIB" and "peak MIB", of resident memory; of nodes behind it "unchanged CPU_MILLISECONDS", of one question
// whether they have changed, when none has; "expanded COUNT MILLISECONDS".
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "async/loop.h"
#include "async/timer.h"
#include "cli/await.h"
#include "net/client.h"
#include "slurm/hostlist.h"
#include "slurm/rest_client.h"
#include "slurm/token_file.h"

using namespace capstan;  // NOLINT: a program of one file

namespace {

constexpr int kQuestions = 50;
constexpr int kMostChanges = 30;

double Milliseconds(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count();
}

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

double InUseMib() {
  const auto info = mallinfo2();
  return double(info.uordblks + info.hblkhd) / double(1 << 20);
}

void PrintPeak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (int kib = 0; std::sscanf(line.c_str(), "VmHWM: %d kB", &kib) == 1) std::printf("peak %.1f\n", kib / 1024.0);
}

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "bench_slurm_list: %s\n", why.c_str());
  std::exit(1);
}

// One list, of which memory is that of the records alone.
template <class Ask>
auto Listed(async::Loop& loop, slurm::RestClient& client, Ask ask) -> decltype(ask()) {
  CAPSTAN_CO_CHECK_OK(co_await client.Ping(loop.After(1min)));
  const double before = InUseMib();
  const auto began = std::chrono::steady_clock::now();
  CAPSTAN_CO_TRY(auto found, co_await ask());
  const double took = Milliseconds(began);
  std::printf("listed %zu %.1f %.3f\n", found.records.size(), took, InUseMib() - before);
  PrintPeak();
  co_return found;
}

async::Task<Result<bool>> Jobs(async::Loop& loop, slurm::RestClient& client) {
  const auto ask = [&] { return client.Jobs(0, loop.After(5min)); };
  CAPSTAN_CO_CHECK_OK(co_await Listed(loop, client, ask));
  co_return true;
}

async::Task<Result<bool>> Nodes(async::Loop& loop, slurm::RestClient& client) {
  const auto ask = [&] { return client.Nodes(0, loop.After(5min)); };
  CAPSTAN_CO_TRY(const auto nodes, co_await Listed(loop, client, ask));
  int64_t update_time = nodes.update_time;
  double spent = 0;
  for (int left = kQuestions, changes = 0; left > 0;) {
    const double before = CpuMilliseconds();
    CAPSTAN_CO_TRY(const auto again, co_await client.Nodes(update_time, loop.After(5min)));
    if (again.unchanged) {
      spent += CpuMilliseconds() - before;
      --left;
      continue;
    }
    update_time = again.update_time;
    if (++changes > kMostChanges) co_return Fail(Code::kConflict, "nodes do not cease to change");
    co_await async::Sleep(loop, 1s);  // Slurm counts in seconds
  }
  std::printf("unchanged %.3f\n", spent / kQuestions);
  co_return true;
}

int Expand() {
  const auto began = std::chrono::steady_clock::now();
  const auto names = slurm::ExpandHostlist("n[0000000-0999999]", 1'000'000);
  if (!names) Die(names.error().message());
  std::printf("expanded %zu %.1f\n", names->size(), Milliseconds(began));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "hostlist") return Expand();
  if (argc != 3 || std::getenv("SLURM_JWT") == nullptr) Die("usage: bench_slurm_list URL nodes|jobs, with SLURM_JWT");
  async::RealLoop loop;
  net::HttpClient http(loop, {.server = net::Endpoint::Parse(argv[1]).value()});
  slurm::RestClient client(loop, http, [](Duration) { return slurm::TokenIn(std::getenv("SLURM_JWT"), "SLURM_JWT"); });
  const bool jobs = std::string(argv[2]) == "jobs";
  const auto listed = cli::Await(loop, jobs ? Jobs(loop, client) : Nodes(loop, client));
  if (!listed) Die(listed.error().message());
  return 0;
}
