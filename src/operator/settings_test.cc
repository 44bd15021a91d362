#include "operator/settings.h"

#include <gtest/gtest.h>

namespace capstan::op {
namespace {

TEST(ClusterDomainOf, IsWhatFollowsSvcInTheSearchList) {
  EXPECT_EQ(ClusterDomainOf("nameserver 10.0.0.10\nsearch slinky.svc.k8s.example svc.k8s.example k8s.example corp\n"
                            "options ndots:5\n"),
            "k8s.example");
  EXPECT_EQ(ClusterDomainOf("search\tsvc.one. svc.two"), "one");
}

TEST(ClusterDomainOf, IsTheUsualOneOutsideOfACluster) {
  for (const char* text : {"", "search corp example.com\n", "# search svc.k8s.example\n", "search svc.\n",
                           "nameserver svc.k8s.example\n"}) {
    EXPECT_EQ(ClusterDomainOf(text), "cluster.local") << text;
  }
}

}  // namespace
}  // namespace capstan::op
