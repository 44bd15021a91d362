#include "decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "json/testing/golden.h"
#include "plan/testing/world.h"
#include "website.h"

namespace website {
namespace {

using capstan::Code;
using capstan::plan::Plan;
using capstan::plan::testing::ActionNames;
using capstan::plan::testing::BodyOf;
using capstan::plan::testing::ChildNames;
using capstan::plan::testing::ConditionOf;
using capstan::plan::testing::TestWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WebsiteTest : public ::testing::Test {
 protected:
  WebsiteTest() {
    world.Add<Website>();
    world.Add<ConfigMap>();
    world.Add<Deployment>();
    world.Add<Service>();
    site.metadata = {.name = "main", .uid = "uid-site", .generation = 3};
    site.spec = {.html = "<h1>Hello</h1>", .replicas = 2, .port = 80, .footer_from = {}};
  }

  Plan Look() {
    world.Put(site);
    return world.Decide(&Decide, "main");
  }
  // The Deployment's controller has seen what is wanted, and so many pods are ready.
  void HaveServers(int32_t ready) {
    Deployment servers;
    servers.metadata = {.name = "main", .generation = 1};
    servers.status = {.observed_generation = 1, .ready_replicas = ready};
    world.Put(servers);
  }
  void HavePublished(const std::string& page) {
    ConfigMap map;
    map.metadata.name = "main";
    map.metadata.annotations["web.example.com/page"] = page;
    world.Put(map);
  }
  WebsiteStatus StatusOf(const Plan& plan) { return *capstan::json::Decode<WebsiteStatus>(*plan.status); }

  TestWorld world{"default"};
  Website site;
};

TEST_F(WebsiteTest, ChildrenArePinned) {
  const Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("ConfigMap main", "Deployment main", "Service main"));
  for (const auto& child : plan.children) {
    const std::string file = std::string(TESTDATA) + "/" + std::string(child.resource->kind) + ".json";
    capstan::json::testing::ExpectGolden(file, *capstan::json::Parse(child.body));
  }
}

TEST_F(WebsiteTest, NothingIsWantedOfWhatIsGone) {
  const Plan plan = world.Decide(&Decide, "main");
  EXPECT_THAT(plan.children, IsEmpty());
  EXPECT_FALSE(plan.status);
}

TEST_F(WebsiteTest, ZeroReplicasIsANumberAndAbsentIsOne) {
  site.spec.replicas = 0;
  EXPECT_THAT(BodyOf(Look(), "Deployment", "main"), HasSubstr("\"replicas\":0"));
  HaveServers(0);
  EXPECT_EQ(ConditionOf(Look(), "Ready"), "False NoReplicas: spec.replicas is 0: nobody shows the page");
  site.spec.replicas.reset();
  EXPECT_THAT(BodyOf(Look(), "Deployment", "main"), HasSubstr("\"replicas\":1"));
}

TEST_F(WebsiteTest, WithoutPortThereIsNoService) {
  site.spec.port.reset();
  const Plan plan = Look();
  EXPECT_THAT(ChildNames(plan), ElementsAre("ConfigMap main", "Deployment main"));
  EXPECT_TRUE(plan.children_complete) << "so that the one there was goes";
}

TEST_F(WebsiteTest, StatusFollowsTheServers) {
  EXPECT_EQ(ConditionOf(Look(), "Ready"), "False Creating: the servers are being created");
  HaveServers(1);
  EXPECT_EQ(ConditionOf(Look(), "Ready"), "False Starting: 1 of 2 servers are ready");
  HaveServers(2);
  const Plan plan = Look();
  EXPECT_EQ(ConditionOf(plan, "Ready"), "True Serving: 2 of 2 servers are ready");
  EXPECT_EQ(StatusOf(plan).ready_replicas, 2);
  EXPECT_EQ(StatusOf(plan).observed_generation, 3);
}

TEST_F(WebsiteTest, TellsOfEachPageOnce) {
  HavePublished("page-1");
  Plan plan = Look();
  EXPECT_THAT(ActionNames(plan), ElementsAre("publish page of Website default/main"));
  EXPECT_EQ(StatusOf(plan).page, "page-1");
  site.status = StatusOf(plan);
  EXPECT_THAT(ActionNames(Look()), IsEmpty());
}

TEST_F(WebsiteTest, FooterEndsThePage) {
  site.spec.footer_from = "legal";
  world.Answer("footer default/legal", std::make_shared<const std::string>("<p>Legal</p>"));
  EXPECT_THAT(BodyOf(Look(), "ConfigMap", "main"), HasSubstr("<h1>Hello</h1><p>Legal</p>"));
}

TEST_F(WebsiteTest, FooterThatCannotBeToldChangesNothing) {
  site.spec.footer_from = "legal";
  EXPECT_EQ(ConditionOf(Look(), "Ready"), "False FooterUnknown: the footer is being read");
  world.Failed("footer default/legal", "connection refused");
  EXPECT_THAT(ConditionOf(Look(), "Ready"), HasSubstr("FooterUnknown: the footer cannot be read: connection refused"));
  world.Absent("footer default/legal");
  const Plan plan = Look();
  EXPECT_THAT(ConditionOf(plan, "Ready"), HasSubstr("FooterMissing: ConfigMap legal, named in spec.footerFrom"));
  EXPECT_THAT(ChildNames(plan), ElementsAre("Deployment main", "Service main"));
  EXPECT_FALSE(plan.children_complete);
}

TEST_F(WebsiteTest, WhatFailedIsSaid) {
  HaveServers(2);
  world.failures.push_back({.verb = "apply",
                            .target = "ConfigMap default/main",
                            .code = Code::kAlreadyExists,
                            .message = "it belongs to somebody else",
                            .reason = "NameConflict"});
  EXPECT_EQ(ConditionOf(Look(), "Ready"),
            "False NameConflict: apply ConfigMap default/main: it belongs to somebody else");
}

}  // namespace
}  // namespace website
