#include "operator/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
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
  EXPECT_EQ(PlaceBelow({"s1"}), "default:root/:s1");
  EXPECT_EQ(PlaceBelow({"1", "1", "7"}), "default:root/:1/:1/1/:1/1/7");
  for (const std::string& place : {PlaceBelow({"s1", "l7"}), UnknownPlace()}) EXPECT_TRUE(IsInTree(place)) << place;
  for (const char* other :
       {"", "default", "default:root:s1", "default:rack1", "racks:root/:s1", "default:root/:s1,block:b1"})
    EXPECT_FALSE(IsInTree(other)) << other;
}

// The parts of a place that are switches with others below them, and the last one.
TEST(TopologyByLabels, NoSwitchWithOthersBelowItHasTheNameOfALeaf) {
  const std::vector<std::string> values = {"root", "unknown", "a", "a.b", "b"};
  std::set<std::string> inner, leaves = {"unknown"};
  const auto add = [&](const std::string& place) {
    const auto parts = Split(place, ':');
    for (size_t i = 1; i + 1 < parts.size(); ++i) inner.emplace(parts[i]);
    leaves.emplace(parts.back());
  };
  for (const std::string& one : values) {
    add(PlaceBelow({one}));
    for (const std::string& two : values) add(PlaceBelow({one, two}));
  }
  EXPECT_EQ(leaves.size(), values.size() + values.size() * values.size()) << "each place is a leaf of its own";
  for (const std::string& name : inner) EXPECT_FALSE(leaves.contains(name)) << name;
}

}  // namespace
}  // namespace capstan::op
