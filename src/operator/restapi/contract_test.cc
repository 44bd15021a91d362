#include "operator/restapi/contract.h"

#include <gtest/gtest.h>

namespace capstan::op::restapi {
namespace {

const std::string kOwned =
    R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]},"spec":{"secret":"main-auth-slurm"}})";
const std::string kWithSigningKey =
    R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]},"spec":{"secret":"main-auth-jwt"}})";

// The RestApi slurm/main of the Controller slurm/main.
json::Value RestApi(const std::string& status = "{}") {
  return *json::Parse(R"({"kind":"RestApi","metadata":{"namespace":"slurm","name":"main","uid":"u"},)"
                      R"("spec":{"controllerRef":{"name":"main"}},"status":)" +
                      status + "}");
}

struct Case {
  const char* name;
  Call call;
  bool allowed;
};

class RestApiContract : public ::testing::TestWithParam<Case> {};

TEST_P(RestApiContract, HoldsForEveryCall) {
  const json::Value controller = *json::Parse(R"({"spec":{"jwtKeyRef":{"name":"main-auth-jwt"}}})");
  const auto find = [&](std::string_view kind, const kube::Key& key) {
    return kind == "Controller" && key == kube::Key{"slurm", "main"} ? &controller : nullptr;
  };
  const Broken breach = kContract.breach(RestApi(), GetParam().call, {.find = find});
  EXPECT_EQ(!breach.has_value(), GetParam().allowed) << breach.value_or("allowed");
}

INSTANTIATE_TEST_SUITE_P(
    All, RestApiContract,
    ::testing::Values(
        Case{"OwnStatus", {"apply", "RestApi", {"slurm", "main"}, "status", "{}"}, true},
        Case{"OwnSpec", {"apply", "RestApi", {"slurm", "main"}, "", "{}"}, false},
        Case{"AnothersStatus", {"apply", "RestApi", {"slurm", "other"}, "status", "{}"}, false},
        Case{"Deployment", {"apply", "Deployment", {"slurm", "main-restapi"}, "", kOwned}, true},
        Case{"Service", {"apply", "Service", {"slurm", "main-restapi"}, "", kOwned}, true},
        Case{"AnothersService", {"apply", "Service", {"slurm", "main-controller"}, "", kOwned}, false},
        Case{"OtherNamespace", {"apply", "Service", {"default", "main-restapi"}, "", kOwned}, false},
        Case{"WithoutOwner", {"apply", "Service", {"slurm", "main-restapi"}, "", "{}"}, false},
        Case{"SigningKey", {"apply", "Deployment", {"slurm", "main-restapi"}, "", kWithSigningKey}, false},
        Case{"Secret", {"create", "Secret", {"slurm", "main-restapi"}, "", kOwned}, false},
        Case{"TakenOver",
             {"patch",
              "Deployment",
              {"slurm", "main-restapi"},
              "",
              R"({"metadata":{"uid":"d","annotations":{"capstan.dev/taken-over":"x"}}})"},
             true},
        Case{"Patched", {"patch", "Deployment", {"slurm", "main-restapi"}, "", R"({"spec":{"replicas":0}})"}, false},
        Case{"Deletion", {"delete", "Deployment", {"slurm", "main-restapi"}, "", "{}"}, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(RestApiDone, MeansThatBothAreThereAndReadyIsSaid) {
  const json::Value ready = RestApi(R"({"conditions":[{"type":"Ready","status":"True"}]})");
  const json::Value child = *json::Parse(kOwned);
  const Around all{.find = [&](std::string_view, const kube::Key&) { return &child; }};
  EXPECT_EQ(kContract.unmatched(ready, all), std::nullopt);
  EXPECT_EQ(kContract.unmatched(ready, {}), "Service main-restapi is missing");
  EXPECT_EQ(kContract.unmatched(RestApi(), all), "it has no conditions");
}

}  // namespace
}  // namespace capstan::op::restapi
