#include "kube/resource.h"

#include <gtest/gtest.h>

namespace capstan::kube {
namespace {

TEST(Resource, PathsAreThoseOfTheApiServer) {
  EXPECT_EQ(CollectionPath(kPods), "/api/v1/pods");
  EXPECT_EQ(CollectionPath(kPods, "a"), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(CollectionPath(kNodes, "ignored"), "/api/v1/nodes");
  EXPECT_EQ(CollectionPath(kLeases, "a"), "/apis/coordination.k8s.io/v1/namespaces/a/leases");
  EXPECT_EQ(ObjectPath(kPods, {"a", "b"}), "/api/v1/namespaces/a/pods/b");
  EXPECT_EQ(ObjectPath(kStatefulSets, {"a", "b"}, "scale"), "/apis/apps/v1/namespaces/a/statefulsets/b/scale");
  EXPECT_EQ(ObjectPath(kNodes, {"", "n"}), "/api/v1/nodes/n");
}

TEST(Resource, NamesCannotLeaveTheirPlaceInThePath) {
  EXPECT_EQ(ObjectPath(kPods, {"a/../b", "x?y#z"}), "/api/v1/namespaces/a%2F..%2Fb/pods/x%3Fy%23z");
}

TEST(Resource, ApiVersions) {
  EXPECT_EQ(kPods.ApiVersion(), "v1");
  EXPECT_EQ(kStatefulSets.ApiVersion(), "apps/v1");
}

TEST(Key, IsOrderedByNamespaceThenName) {
  EXPECT_LT((Key{"a", "z"}), (Key{"b", "a"}));
  EXPECT_LT((Key{"a", "a"}), (Key{"a", "b"}));
  EXPECT_EQ((Key{"a", "b"}).ToString(), "a/b");
  EXPECT_EQ((Key{"", "node-1"}).ToString(), "node-1");
}

TEST(Query, LeavesOutWhatIsEmptyAndEncodesTheRest) {
  Query query;
  query.Add("limit", 500).Add("continue", "").AddIf(false, "x", "y").Add("labelSelector", "a in (b,c),d=é");
  EXPECT_EQ(query.On("/p"), "/p?limit=500&labelSelector=a%20in%20%28b%2Cc%29%2Cd%3D%C3%A9");
  EXPECT_EQ(Query().On("/p"), "/p");
}

TEST(Resource, KnowsNamesThatObjectsCanHave) {
  for (const char* name : {"a", "w-0", "a.b-c.d", "0"}) EXPECT_TRUE(IsDnsSubdomain(name)) << name;
  for (const char* name :
       {"", ".", "..", "../x", "a/b", "A", "a_b", "-a", "a-", "a..b", "a.-b", "a%2f", "a b", "\xc3\xa9"})
    EXPECT_FALSE(IsDnsSubdomain(name)) << name;
  EXPECT_FALSE(IsDnsSubdomain(std::string(254, 'a')));
}

}  // namespace
}  // namespace capstan::kube
