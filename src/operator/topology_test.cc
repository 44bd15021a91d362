#include "operator/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/names.h"

namespace capstan::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Controller Asking(const std::string& labels) {
  api::Controller controller{.metadata = {.name = "main", .namespace_ = "slurm"}};
  if (!labels.empty()) controller.metadata.annotations[std::string(kAnnotationTopologyLabels)] = labels;
  return controller;
}

TEST(TopologyByLabels, TheControllerNamesLabelsFromRootToLeaf) {
  EXPECT_THAT(TopologyLabels(Asking("")).value(), IsEmpty());
  EXPECT_THAT(TopologyLabels(Asking(" , ")).value(), IsEmpty());
  EXPECT_THAT(TopologyLabels(Asking(" example.org/spine,leaf_2, ")).value(),
              ElementsAre("example.org/spine", "leaf_2"));
}

TEST(TopologyByLabels, WhatIsNoLabelAndTooManyAreRefused) {
  for (const std::string text :
       {"spine leaf", "a/b/c", "/leaf", "leaf-", "Example.org/leaf", "x/", "spine;leaf", "=s1"}) {
    EXPECT_THAT(TopologyLabels(Asking("ok," + text)).error().message(),
                HasSubstr("the annotation capstan.dev/topology has \"" + text + "\", which is no name of a label"))
        << text;
  }
  EXPECT_THAT(TopologyLabels(Asking("a,b,c,d,e,f")).error().message(), HasSubstr("names 6 labels, and at most 5"));
}

TEST(TopologyByLabels, ASwitchIsCalledByThoseAboveItToo) {
  EXPECT_EQ(PlaceBelow({}), "default:root:unknown");
  EXPECT_EQ(PlaceBelow({"s1"}), "default:root:s1");
  EXPECT_EQ(PlaceBelow({"1", "1", "7"}), "default:root:1:1.1:1.1.7");
  EXPECT_TRUE(IsPlaceByLabels(PlaceBelow({"s1", "l7"})));
  for (const char* other : {"", "default", "default:rack1", "racks:root:s1"}) EXPECT_FALSE(IsPlaceByLabels(other));
}

}  // namespace
}  // namespace capstan::op
