#include "render/diff.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace capstan::render {
namespace {

json::Value Parsed(std::string_view text) {
  auto value = json::Parse(text);
  EXPECT_TRUE(value) << text;
  return value.value_or(nullptr);
}

std::string Text(const json::Value& value) { return json::SerializeCanonical(value); }

TEST(UnifiedDiff, SaysNothingOfEqualTexts) { EXPECT_EQ(UnifiedDiff("a\nb\n", "a\nb\n", "x", "y"), ""); }

TEST(UnifiedDiff, ShowsThreeLinesAround) {
  EXPECT_EQ(UnifiedDiff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "x", "y"),
            "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, AChangeFarAwayIsAHunkOfItsOwn) {
  std::string before, after;
  for (int i = 1; i <= 20; ++i) {
    before += std::to_string(i) + "\n";
    after += i == 2 ? "two\n" : i == 18 ? "" : std::to_string(i) + "\n";
  }
  EXPECT_EQ(
      UnifiedDiff(before, after, "x", "y"),
      "--- x\n+++ y\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n@@ -15,6 +15,5 @@\n 15\n 16\n 17\n-18\n 19\n 20\n");
}

TEST(UnifiedDiff, WhatIsNewIsAllAdded) {
  EXPECT_EQ(UnifiedDiff("", "a\nb\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n");
}

TEST(OwnedPart, IsWhatTheManagerApplied) {
  const json::Value live =
      Parsed(R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"n","uid":"u",
    "labels":{"ours":"1","theirs":"2"},"managedFields":[
      {"manager":"kubectl","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:theirs":{}}}}},
      {"manager":"capstan-operator","operation":"Apply","fieldsV1":{
        "f:metadata":{"f:labels":{"f:ours":{}}},
        "f:spec":{"f:selector":{},"f:ports":{"k:{\"port\":1,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:name":{}}}}}}]},
    "spec":{"clusterIP":"10.0.0.1","selector":{"a":"b"},"ports":[{"port":1,"protocol":"TCP","name":"p","targetPort":1},
      {"port":2,"protocol":"TCP"}]}})");
  EXPECT_EQ(Text(OwnedPart(live, {}, "capstan-operator")),
            R"({"apiVersion":"v1","kind":"Service","metadata":{"labels":{"ours":"1"},"name":"s","namespace":"n"},)"
            R"("spec":{"ports":[{"name":"p","port":1}],"selector":{"a":"b"}}})");
}

// A claim's template is owned as a whole, with what the server has put into it.
TEST(OwnedPart, DefaultsInWhatIsOwnedAsAWholeAreLeftOut) {
  const json::Value live = Parsed(R"({"metadata":{"name":"s","managedFields":[{"manager":"m","operation":"Apply",
    "fieldsV1":{"f:spec":{"f:templates":{},"f:selector":{}}}}]},
    "spec":{"selector":{"a":"1","b":"2"},"templates":[{"kind":"Claim","size":1,"status":{}}]}})");
  const json::Value wanted = Parsed(R"({"spec":{"selector":{"a":"1"},"templates":[{"size":2}]}})");
  EXPECT_EQ(Text(*json::Find(OwnedPart(live, wanted, "m"), {"spec"})),
            R"({"selector":{"a":"1","b":"2"},"templates":[{"size":1}]})");
}

TEST(OwnedPart, OfWhatNobodyAppliedIsWhatIsWanted) {
  const json::Value live = Parsed(R"({"metadata":{"name":"p","uid":"u"},"spec":{"dnsPolicy":"ClusterFirst",
    "containers":[{"name":"b","image":"x"},{"name":"a","image":"y","tty":false}]}})");
  const json::Value wanted = Parsed(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"z"}]}})");
  EXPECT_EQ(Text(OwnedPart(live, wanted, "capstan-operator")),
            R"({"metadata":{"name":"p"},"spec":{"containers":[{"image":"y","name":"a"}]}})");
}

TEST(Coloured, ColoursWholeLinesAndAlterNoWord) {
  EXPECT_EQ(Coloured("--- a\n+++ b\n@@ -1 +1 @@\n same\n-old\n+new\n"),
            "\x1b[31m--- a\x1b[0m\n\x1b[32m+++ b\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n same\n\x1b[31m-old\x1b[0m\n"
            "\x1b[32m+new\x1b[0m\n");
  EXPECT_EQ(Coloured(""), "");
}

}  // namespace
}  // namespace capstan::render
