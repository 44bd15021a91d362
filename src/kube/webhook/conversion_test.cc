#include "kube/webhook/conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;

// v1 has spec.size, v2 spec.replicas; negative ones are in no version.
Result<json::Value> Convert(json::Value object, std::string_view to) {
  auto& spec = json::MakeObject(object, {"spec"});
  const char* const from_name = to.ends_with("v2") ? "size" : "replicas";
  const char* const to_name = to.ends_with("v2") ? "replicas" : "size";
  if (const json::Value* size = spec.if_contains(from_name)) {
    if (size->is_int64() && size->get_int64() < 0) return Fail(Code::kInvalid, "spec.size is negative");
    const json::Value kept = *size;
    spec.erase(from_name);
    spec[to_name] = kept;
  }
  return object;
}

std::string Thing(std::string_view version, std::string_view name, std::string_view spec) {
  return R"({"apiVersion":"example.com/)" + std::string(version) + R"(","kind":"Thing","metadata":{"name":")" +
         std::string(name) + R"(","namespace":"ns","uid":"u-)" + std::string(name) + R"("},"spec":)" +
         std::string(spec) + "}";
}

std::string Review(std::string_view objects) {
  return R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"r1",)"
         R"("desiredAPIVersion":"example.com/v2","objects":[)" +
         std::string(objects) + "]}}";
}

json::Value Served(const Converter& convert, const std::string& body, net::Metrics* metrics = nullptr) {
  const net::Response response = ServeConversion("things.example.com", convert, metrics)(
      {.method = "POST", .target = "/c", .headers = {{"content-type", "application/json"}}, .body = body});
  EXPECT_EQ(response.status, 200) << response.body;
  return *json::Find(*json::Parse(response.body), {"response"});
}

TEST(Conversion, KeepsOrderAndUids) {
  const json::Value response =
      Served(Convert, Review(Thing("v1", "b", R"({"size":2})") + "," + Thing("v2", "x", R"({"replicas":7})") + "," +
                             Thing("v1", "a", R"({"size":1})")));
  EXPECT_EQ(json::Serialize(response), R"({"uid":"r1","convertedObjects":[)" + Thing("v2", "b", R"({"replicas":2})") +
                                           "," + Thing("v2", "x", R"({"replicas":7})") + "," +
                                           Thing("v2", "a", R"({"replicas":1})") +
                                           R"(],"result":{"status":"Success"}})");
}

TEST(Conversion, OneThatCannotBeConvertedFailsTheReviewByName) {
  const json::Value response =
      Served(Convert, Review(Thing("v1", "good", R"({"size":2})") + "," + Thing("v1", "bad", R"({"size":-2})")));
  EXPECT_EQ(json::Serialize(response), R"({"uid":"r1","convertedObjects":[],"result":{"status":"Failure",)"
                                       R"("message":"Thing \"ns/bad\": spec.size is negative"}})");
}

TEST(Conversion, CatchesConvertersThatGoTooFar) {
  const auto message = [](const Converter& convert) {
    const json::Value response = Served(convert, Review(Thing("v1", "a", "{}")));
    return std::string(json::FindText(response, {"result", "message"}));
  };
  const std::string caught = "Thing \"ns/a\": its conversion changed kind or metadata";
  EXPECT_THAT(message([](json::Value object, std::string_view) -> Result<json::Value> {
                json::MakeObject(object, {"metadata"})["uid"] = "other";
                return object;
              }),
              HasSubstr(caught));
  EXPECT_THAT(message([](json::Value object, std::string_view) -> Result<json::Value> {
                object.get_object()["kind"] = "Other";
                return object;
              }),
              HasSubstr(caught));
  EXPECT_THAT(message([](json::Value, std::string_view) -> Result<json::Value> { return json::Value("text"); }),
              HasSubstr(caught));
  EXPECT_EQ(message([](json::Value object, std::string_view) -> Result<json::Value> {
              json::MakeObject(object, {"metadata", "annotations"})["kept"] = "for v1";
              return object;
            }),
            "");
}

TEST(Conversion, RefusesWhatIsNoReview) {
  const auto why = [](const std::string& body) {
    const auto request = ReadConversionReview(body);
    return request ? "" : request.error().message();
  };
  EXPECT_THAT(why("["), HasSubstr("must be an object"));
  EXPECT_THAT(why("{}"), HasSubstr("must be ConversionReview of apiextensions.k8s.io/v1"));
  const std::string head = R"({"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1")";
  EXPECT_THAT(why(head + "}"), HasSubstr("has no request"));
  EXPECT_THAT(why(head + R"(,"request":{"desiredAPIVersion":"v1"}})"), HasSubstr("uid is empty"));
  EXPECT_THAT(why(head + R"(,"request":{"uid":"1"}})"), HasSubstr("desiredAPIVersion is empty"));
}

TEST(Conversion, Counts) {
  net::Metrics metrics;
  Served(Convert, Review(Thing("v1", "a", R"({"size":-2})")), &metrics);
  Served(Convert, Review(""), &metrics);
  const std::string text = metrics.Exposition();
  EXPECT_THAT(text, HasSubstr("capstan_conversion_reviews_total{crd=\"things.example.com\",verdict=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("verdict=\"converted\"} 1\n"));
}

}  // namespace
}  // namespace capstan::kube
