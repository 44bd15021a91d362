#include "operator/restapi/contract.h"

#include <gtest/gtest.h>

namespace capstan::op::restapi {
namespace {

const std::string kOwned =
    R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]},"spec":{"secret":"main-auth-slurm"}})";
const std::string kWithSigningKey =
    R"({"metadata":{"ownerReferences":[{"uid":"u","controller":true}]},"spec":{"secret":"main-auth-jwt"}})";

struct Case {
  const char* name;
  Call call;
  bool allowed;
};

class RestApiContract : public ::testing::TestWithParam<Case> {};

TEST_P(RestApiContract, HoldsForEveryCall) {
  api::RestApi rest_api;
  rest_api.metadata = {.name = "main", .namespace_ = "slurm", .uid = "u"};
  const auto breach = Breach(rest_api, "main-auth-jwt", GetParam().call);
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
  const std::string rest_api = R"({"metadata":{"namespace":"slurm","name":"main","uid":"u"},)"
                               R"("status":{"conditions":[{"type":"Ready","status":"True"}]}})";
  const Lookup all = [](std::string_view, const kube::Key&) { return kOwned; };
  EXPECT_EQ(Unmatched(rest_api, all), std::nullopt);
  const Lookup none = [](std::string_view, const kube::Key&) { return std::nullopt; };
  EXPECT_EQ(Unmatched(rest_api, none), "Service main-restapi is missing");
  const std::string silent = R"({"metadata":{"namespace":"slurm","name":"main","uid":"u"},"status":{}})";
  EXPECT_EQ(Unmatched(silent, all), "the RestApi has no conditions");
}

}  // namespace
}  // namespace capstan::op::restapi
