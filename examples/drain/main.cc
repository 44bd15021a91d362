// drain-node URL NODE REASON: drains it and waits for an hour at most. SLURM_JWT holds the token.
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "async/task_group.h"
#include "drain.h"
#include "net/client.h"
#include "slurm/rest_source.h"

using namespace capstan;

int main(int argc, char** argv) {
  const char* token = std::getenv("SLURM_JWT");
  if (argc != 4 || token == nullptr) {
    std::fprintf(stderr, "usage: SLURM_JWT=TOKEN drain-node URL NODE REASON\n");
    return 2;
  }
  const auto server = net::Endpoint::Parse(argv[1]);
  if (!server) {
    std::fprintf(stderr, "drain-node: %s\n", server.error().message().c_str());
    return 2;
  }

  async::RealLoop loop;
  net::HttpClient http(loop, {.server = *server});
  slurm::RestSource source(loop, http, [token](Duration) -> Result<Secret> { return Secret(token); });

  async::TaskGroup polling(loop), work(loop);
  std::optional<Result<void>> drained;
  const auto drain = [&]() -> async::Task<void> {
    drained = co_await drain::Drain(loop, source, argv[2], argv[3], loop.After(1h));
    polling.Cancel();
    co_await polling.Join();  // before what it uses goes
    loop.Stop();
  };
  polling.Spawn("poll", source.Run());
  work.Spawn("drain", drain());
  loop.Run();

  if (!drained || !*drained) {
    std::fprintf(stderr, "drain-node: %s\n", drained ? drained->error().message().c_str() : "it did not end");
    return 1;
  }
  std::printf("%s is drained, and no job is on it\n", argv[2]);
  return 0;
}
