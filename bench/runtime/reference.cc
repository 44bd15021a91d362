// The reference program on Capstan's runtime: a small operator that does what go-reference/main.go does on
// controller-runtime, to measure one against the other.
//
//   bench_reference [--prefix TEXT] [--expect N] [--latency]      runs until SIGTERM
//   bench_reference --bytes-per-pod                               reads all Pods, prints what each occupies
//
// For every Source it keeps a ConfigMap of the same name that holds the prefix and the Source's text. Pods, Secrets and
// Nodes are watched besides, in the whole cluster, and lead to nothing. The API server is the one of $KUBECONFIG.
//
// Standard output: "synced" once everything has been listed, "wrote N" after the N-th accepted write; with --latency one
// "latency MICROSECONDS" a write at the end.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>

#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/log.h"
#include "json/codec.h"
#include "kube/client.h"
#include "kube/config/config.h"
#include "kube/feed.h"
#include "net/client.h"
#include "plan/engine.h"
#include "runtime/objects.h"
#include "runtime/probe.h"

namespace capstan::bench {
namespace {

struct Flags {
  std::string prefix;
  size_t expect = 0;
  bool latency = false;
  bool bytes_per_pod = false;
};

void Say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

std::string Dependent(const Source& source, const std::string& prefix) {
  const json::ObjectMeta& meta = source.metadata;
  std::string body = R"({"apiVersion":"v1","data":{"text":)";
  json::AppendQuoted(body, prefix + source.spec.text);
  body += R"(},"kind":"ConfigMap","metadata":{"name":")" + meta.name + R"(","namespace":")" + meta.namespace_ +
          R"(","ownerReferences":[{"apiVersion":")" + kSources.ApiVersion() +
          R"(","controller":true,"kind":"Source","name":")" + meta.name + R"(","uid":")" + meta.uid + R"("}]}})";
  return body;
}

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  plan::Plan plan;
  const Source* source = world.Find<Source>(key);
  if (source == nullptr || source->metadata.deleting()) return plan;
  world.Find<ConfigMap>(key);  // a change of it is looked at
  plan.children.push_back({.resource = &kube::kConfigMaps,
                           .key = key,
                           .body = Dependent(*source, *world.Settings<std::string>()),
                           .reason = "it follows its Source",
                           .after = {}});
  return plan;
}

class Reference {
 public:
  Reference(const Flags& flags, kube::Config config)
      : flags_(flags),
        http_(loop_, {.server = config.server, .credentials = config.credentials}),
        probe_(http_, std::string(kSources.plural), flags.latency, [this](size_t writes) { Wrote(writes); }),
        client_(loop_, probe_, {.field_manager = "bench-reference"}),
        engine_(loop_, client_, {.field_manager = "bench-reference", .settings = &flags_.prefix}),
        group_(loop_) {
    plan::Stores& stores = engine_.stores();
    stores.Add<Source>({.everywhere = true});
    stores.Add<ConfigMap>({.everywhere = true});
    stores.Add<Pod>({.everywhere = true});
    stores.Add<Secret>({.everywhere = true});
    stores.Add<Node>({.everywhere = true});
    engine_.Add({.kind = "source", .resource = &kSources, .decide = &Decide, .children = {}});
  }

  [[noreturn]] void Run() {
    boost::asio::signal_set signals(loop_.context(), SIGTERM, SIGINT);
    signals.async_wait([this](const boost::system::error_code&, int) { loop_.Stop(); });
    group_.Spawn("engine", engine_.Run());
    group_.Spawn("announce", Announce());
    loop_.Run();
    for (const Duration latency : probe_.latencies()) {
      Say("latency " + std::to_string(std::chrono::duration<double, std::micro>(latency).count()));
    }
    std::quick_exit(0);
  }

 private:
  async::Task<void> Announce() {
    while (!engine_.Synced()) co_await async::Sleep(loop_, 1ms);
    Say("synced");
  }

  void Wrote(size_t writes) const {
    if (writes == flags_.expect) Say("wrote " + std::to_string(writes));
  }

  Flags flags_;
  async::RealLoop loop_;
  net::HttpClient http_;
  Probe probe_;
  kube::Client client_;
  plan::Engine engine_;
  async::TaskGroup group_;
};

// Bytes that malloc has given out.
size_t HeapInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Everything that a store of Pods with an index by node has on the heap, by malloc's own account, without connections
// and decoders.
async::Task<void> CountBytes(async::RealLoop& loop, kube::Client& client) {
  kube::Store<Pod> pods("pods");
  pods.AddIndex("node", [](const Pod& pod) { return std::vector{std::string(pod.spec.node_name.view())}; });
  kube::Feed& feed = pods.AddFeed("");
  feed.BeginList();
  size_t bytes = 0;
  kube::ListOptions options;
  uint64_t version = 0;
  do {
    auto text = co_await client.List(kube::kPods, options, loop.After(60s));
    if (!text) co_return Say("failed " + text.error().message());
    const size_t before = HeapInUse();
    const auto page = feed.TakePage(*text);
    bytes += HeapInUse() - before;
    if (!page) co_return Say("failed " + page.error().message());
    options.continue_token = page->continue_token;
    version = page->version;
  } while (!options.continue_token.empty());
  const size_t before = HeapInUse();
  feed.EndList(version, loop.Now());
  bytes += HeapInUse() - before;
  if (!pods.empty()) Say("bytes " + std::to_string(double(bytes) / double(pods.size())));
}

int RunCount(const kube::Config& config) {
  async::RealLoop loop;
  net::HttpClient http(loop, {.server = config.server, .credentials = config.credentials});
  kube::Client client(loop, http, {});
  async::TaskGroup group(loop);
  const auto count = [](async::RealLoop& on, kube::Client& from) -> async::Task<void> {
    co_await CountBytes(on, from);
    on.Stop();
  };
  group.Spawn("count", count(loop, client));
  loop.Run();
  std::quick_exit(0);
}

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  using namespace capstan;
  bench::Flags flags;
  CLI::App app("The reference program of the benchmarks");
  app.add_option("--prefix", flags.prefix, "What every dependent's text begins with");
  app.add_option("--expect", flags.expect, "Say so after this many writes");
  app.add_flag("--latency", flags.latency, "Measure from event to write");
  app.add_flag("--bytes-per-pod", flags.bytes_per_pod, "Only this");
  CLI11_PARSE(app, argc, argv);
  log::SetLevel(log::Level::kWarn);
  auto config = kube::LoadConfig();
  if (!config) {
    std::fprintf(stderr, "bench_reference: %s\n", config.error().message().c_str());
    return 1;
  }
  if (flags.bytes_per_pod) return bench::RunCount(*config);
  bench::Reference(flags, *std::move(config)).Run();
}
