#include "kube/webhook/conversion.h"

#include <optional>

#include "base/log.h"
#include "base/text.h"
#include "json/codec.h"
#include "kube/webhook/admission.h"

namespace capstan::kube {
namespace {

constexpr std::string_view kApiVersion = "apiextensions.k8s.io/v1";
constexpr std::string_view kKind = "ConversionReview";

struct ReviewResult {
  std::string status, message;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ReviewResult>({
        json::Field<&ReviewResult::status>("status"),
        json::Field<&ReviewResult::message>("message"),
    });
    return schema;
  }
};

struct ConversionResponse {
  std::string uid;
  std::vector<json::Raw> converted_objects;
  ReviewResult result;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ConversionResponse>({
        json::Field<&ConversionResponse::uid>("uid"),
        json::Field<&ConversionResponse::converted_objects>("convertedObjects").Always(),
        json::Field<&ConversionResponse::result>("result"),
    });
    return schema;
  }
};

struct ConversionReview {
  std::string api_version, kind;
  std::optional<ConversionRequest> request;
  std::optional<ConversionResponse> response;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ConversionReview>({
        json::Field<&ConversionReview::api_version>("apiVersion"),
        json::Field<&ConversionReview::kind>("kind"),
        json::Field<&ConversionReview::request>("request"),
        json::Field<&ConversionReview::response>("response"),
    });
    return schema;
  }
};

// `Thing "ns/name"`, or what number it has in the review when it has no name.
std::string TitleOf(const json::Value& object, size_t index) {
  const std::string_view kind = json::FindText(object, {"kind"}), name = json::FindText(object, {"metadata", "name"}),
                         ns = json::FindText(object, {"metadata", "namespace"});
  if (name.empty()) return "objects[" + std::to_string(index) + "]";
  return std::string(kind) + " \"" + (ns.empty() ? "" : std::string(ns) + "/") + std::string(name) + "\"";
}

// Metadata without what a conversion may change.
json::Value FixedMetadata(const json::Value& object) {
  const json::Value* const metadata = json::Find(object, {"metadata"});
  if (!metadata || !metadata->is_object()) return nullptr;
  boost::json::object fixed = metadata->get_object();
  fixed.erase("labels");
  fixed.erase("annotations");
  return fixed;
}

Result<json::Value> ConvertOne(const json::Raw& raw, const Converter& convert, const std::string& desired,
                               size_t index) {
  auto parsed = json::ParseObject(raw, "objects[" + std::to_string(index) + "]");
  if (!parsed) return Fail(parsed.error());
  if (json::FindText(*parsed, {"apiVersion"}) == desired) return parsed;
  const std::string title = TitleOf(*parsed, index);
  const std::string kind(json::FindText(*parsed, {"kind"}));
  const json::Value metadata = FixedMetadata(*parsed);
  auto converted = convert(*std::move(parsed), desired);
  if (!converted) return Fail(converted.error().WithContext(title));
  const bool kept =
      converted->is_object() && json::FindText(*converted, {"kind"}) == kind && FixedMetadata(*converted) == metadata;
  if (!kept)
    return Fail(Code::kInternal,
                title + ": its conversion changed kind or metadata; only labels and annotations may change");
  converted->get_object()["apiVersion"] = desired;
  return converted;
}

}  // namespace

const json::Schema& ConversionRequest::Schema() {
  static const json::Schema schema = json::Object<ConversionRequest>({
      json::Field<&ConversionRequest::uid>("uid"),
      json::Field<&ConversionRequest::desired_api_version>("desiredAPIVersion"),
      json::Field<&ConversionRequest::objects>("objects"),
  });
  return schema;
}

Result<ConversionRequest> ReadConversionReview(std::string_view body) {
  CAPSTAN_TRY(ConversionReview review, json::Decode<ConversionReview>(body));
  if (review.api_version != kApiVersion || review.kind != kKind)
    return Fail(Code::kInvalid, "this is " + JsonQuoted(review.kind) + " of " + JsonQuoted(review.api_version) +
                                    ", must be ConversionReview of apiextensions.k8s.io/v1");
  if (!review.request) return Fail(Code::kInvalid, "the review has no request");
  if (review.request->uid.empty()) return Fail(Code::kInvalid, "request.uid is empty, must name the review");
  if (review.request->desired_api_version.empty())
    return Fail(Code::kInvalid, "request.desiredAPIVersion is empty, must be the version to convert to");
  return *std::move(review.request);
}

Result<std::vector<json::Raw>> ConvertAll(const ConversionRequest& request, const Converter& convert) {
  std::vector<json::Raw> all;
  all.reserve(request.objects.size());
  for (const json::Raw& raw : request.objects) {
    CAPSTAN_TRY(const json::Value converted, ConvertOne(raw, convert, request.desired_api_version, all.size()));
    all.push_back({json::Serialize(converted)});
  }
  return all;
}

std::string WriteConversionReview(std::string_view uid, const Result<std::vector<json::Raw>>& converted) {
  ConversionResponse response{.uid = std::string(uid)};
  if (converted) {
    response.converted_objects = *converted;
    response.result.status = "Success";
  } else {
    response.result = {"Failure", converted.error().message()};
  }
  return json::Encode(ConversionReview{std::string(kApiVersion), std::string(kKind), {}, std::move(response)});
}

net::HttpServer::Handler ServeConversion(std::string crd, Converter convert, net::Metrics* metrics) {
  const auto count = [crd, metrics](const char* verdict) {
    if (!metrics) return;
    metrics
        ->AddCounter("capstan_conversion_reviews_total", "Conversion reviews, by what became of them.",
                     {{"crd", crd}, {"verdict", verdict}})
        .Add();
  };
  return [=](const net::Request& http) -> net::Response {
    if (auto refusal = RefuseUnlessJsonPost(http)) return count("malformed"), *std::move(refusal);
    const Result<ConversionRequest> request = ReadConversionReview(http.body);
    if (!request) return count("malformed"), net::Refusal(400, request.error().message());
    const auto converted = ConvertAll(*request, convert);
    count(converted ? "converted" : "failed");
    if (!converted)
      log::Warn("conversion failed", {{"crd", crd},
                                      {"to", request->desired_api_version},
                                      {"review", request->uid},
                                      {"error", converted.error().message()}});
    return net::TextResponse(WriteConversionReview(request->uid, converted), "application/json");
  };
}

}  // namespace capstan::kube
