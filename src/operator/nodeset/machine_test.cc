// What the API server says of a machine, asked just before something is done for it.
#include "operator/nodeset/machine.h"

#include <gtest/gtest.h>

#include <optional>

#include "async/task_group.h"
#include "async/testing/into.h"
#include "kube/testing/fake_api_server.h"
#include "plan/services.h"

namespace capstan::op::nodeset {
namespace {

using plan::Proof;

struct MachineCase {
  const char* name;
  std::optional<std::string> node;  // nullopt: there is none
  Proof takes_work, is_gone;
};

class MachineGuards : public ::testing::Test {
 protected:
  Proof Prove(const std::shared_ptr<const plan::Guard>& guard) {
    Proof proof = Proof::kUnknown;
    async::TaskGroup group(loop);
    group.Spawn("prove", async::testing::Into(proof, guard->Prove(services, loop.After(30s))));
    loop.RunUntil([&] { return group.size() == 0; }, 2min);
    return proof;
  }
  void Put(const std::string& text) {
    const kube::Key key{"", "k1"};
    server.Put(kube::kNodes, R"({"metadata":{"name":"k1"}})");
    for (const char* part : {"spec", "status"}) {
      const json::Value wanted = *json::Parse(text);
      server.Edit(kube::kNodes, key, part == std::string("status") ? part : "", [&](json::Value& node) {
        if (const json::Value* value = json::Find(wanted, {part})) node.get_object()[part] = *value;
      });
    }
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  plan::Stores stores;
  plan::AppliedMemo memo;
  plan::SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  plan::Services services{loop, client, stores, memo, clusters, "capstan", nullptr};
};

class OfMachines : public MachineGuards, public ::testing::WithParamInterface<MachineCase> {};

TEST_P(OfMachines, SayWhatTheApiServerSaysNow) {
  if (GetParam().node) Put(*GetParam().node);
  EXPECT_EQ(Prove(MachineTakesWork("k1")), GetParam().takes_work);
  EXPECT_EQ(Prove(MachineIsGone("k1")), GetParam().is_gone);
  const bool is_off = GetParam().node && GetParam().is_gone == Proof::kYes;
  EXPECT_EQ(Prove(MachineIsOutOfService("k1")), is_off ? Proof::kYes : Proof::kNo);
}

const std::string kReady =
    R"("status":{"conditions":[{"type":"DiskPressure","status":"True"},{"type":"Ready","status":"True"}]})";

INSTANTIATE_TEST_SUITE_P(
    All, OfMachines,
    ::testing::Values(
        MachineCase{"InOrder", "{" + kReady + "}", Proof::kYes, Proof::kNo},
        MachineCase{"NotThere", std::nullopt, Proof::kNo, Proof::kYes},
        MachineCase{"Cordoned", R"({"spec":{"unschedulable":true},)" + kReady + "}", Proof::kNo, Proof::kNo},
        MachineCase{
            "OutOfService",
            R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]},)" + kReady + "}",
            Proof::kNo, Proof::kYes},
        MachineCase{"OtherTaint", R"({"spec":{"taints":[{"key":"mine","effect":"NoExecute"}]},)" + kReady + "}",
                    Proof::kYes, Proof::kNo},
        MachineCase{"Silent", R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})", Proof::kNo,
                    Proof::kNo},
        MachineCase{"SaysNothing", "{}", Proof::kNo, Proof::kNo}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(MachineGuards, AServerThatDoesNotAnswerProvesNothing) {
  Put("{" + kReady + "}");
  server.faults.refused = 100;
  EXPECT_EQ(Prove(MachineTakesWork("k1")), Proof::kUnknown);
  EXPECT_EQ(Prove(MachineIsGone("k1")), Proof::kUnknown);
}

}  // namespace
}  // namespace capstan::op::nodeset
