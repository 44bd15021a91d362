// What a scale-out costs the operator: the CPU time from the start of a process that finds a NodeSet without workers until
// it has asked for all of them. The API server is the modelled one, in virtual time and in this process, so that what it
// does counts as well; Slurm is not heard.
//
//   bench_scale_out WORKERS    prints milliseconds
#include <time.h>

#include <cstdio>
#include <string>

#include "api/controller.h"
#include "api/nodeset.h"
#include "async/task_group.h"
#include "base/log.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/testing/fake_api_server.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/settings.h"
#include "plan/engine.h"

namespace capstan {
namespace {

constexpr Duration kTimeout = 1h;  // virtual

double CpuMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

int Measure(int64_t workers) {
  async::VirtualLoop loop;
  kube::testing::FakeApiServer server(loop, 1);
  for (const op::Kind* kind : op::Kinds()) server.objects().Serve(*kind->resource);
  server.Put(api::Controller::kResource, R"({"metadata":{"namespace":"slurm","name":"main"},"spec":{
      "slurmKeyRef":{"name":"k","key":"k"},"jwtKeyRef":{"name":"j","key":"j"}}})");
  server.Put(api::NodeSet::kResource,
             R"({"metadata":{"namespace":"slurm","name":"w"},"spec":{"controllerRef":{"name":"main"},
      "slurmd":{"resources":{"limits":{"cpu":"4","memory":"8Gi"}}},"replicas":)" +
                 std::to_string(workers) + "}}");
  int64_t created = 0;
  server.on_write = [&created](const kube::testing::ApiWrite& write) {
    created += write.verb == "create" && write.resource == kube::kPods && write.status == 201;
  };
  const op::Settings settings;
  kube::Client client(loop, server, {.field_manager = std::string(op::kFieldManager)});
  plan::Engine engine(loop, client,
                      {.field_manager = std::string(op::kFieldManager),
                       .entropy = [](size_t bytes) { return Secret(std::string(bytes, 'x')); },
                       .settings = &settings});
  std::vector<plan::Reconciler> reconcilers = op::Reconcilers();
  std::erase_if(reconcilers, [](const plan::Reconciler& one) { return one.kind != "nodeset"; });
  op::AddKinds(engine, std::move(reconcilers));
  async::TaskGroup group(loop);
  const double before = CpuMs();
  group.Spawn("engine", engine.Run());
  const bool all = loop.RunUntil([&] { return created >= workers; }, kTimeout);
  std::printf("%.2f\n", CpuMs() - before);
  group.Spawn("stop", engine.Stop());
  loop.RunUntil([&] { return group.size() == 0; }, kTimeout);
  if (!all) std::fprintf(stderr, "only %lld of them were created\n", static_cast<long long>(created));
  return all ? 0 : 1;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const auto workers = argc == 2 ? capstan::ParseInt(argv[1]) : std::nullopt;
  if (!workers || *workers < 1) {
    std::fprintf(stderr, "usage: bench_scale_out WORKERS\n");
    return 2;
  }
  capstan::log::SetLevel(capstan::log::Level::kError);
  return capstan::Measure(*workers);
}
