// Admission webhooks: AdmissionReview (admission.k8s.io/v1) in, an answer out.
//
//   AdmissionAnswer NameIsShort(const AdmissionRequest& request) {
//     return request.name.size() < 20 ? Allow() : Deny("the name must be shorter than 20 characters");
//   }
//   net::HttpServer::Start({.port = 9443, .max_connections = kAdmissionConnections,
//                           .max_body_bytes = kAdmissionBodyBytes, .identity = identity},
//                          {{"/validate-names", ServeAdmission("names.example.com", NameIsShort, &metrics)}});
//
// A handler is a pure function. It runs on the server's thread, so it reads only what is immutable or atomic
// and does not wait. It must give the same answer when it is asked again: the API server may call a mutating
// webhook twice for one request, the second time with the object as other webhooks left it.
//
// Three different ends: an answer that allows, an answer that denies (the user sees why), and an Error, which
// says that no judgement was possible. The Error is HTTP 500, upon which the webhook's failurePolicy decides.
// A denial leaves one log line with who wanted what; every review counts in
// capstan_admission_reviews_total{webhook,verdict} (allowed, patched, denied, failed, malformed). How long
// they take is in the server's capstan_http_request_duration_seconds{path}.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/merge.h"
#include "json/schema.h"
#include "net/metrics.h"
#include "net/server.h"

namespace capstan::kube {

// What the API server takes for object and oldObject (3 MiB each), and the rest of a review.
inline constexpr size_t kAdmissionBodyBytes = size_t{7} << 20;

// Over HTTP/1.1 an API server opens a connection for each call that is going on, and keeps up to 25 of them.
inline constexpr size_t kAdmissionConnections = 1024;

struct AdmissionKind {
  std::string group, version, kind;
  static const json::Schema& Schema();
};

struct AdmissionResource {
  std::string group, version, resource;
  static const json::Schema& Schema();
};

struct AdmissionUser {
  std::string username, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  static const json::Schema& Schema();
};

// Only what this API version defines; unknown members are skipped.
struct AdmissionRequest {
  std::string uid;  // of the review
  AdmissionKind kind;
  AdmissionResource resource;
  std::string subresource;  // "status", "scale", or ""
  // As the user asked, where the API server converted for us (matchPolicy: Equivalent).
  std::optional<AdmissionKind> request_kind;
  std::optional<AdmissionResource> request_resource;
  std::string request_subresource;
  std::string name;        // "" for a create with generateName
  std::string namespace_;  // "" for kinds without namespaces; of a Namespace: its own name
  std::string operation;   // "CREATE", "UPDATE", "DELETE", "CONNECT"
  AdmissionUser user;
  json::Raw object;      // absent for DELETE
  json::Raw old_object;  // for UPDATE and DELETE
  json::Raw options;     // CreateOptions, UpdateOptions, ...
  bool dry_run = false;  // nothing will be stored: have no effects

  static const json::Schema& Schema();
};

struct AdmissionAnswer {
  bool allowed = false;
  // When it is not allowed: what the user sees, and the HTTP status and reason it comes with.
  std::string message = {};
  int code = 403;
  std::string reason = "Forbidden";
  // Shown by kubectl though allowed. Short: the API server drops what is longer than 4096 characters in all.
  std::vector<std::string> warnings = {};
  // Kept in the audit log under "<webhook>/<key>".
  std::map<std::string, std::string> audit_annotations = {};
  json::JsonPatch patch = {};  // to be made to the object; mutating webhooks only
};

AdmissionAnswer Allow();
AdmissionAnswer Deny(std::string why, int code = 403, std::string reason = "Forbidden");
// Allows, with the smallest patch that makes the request's object what `change` makes of it. kInvalid: the
// request has no object.
Result<AdmissionAnswer> AllowChanged(const AdmissionRequest& request, const std::function<void(json::Value&)>& change);

using AdmissionHandler = std::function<Result<AdmissionAnswer>(const AdmissionRequest&)>;

// The review that `body` holds. kInvalid says what is wrong with it.
Result<AdmissionRequest> ReadAdmissionReview(std::string_view body);

// The review in which the API server reads `answer`.
std::string WriteAdmissionReview(std::string_view uid, const AdmissionAnswer& answer);

// Serves reviews at a path of an HttpServer. `webhook` is its name in the configuration. `metrics` may be
// null and outlives the handler.
net::HttpServer::Handler ServeAdmission(std::string webhook, AdmissionHandler handler, net::Metrics* metrics);

// For servers of reviews of any kind: nullopt when `request` is a POST with a body of JSON, else the refusal.
std::optional<net::Response> RefuseUnlessJsonPost(const net::Request& request);

}  // namespace capstan::kube
