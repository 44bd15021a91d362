#include "kube/webhook/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/random.h"
#include "json/codec.h"
#include "json/patch_diff.h"
#include "kube/testing/json_patch.h"
#include "net/client.h"
#include "net/testing/run.h"

namespace capstan::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As the API server writes one, a custom resource's update.
constexpr std::string_view kReview = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
  "uid":"705ab4f5-6393-11e8-b7cc-42010a800002",
  "kind":{"group":"autoscaling","version":"v1","kind":"Scale"},
  "resource":{"group":"apps","version":"v1","resource":"deployments"},"subResource":"scale",
  "requestKind":{"group":"autoscaling","version":"v1beta1","kind":"Scale"},"requestSubResource":"scale",
  "name":"web","namespace":"shop","operation":"UPDATE",
  "userInfo":{"username":"ann","uid":"7","groups":["ops","all"],"extra":{"why":["a","b"]}},
  "object":{"spec":{"replicas":3,"list":["a"]},"kind":"Scale"},"oldObject":{"spec":{"replicas":1}},
  "options":{"kind":"UpdateOptions"},"dryRun":true,"later":{"unknown":1}}})";

net::Request Post(std::string_view body) {
  return {.method = "POST",
          .target = "/x?timeout=10s",
          .headers = {{"Content-Type", "application/json"}},
          .body = std::string(body)};
}

json::Value ResponseOf(const net::Response& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  const auto review = json::Parse(response.body);
  EXPECT_EQ(json::FindText(*review, {"apiVersion"}), "admission.k8s.io/v1");
  EXPECT_EQ(json::FindText(*review, {"kind"}), "AdmissionReview");
  return *json::Find(*review, {"response"});
}

net::Response Served(AdmissionHandler handler, std::string_view body = kReview, net::Metrics* metrics = nullptr) {
  return ServeAdmission("test.example.com", std::move(handler), metrics)(Post(body));
}

TEST(Admission, ReadsWhatTheApiServerSends) {
  const auto request = ReadAdmissionReview(kReview);
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
  EXPECT_EQ(request->kind.kind, "Scale");
  EXPECT_EQ(request->resource.resource, "deployments");
  EXPECT_EQ(request->subresource, "scale");
  EXPECT_EQ(request->request_kind->version, "v1beta1");
  EXPECT_FALSE(request->request_resource);
  EXPECT_EQ(request->namespace_ + "/" + request->name, "shop/web");
  EXPECT_EQ(request->operation, "UPDATE");
  EXPECT_EQ(request->user.username, "ann");
  EXPECT_THAT(request->user.groups, ElementsAre("ops", "all"));
  EXPECT_THAT(request->user.extra.at("why"), ElementsAre("a", "b"));
  EXPECT_EQ(request->object.text, R"({"spec":{"replicas":3,"list":["a"]},"kind":"Scale"})");
  EXPECT_EQ(request->old_object.text, R"({"spec":{"replicas":1}})");
  EXPECT_TRUE(request->dry_run);
}

TEST(Admission, NullObjectsAreAbsent) {
  const auto request = ReadAdmissionReview(
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"DELETE",
          "object":null,"oldObject":{}}})");
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->object.empty());
  EXPECT_FALSE(request->old_object.empty());
  const auto changed = AllowChanged(*request, [](json::Value&) {});
  EXPECT_EQ(changed.error().message(), "a review of DELETE has no object to change");
}

TEST(Admission, AllowsWithWarningsAndAuditAnnotations) {
  const json::Value response = ResponseOf(Served([](const AdmissionRequest&) {
    AdmissionAnswer answer = Allow();
    answer.warnings = {"soon to be gone"};
    answer.audit_annotations = {{"seen", "yes"}};
    return answer;
  }));
  EXPECT_EQ(json::Serialize(response),
            R"({"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true,"auditAnnotations":{"seen":"yes"},)"
            R"("warnings":["soon to be gone"]})");
}

TEST(Admission, DeniesWithWhatTheUserSees) {
  const json::Value response =
      ResponseOf(Served([](const AdmissionRequest&) { return Deny("no \"luck\" today", 422, "Invalid"); }));
  EXPECT_EQ(json::Serialize(response),
            R"({"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":false,"status":{"status":"Failure",)"
            R"("message":"no \"luck\" today","reason":"Invalid","code":422}})");
}

TEST(Admission, AnswersWithTheSmallestPatch) {
  const json::Value response = ResponseOf(Served([](const AdmissionRequest& request) {
    return AllowChanged(request, [](json::Value& object) { json::MakeObject(object, {"spec"})["replicas"] = 5; });
  }));
  EXPECT_EQ(json::FindText(response, {"patchType"}), "JSONPatch");
  EXPECT_EQ(FromBase64(json::FindText(response, {"patch"})), R"([{"op":"replace","path":"/spec/replicas","value":5}])");
}

TEST(Admission, AChangeOfNothingIsNoPatch) {
  const json::Value response =
      ResponseOf(Served([](const AdmissionRequest& request) { return AllowChanged(request, [](json::Value&) {}); }));
  EXPECT_EQ(json::Find(response, {"patch"}), nullptr);
  EXPECT_EQ(json::Find(response, {"patchType"}), nullptr);
}

TEST(Admission, WhatCannotBeJudgedIsLeftToTheFailurePolicy) {
  const net::Response response = Served([](const AdmissionRequest&) -> Result<AdmissionAnswer> {
    return Fail(Code::kUnavailable, "the configuration is not there yet");
  });
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body, "the configuration is not there yet\n");
}

TEST(Admission, RefusesWhatIsNoReview) {
  const AdmissionHandler allow = [](const AdmissionRequest&) { return Allow(); };
  const auto refused = [&](std::string_view body, std::string_view why) {
    const net::Response response = Served(allow, body);
    EXPECT_EQ(response.status, 400);
    EXPECT_THAT(response.body, HasSubstr(std::string(why)));
  };
  refused("", "JSON");
  refused(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"1"}})",
          R"(this is "AdmissionReview" of "admission.k8s.io/v1beta1", must be)");
  refused(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})", "the review has no request");
  refused(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"name":"x"}})", "uid is empty");
  refused(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":1}})", "request.uid is 1");

  net::Request request = Post(kReview);
  request.method = "GET";
  EXPECT_EQ(ServeAdmission("x", allow, nullptr)(request).status, 405);
  request = Post(kReview);
  request.headers[0].second = "application/json; charset=utf-8";
  EXPECT_EQ(ServeAdmission("x", allow, nullptr)(request).status, 200);
  request.headers[0].second = "application/yaml";
  EXPECT_EQ(ServeAdmission("x", allow, nullptr)(request).status, 415);
}

TEST(Admission, CountsVerdicts) {
  net::Metrics metrics;
  Served([](const AdmissionRequest&) { return Allow(); }, kReview, &metrics);
  Served([](const AdmissionRequest&) { return Deny("no"); }, kReview, &metrics);
  Served([](const AdmissionRequest&) { return Deny("no"); }, "{}", &metrics);
  const std::string text = metrics.Exposition();
  const std::string name = "capstan_admission_reviews_total{webhook=\"test.example.com\",verdict=";
  EXPECT_THAT(text, HasSubstr(name + "\"allowed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(name + "\"denied\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(name + "\"malformed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(name + "\"failed\"} 0\n"));
}

TEST(Admission, TakesReviewsAsLargeAsTheApiServerSends) {
  const auto answer = [](const AdmissionRequest& request) -> Result<AdmissionAnswer> {
    AdmissionAnswer sizes = Allow();
    sizes.warnings = {std::to_string(request.object.text.size()), std::to_string(request.old_object.text.size())};
    return sizes;
  };
  const auto server = *net::HttpServer::Start({.address = "127.0.0.1", .max_body_bytes = kAdmissionBodyBytes},
                                              {{"/x", ServeAdmission("test.example.com", answer, nullptr)}});
  async::RealLoop loop;
  net::HttpClient client(loop, {.server = {net::Endpoint::Scheme::kHttp, "127.0.0.1", server->port(), ""}});
  const auto ask = [&](size_t size) {
    const std::string object = R"({"data":")" + std::string(size - 11, 'x') + "\"}";
    return *net::testing::RunTask(
        loop, client.Send(Post(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1",)"
                               R"("object":)" +
                               object + R"(,"oldObject":)" + object + "}}"),
                          loop.After(20s)));
  };
  EXPECT_THAT(ask(3 << 20).body, HasSubstr(R"("warnings":["3145728","3145728"])"));
  EXPECT_EQ(ask(4 << 20).status, 413);
}

// --- The patches that answers carry, run as the API server runs them ------------------------------------------------

json::Value RandomTree(Random& random, int depth) {
  const uint64_t what = random.Below(depth == 0 ? 4 : 6);
  if (what == 4) {
    boost::json::array list(random.Below(5));
    for (json::Value& element : list) element = RandomTree(random, depth - 1);
    return list;
  }
  if (what == 5) {
    boost::json::object object;
    for (uint64_t n = random.Below(5); n > 0; --n)
      object["k~/" + std::to_string(random.Below(4))] = RandomTree(random, depth - 1);
    return object;
  }
  if (what == 0) return nullptr;
  if (what == 1) return random.Percent(50);
  return int64_t(random.Below(3));
}

// Something else in one place.
void Disturb(Random& random, json::Value& tree) {
  if (tree.is_object() && !tree.get_object().empty() && random.Percent(80)) {
    auto& object = tree.get_object();
    return Disturb(random, (object.begin() + ptrdiff_t(random.Below(object.size())))->value());
  }
  if (tree.is_array() && !tree.get_array().empty() && random.Percent(80)) {
    auto& list = tree.get_array();
    const auto at = ptrdiff_t(random.Below(list.size()));
    if (random.Percent(30)) return void(list.erase(list.begin() + at));
    if (random.Percent(30)) return void(list.insert(list.begin() + at, RandomTree(random, 1)));
    return Disturb(random, list[size_t(at)]);
  }
  tree = RandomTree(random, 2);
}

TEST(Admission, PatchesMakeOneObjectTheOther) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    boost::json::object object;
    object["root"] = RandomTree(random, 4);
    const json::Value from = object;
    json::Value to = from;
    for (uint64_t n = random.Below(4); n > 0; --n) Disturb(random, to.get_object()["root"]);
    const std::string patch = json::JsonPatchBetween(from, to).text();
    const auto patched = testing::ApplyJsonPatch(from, *json::Parse(patch));
    ASSERT_TRUE(patched) << patched.error().message() << "\n" << json::Serialize(from) << "\n" << patch;
    ASSERT_EQ(*patched, to) << "round " << i << "\n" << json::Serialize(from) << "\n" << patch;
    ASSERT_EQ(patch == "[]", from == to);
  }
}

}  // namespace
}  // namespace capstan::kube
