// A Controller "main" in namespace "slurm", for the tests of what is decided about it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/controller.h"
#include "api/restapi.h"
#include "operator/controller/contract.h"
#include "operator/controller/decide.h"
#include "operator/controller/questions.h"
#include "operator/objects.h"
#include "operator/testing/world.h"

namespace capstan::op::controller {

class ControllerTest : public ::testing::Test {
 protected:
  ControllerTest() {
    controller.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid-main", .generation = 3};
    controller.spec.slurm_key_ref = {.name = "main-auth-slurm", .key = "slurm.key"};
    controller.spec.jwt_key_ref = {.name = "main-auth-jwt", .key = "jwt.key"};
  }

  void HaveKeys() {
    world.Secret("main-auth-slurm", {"slurm.key"}, "slurm");
    world.Secret("main-auth-jwt", {"jwt.key"}, "jwt");
  }

  // The JWKS file, and what is wrong with it.
  void HaveJwks(const std::string& wrong) {
    world.Answer("jwks slurm/jwks keys.json", std::make_shared<const JwksFile::Value>(wrong));
  }

  plan::Plan Look() {
    world.Put(controller);
    plan::Plan plan = world.Decide(&Decide, "main");
    KeepsContract(plan);
    return plan;
  }

  // Whatever a test lets the Decide see, the Plan is within what a Controller may do.
  void KeepsContract(const plan::Plan& plan) {
    json::Value object = *json::Parse(json::Encode(controller));
    object.as_object()["kind"] = "Controller";
    for (const plan::Child& child : plan.children) {
      const Call call{"apply", std::string(child.resource->kind), child.key, "", child.body};
      EXPECT_EQ(kContract.breach(object, call, {}), std::nullopt);
    }
    for (const plan::Action& action : plan.actions) {
      const std::string target = action.effect->target();
      const size_t blank = target.find(' '), slash = target.find('/');
      const std::map<std::string_view, std::string> verbs = {{"create", "create"},
                                                             {"announce", "patch"},
                                                             {"activate", "patch"},
                                                             {"deactivate", "patch"},
                                                             {"delete", "delete"}};
      const Call call{verbs.at(action.effect->verb()),
                      target.substr(0, blank),
                      {target.substr(blank + 1, slash - blank - 1), target.substr(slash + 1)},
                      "",
                      R"({"preconditions":{"resourceVersion":"1"}})"};
      EXPECT_EQ(kContract.breach(object, call, {}), std::nullopt);
    }
  }

  // As if the children of `plan` had been applied: what the stores show of them then.
  void Applied(const plan::Plan& plan) {
    const auto config = json::Decode<ConfigMap>(test::BodyOf(plan, "ConfigMap", "main-config"));
    if (config) world.Put(*config);
    const auto set = json::Decode<StatefulSet>(test::BodyOf(plan, "StatefulSet", "main-controller"));
    if (set) world.Put(*set);
  }

  std::string PodAnnotation(const plan::Plan& plan, std::string_view key) {
    const auto set = json::Parse(test::BodyOf(plan, "StatefulSet", "main-controller"));
    return set ? std::string(json::FindText(*set, {"spec", "template", "metadata", "annotations", key}))
               : "no StatefulSet";
  }
  std::string SlurmConf(const plan::Plan& plan) {
    const auto config = json::Parse(test::BodyOf(plan, "ConfigMap", "main-config"));
    return config ? std::string(json::FindText(*config, {"data", "slurm.conf"})) : "";
  }

  api::RestApi MakeRestApi(std::string name, std::string created) {
    api::RestApi rest_api;
    rest_api.metadata = {.name = name, .uid = "uid-" + name, .creation_timestamp = ParseRfc3339(created)};
    rest_api.spec.controller_ref.name = "main";
    PutService(name + "-restapi", rest_api.metadata.uid);
    return rest_api;
  }
  // owner "": it has none.
  void PutService(
      const std::string& name, const std::string& owner,
      const std::function<void(Service::Spec&)>& change = [](Service::Spec&) {}) {
    Service service;
    service.metadata = {.name = name, .namespace_ = "slurm"};
    if (!owner.empty()) service.metadata.owner_references = {{.uid = owner, .controller = true}};
    service.spec.selector = {{"app.kubernetes.io/name", "slurmrestd"},
                             {"app.kubernetes.io/instance", name.substr(0, name.rfind('-'))}};
    change(service.spec);
    world.Put(service);
  }

  test::TestWorld world;
  api::Controller controller;
};

}  // namespace capstan::op::controller
