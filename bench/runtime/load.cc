// Makes and changes the objects that the reference programs watch, over many connections.
//
//   bench_load fill --objects FOLDER [--pods N] [--secrets N] [--nodes N] [--sources N]
//   bench_load change --rate R --count N [--text T]    the Sources' texts in turn, R of them a second
//   bench_load touch --count N [--text T]              the status of Pods in turn, as fast as the API server takes it
//
// FOLDER holds one JSON text a kind, in which @ stands for the object's number; crd.json is created first. The API server
// is the one of $KUBECONFIG. Ends with 1 at the first refusal other than "exists already".
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/config/config.h"
#include "net/client.h"

namespace capstan::bench {
namespace {

using async::Task;
using kube::Key;

constexpr kube::Resource kSources{"bench.example.com", "v1", "sources", "Source", true};
constexpr size_t kWorkers = 24;
constexpr size_t kNamespaces = 20;

struct Flags {
  std::string objects;
  size_t pods = 0, secrets = 0, nodes = 0, sources = 0;
  size_t count = 0;
  double rate = 0;
  std::string text = "changed";
};

std::string Number(size_t i) {
  const std::string digits = std::to_string(i);
  return std::string(5 - std::min<size_t>(5, digits.size()), '0') + digits;
}

std::string Namespace(size_t i) { return "bench-" + std::to_string(i % kNamespaces); }

class Load {
 public:
  Load(Flags flags, const kube::Config& config)
      : flags_(std::move(flags)),
        http_(loop_, {.server = config.server,
                      .credentials = config.credentials,
                      .max_requests = kWorkers,
                      .max_idle = kWorkers}),
        client_(loop_, http_, {.field_manager = "bench-load"}),
        group_(loop_) {}

  int Run(std::function<Task<void>(Load&)> job) {
    const auto all = [](Load& load, std::function<Task<void>(Load&)> job) -> Task<void> {
      co_await job(load);
      load.loop_.Stop();
    };
    group_.Spawn("load", all(*this, std::move(job)));
    loop_.Run();
    std::fflush(stdout);
    std::quick_exit(failed_ ? 1 : 0);
  }

  Task<void> Fill() {
    co_await Make(kube::kCustomResourceDefinitions, {}, Template("crd"));
    co_await Each(kNamespaces, [](Load& load, size_t i) -> Task<void> {
      const std::string body =
          R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + Namespace(i) + R"("}})";
      co_await load.Make(kube::kNamespaces, {}, body);
    });
    co_await Each(flags_.nodes, [](Load& load, size_t i) -> Task<void> {
      co_await load.Make(kube::kNodes, {}, load.Numbered("node", i));
    });
    co_await Each(flags_.secrets, [](Load& load, size_t i) -> Task<void> {
      co_await load.Make(kube::kSecrets, {Namespace(i), {}}, load.Numbered("secret", i));
    });
    co_await Each(flags_.pods, [](Load& load, size_t i) -> Task<void> {
      co_await load.Make(kube::kPods, {Namespace(i), {}}, load.Numbered("pod", i), "kube-controller-manager");
      co_await load.Patch(kube::kPods, {Namespace(i), "pod-" + Number(i)}, load.Numbered("pod-status", i));
    });
    co_await Each(flags_.sources, [](Load& load, size_t i) -> Task<void> {
      co_await load.Make(kSources, {Namespace(i), {}}, load.Numbered("source", i));
    });
  }

  // Changes begin at their time, however long those before them take.
  Task<void> Change() {
    const Tick began = loop_.Now();
    const Duration gap = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / flags_.rate));
    async::TaskGroup changes(loop_);
    async::Timer timer(loop_);
    for (size_t i = 0; i < flags_.count && !failed_; ++i) {
      co_await timer.WaitUntil(began + i * gap);
      const std::string body = R"({"spec":{"text":")" + flags_.text + "-" + std::to_string(i) + R"("}})";
      const size_t source = flags_.sources > 0 ? i % flags_.sources : i;
      changes.Spawn("change", Patch(kSources, {Namespace(source), "source-" + Number(source)}, body));
    }
    co_await changes.Join();
  }

  Task<void> Touch() {
    co_await Each(flags_.count, [](Load& load, size_t i) -> Task<void> {
      const size_t pod = load.flags_.pods > 0 ? i % load.flags_.pods : i;
      const std::string body = R"({"status":{"message":")" + load.flags_.text + "-" + std::to_string(i) + R"("}})";
      co_await load.Patch(kube::kPods, {Namespace(pod), "pod-" + Number(pod)}, body);
    });
  }

 private:
  // `job` for every i below `count`, many at a time.
  Task<void> Each(size_t count, Task<void> (*job)(Load&, size_t)) {
    const auto work = [](Load& load, size_t& next, size_t count, Task<void> (*job)(Load&, size_t)) -> Task<void> {
      while (next < count && !load.failed_) co_await job(load, next++);
    };
    size_t next = 0;
    async::TaskGroup workers(loop_);
    for (size_t i = 0; i < kWorkers; ++i) workers.Spawn("worker", work(*this, next, count, job));
    co_await workers.Join();
  }

  const std::string& Template(const std::string& kind) {
    std::string& text = templates_[kind];
    if (text.empty()) {
      std::ifstream file(std::filesystem::path(flags_.objects) / (kind + ".json"));
      std::stringstream all;
      all << file.rdbuf();
      text = all.str();
    }
    return text;
  }

  std::string Numbered(const std::string& kind, size_t i) {
    const std::string& text = Template(kind);
    std::string numbered;
    for (const char c : text) c == '@' ? numbered += Number(i) : numbered += c;
    return numbered;
  }

  // A namespace or kind that was made a moment ago may not be known everywhere yet.
  Task<void> Make(kube::Resource resource, Key key, std::string body, std::string manager = "bench-load") {
    for (int tries = 0; tries < 50; ++tries) {
      const auto made = co_await client_.Create(resource, key, body, {.field_manager = manager}, loop_.After(30s));
      if (made || made.error().code() == Code::kAlreadyExists) co_return;
      if (made.error().code() != Code::kNotFound) co_return Refused(made.error());
      co_await async::Sleep(loop_, 200ms);
    }
    Refused(Error(Code::kNotFound, std::string(resource.plural) + " did not appear"));
  }

  Task<void> Patch(kube::Resource resource, Key key, std::string body) {
    kube::WriteOptions options;
    if (resource == kube::kPods) options = {.subresource = "status", .field_manager = "kubelet"};
    const auto patched =
        co_await client_.Patch(resource, key, kube::PatchType::kMerge, std::move(body), options, loop_.After(30s));
    if (!patched) Refused(patched.error());
  }

  void Refused(const Error& error) {
    if (!failed_) std::fprintf(stderr, "bench_load: %s\n", error.message().c_str());
    failed_ = true;
  }

  Flags flags_;
  async::RealLoop loop_;
  net::HttpClient http_;
  kube::Client client_;
  async::TaskGroup group_;
  std::map<std::string, std::string> templates_;
  bool failed_ = false;
};

}  // namespace
}  // namespace capstan::bench

int main(int argc, char** argv) {
  using namespace capstan;
  using bench::Load;
  bench::Flags flags;
  CLI::App app("Objects for the benchmarks");
  app.require_subcommand(1);
  CLI::App* fill = app.add_subcommand("fill", "Make them");
  fill->add_option("--objects", flags.objects, "The folder of their texts")->required();
  CLI::App* change = app.add_subcommand("change", "Change Sources");
  change->add_option("--rate", flags.rate, "A second")->required();
  CLI::App* touch = app.add_subcommand("touch", "Change the status of Pods");
  for (CLI::App* command : {change, touch}) {
    command->add_option("--count", flags.count, "How often")->required();
    command->add_option("--text", flags.text, "What the new texts begin with; another one each time");
  }
  for (CLI::App* command : {fill, touch}) command->add_option("--pods", flags.pods, "How many there are");
  for (CLI::App* command : {fill, change}) command->add_option("--sources", flags.sources, "How many there are");
  fill->add_option("--secrets", flags.secrets, "How many");
  fill->add_option("--nodes", flags.nodes, "How many");
  CLI11_PARSE(app, argc, argv);
  log::SetLevel(log::Level::kWarn);
  auto config = kube::LoadConfig();
  if (!config) {
    std::fprintf(stderr, "bench_load: %s\n", config.error().message().c_str());
    return 1;
  }
  Load load(flags, *config);
  const auto job = fill->parsed() ? &Load::Fill : change->parsed() ? &Load::Change : &Load::Touch;
  return load.Run(job);
}
