#include "operator/controller/contract.h"

#include <gtest/gtest.h>

#include "api/controller.h"
#include "json/codec.h"

namespace capstan::op::controller {
namespace {

api::Controller Main() {
  api::Controller controller;
  controller.metadata = {.name = "main", .namespace_ = "slurm", .uid = "u"};
  controller.spec.slurm_key_ref = {.name = "slurm", .key = "slurm.key"};
  controller.spec.jwt_key_ref = {.name = "jwt", .key = "jwt.key"};
  return controller;
}

json::Value AsJson(const api::Controller& controller) {
  json::Value value = *json::Parse(json::Encode(controller));
  value.as_object()["kind"] = "Controller";
  return value;
}

const std::string kOwned =
    R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]},"data":{"slurm.conf":"ClusterName=x\n"}})";

struct Case {
  const char* name;
  Call call;
  bool allowed;
};

class ControllerContract : public ::testing::TestWithParam<Case> {};

TEST_P(ControllerContract, HoldsForEveryCall) {
  const Broken breach = kContract.breach(AsJson(Main()), GetParam().call, {});
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

INSTANTIATE_TEST_SUITE_P(
    All, ControllerContract,
    ::testing::Values(
        Case{"OwnStatefulSet", {"apply", "StatefulSet", {"slurm", "main-controller"}, "", kOwned}, true},
        Case{"OwnStatus", {"apply", "Controller", {"slurm", "main"}, "status", "{}"}, true},
        Case{"OwnSpec", {"apply", "Controller", {"slurm", "main"}, "", "{}"}, false},
        Case{"StatusOfAnother", {"apply", "Controller", {"slurm", "other"}, "status", "{}"}, false},
        Case{"OtherNamespace", {"apply", "StatefulSet", {"kube-system", "main-controller"}, "", kOwned}, false},
        Case{"OtherName", {"apply", "StatefulSet", {"slurm", "other-controller"}, "", kOwned}, false},
        Case{"WithoutOwner", {"apply", "Service", {"slurm", "main-controller"}, "", R"({"metadata":{}})"}, false},
        Case{"ConfigWithoutClusterName",
             {"apply",
              "ConfigMap",
              {"slurm", "main-config"},
              "",
              R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]},"data":{"slurm.conf":""}})"},
             false},
        Case{"UnaskedKey", {"create", "Secret", {"slurm", "slurm"}}, false},
        Case{"AppliedSecret", {"apply", "Secret", {"slurm", "slurm"}, "", kOwned}, false},
        Case{"Claim", {"delete", "PersistentVolumeClaim", {"slurm", "statesave-main-controller-0"}}, false},
        Case{"PodDeleted", {"delete", "Pod", {"slurm", "main-controller-0"}}, false},
        Case{"PodDeletedAsSeen",
             {"delete", "Pod", {"slurm", "main-controller-0"}, "", R"({"preconditions":{"resourceVersion":"1"}})"},
             true},
        Case{"PodLabelled", {"patch", "Pod", {"slurm", "main-controller-0"}}, true},
        Case{"WorkerLabelled", {"patch", "Pod", {"slurm", "main-worker-0"}}, false}),
    [](const auto& info) { return info.param.name; });

TEST(GeneratedKeys, AreMadeForWhoAsks) {
  api::Controller controller = Main();
  controller.metadata.annotations["capstan.dev/generate-keys"] = "jwt";
  const auto breach = [&](const char* secret) {
    return kContract.breach(AsJson(controller), {"create", "Secret", {"slurm", secret}}, {});
  };
  EXPECT_EQ(breach("jwt"), std::nullopt);
  EXPECT_NE(breach("slurm"), std::nullopt);
  EXPECT_NE(breach("other"), std::nullopt);
}

// A namespace in which everything is as it should be, from which a test takes something away.
class Done : public ::testing::Test {
 protected:
  Done() {
    for (const char* name :
         {"ConfigMap main-config", "Service main-controller", "Service main-controller-internal",
          "StatefulSet main-controller", "Service slurm-workers-main", "PodDisruptionBudget slurm-workers-pdb-main"}) {
      objects[name] = Owned("u");
    }
    objects["Secret slurm"] = *json::Parse(R"({"data":{"slurm.key":"eA=="}})");
    objects["Secret jwt"] = *json::Parse(R"({"data":{"jwt.key":"eA=="}})");
  }

  static json::Value Owned(const std::string& uid) {
    return *json::Parse(R"({"metadata":{"ownerReferences":[{"uid":")" + uid +
                        R"(","controller":true}]},"data":{"slurm.conf":"ClusterName=slurm_main\n"}})");
  }

  std::string Wrong() {
    api::Controller controller = Main();
    controller.status.conditions = {{.type = "Ready", .status = ready ? "True" : "False"}};
    const auto find = [this](std::string_view kind, const kube::Key& key) -> const json::Value* {
      const auto found = objects.find(std::string(kind) + " " + key.name);
      return found == objects.end() ? nullptr : &found->second;
    };
    return kContract.unmatched(AsJson(controller), {.find = find}).value_or("nothing");
  }

  std::map<std::string, json::Value> objects;
  bool ready = true;
};

TEST_F(Done, MeansEverythingIsThereAndReady) {
  EXPECT_EQ(Wrong(), "nothing");
  ready = false;
  EXPECT_EQ(Wrong(), "condition Ready is False: ");
}

TEST_F(Done, NeedsEveryObject) {
  const auto all = objects;
  for (const auto& [name, object] : all) {
    objects = all;
    objects.erase(name);
    EXPECT_NE(Wrong(), "nothing") << name;
    objects[name] = Owned("other");
    EXPECT_NE(Wrong(), "nothing") << name;
  }
}

}  // namespace
}  // namespace capstan::op::controller
