// Conversion webhooks: ConversionReview (apiextensions.k8s.io/v1) in, the objects in another version out.
//
//   Result<json::Value> Convert(json::Value object, std::string_view to) {
//     if (to == "example.com/v2") return Renamed(std::move(object), "spec", "size", "replicas");
//     ...
//   }
//   {"/convert", ServeConversion("things.example.com", Convert, &metrics)}
//
// A converter is a pure function of one object; it need not touch apiVersion, which is set for it. It runs on
// the server's thread. Order and uids are kept. When one object cannot be converted the whole review fails with
// its name, as the API server wants it: there are no half lists. What a conversion must not do (change kind,
// name, namespace, uid or any metadata but labels and annotations) is caught here and said.
//
// The API server sends all objects of a list in one review: give the server of a conversion webhook
// kConversionBodyBytes, and a thread of its own, so that a long list delays no admission.
// capstan_conversion_reviews_total{crd,verdict} counts (converted, failed, malformed).
//
// Numbers with a fraction keep 15 digits (json/value.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/types.h"
#include "json/value.h"
#include "net/metrics.h"
#include "net/server.h"

namespace capstan::kube {

// 10,000 objects of 6 KiB.
inline constexpr size_t kConversionBodyBytes = size_t{64} << 20;

struct ConversionRequest {
  std::string uid;
  std::string desired_api_version;  // "example.com/v2"
  std::vector<json::Raw> objects;   // of one custom resource, each in another version than the desired one
  static const json::Schema& Schema();
};

// `object` in the version `desired_api_version`. kInvalid and others: it cannot be; the sentence is shown to
// whoever asked for the object.
using Converter = std::function<Result<json::Value>(json::Value object, std::string_view desired_api_version)>;

// The review that `body` holds. kInvalid says what is wrong with it.
Result<ConversionRequest> ReadConversionReview(std::string_view body);

// All objects converted, in their order; or why that one, by name, cannot be.
Result<std::vector<json::Raw>> ConvertAll(const ConversionRequest& request, const Converter& convert);

// The review in which the API server reads the outcome.
std::string WriteConversionReview(std::string_view uid, const Result<std::vector<json::Raw>>& converted);

// Serves reviews at a path of an HttpServer. `crd` is the name of the custom resource definition. `metrics`
// may be null and outlives the handler.
net::HttpServer::Handler ServeConversion(std::string crd, Converter convert, net::Metrics* metrics);

}  // namespace capstan::kube
