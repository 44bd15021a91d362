#include "render/manifests.h"

#include <gtest/gtest.h>

namespace capstan::render {
namespace {

std::string Read(std::string_view text) {
  const auto objects = ReadManifests(text, "f.yaml");
  if (!objects) return objects.error().message();
  std::string all;
  for (const json::Value& object : *objects) all += json::SerializeCanonical(object) + "\n";
  return all;
}

TEST(Manifests, DocumentsListsAndJsonAreReadAsKubectlReadsThem) {
  EXPECT_EQ(
      Read("---\n# a comment\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n---\n"
           R"({"apiVersion":"v1","kind":"BList","items":[{"apiVersion":"v1","kind":"B","metadata":{"name":"b"}}]})"),
      R"({"apiVersion":"v1","kind":"A","metadata":{"name":"a"}})"
      "\n"
      R"({"apiVersion":"v1","kind":"B","metadata":{"name":"b"}})"
      "\n");
}

TEST(Manifests, WordsAreWhatTheyAreInYaml) {
  EXPECT_EQ(Read("apiVersion: v1\nkind: A\nmetadata: {name: a}\n"
                 "x: [1, '1', 0600, 1.5, yes, 'yes', null, ~, on, text, 26.05, \"\", 10.0.0.1]\n"),
            R"({"apiVersion":"v1","kind":"A","metadata":{"name":"a"},)"
            R"("x":[1,"1",384,1.5,true,"yes",null,null,true,"text",26.05,"","10.0.0.1"]})"
            "\n");
}

TEST(Manifests, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(Read("a: [1\n").substr(0, 27), "f.yaml, line 2 is not YAML:");
  EXPECT_EQ(Read("a: 1\n"), "f.yaml, document 1 is no object of Kubernetes: it needs apiVersion and kind");
  EXPECT_EQ(Read("{apiVersion: v1, kind: A}"), "f.yaml, document 1: the A has no metadata.name");
}

}  // namespace
}  // namespace capstan::render
