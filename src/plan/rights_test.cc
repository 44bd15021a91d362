#include "plan/rights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/reconciler.h"

namespace capstan::plan {
namespace {

using ::testing::ElementsAre;

TEST(Rights, ThoseOfAReconcilerAreWhatTheEngineDoesForIt) {
  constexpr kube::Resource kShelves{"example.com", "v1", "shelves", "Shelf", true};
  const std::vector<Reconciler> reconcilers{{.kind = "shelf",
                                             .resource = &kShelves,
                                             .decide = nullptr,
                                             .children = {&kube::kConfigMaps},
                                             .uses = {{&kube::kSecrets, "get"}, {&kube::kNodes, "watch list get"}}}};
  const std::vector<Right> rights = RightsOf(reconcilers);
  EXPECT_THAT(
      RulesOf(rights, true),
      ElementsAre(RbacRule{"", {"configmaps"}, {"get", "list", "watch", "create", "patch", "delete"}},
                  RbacRule{"", {"secrets"}, {"get"}}, RbacRule{"events.k8s.io", {"events"}, {"create", "patch"}},
                  RbacRule{"example.com", {"shelves"}, {"get", "list", "watch"}},
                  RbacRule{"example.com", {"shelves/finalizers"}, {"update"}},
                  RbacRule{"example.com", {"shelves/status"}, {"patch"}}));
  EXPECT_THAT(RulesOf(rights, false), ElementsAre(RbacRule{"", {"nodes"}, {"get", "list", "watch"}}));
  EXPECT_TRUE(Grants(rights, kShelves, "status", "patch"));
  EXPECT_FALSE(Grants(rights, kShelves, "", "patch"));
}

TEST(Rights, OneRuleGrantsWhatSeveralKindsNeedAlike) {
  const std::vector<Right> rights{
      {&kube::kPods, "get"}, {&kube::kPods, "delete get"}, {&kube::kServices, "delete get"}};
  EXPECT_THAT(RulesOf(rights, true), ElementsAre(RbacRule{"", {"pods", "services"}, {"get", "delete"}}));
}

}  // namespace
}  // namespace capstan::plan
