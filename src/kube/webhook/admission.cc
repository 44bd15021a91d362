#include "kube/webhook/admission.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/patch_diff.h"

namespace capstan::kube {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";

struct Status {
  std::string status, message, reason;
  int32_t code = 0;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Status>({
        json::Field<&Status::status>("status"),
        json::Field<&Status::message>("message"),
        json::Field<&Status::reason>("reason"),
        json::Field<&Status::code>("code"),
    });
    return schema;
  }
};

struct AdmissionResponse {
  std::string uid;
  bool allowed = false;
  Status status;
  std::string patch, patch_type;
  std::map<std::string, std::string> audit_annotations;
  std::vector<std::string> warnings;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<AdmissionResponse>({
        json::Field<&AdmissionResponse::uid>("uid"),
        json::Field<&AdmissionResponse::allowed>("allowed").Always(),
        json::Field<&AdmissionResponse::status>("status"),
        json::Field<&AdmissionResponse::patch>("patch"),
        json::Field<&AdmissionResponse::patch_type>("patchType"),
        json::Field<&AdmissionResponse::audit_annotations>("auditAnnotations"),
        json::Field<&AdmissionResponse::warnings>("warnings"),
    });
    return schema;
  }
};

struct AdmissionReview {
  std::string api_version, kind;
  std::optional<AdmissionRequest> request;
  std::optional<AdmissionResponse> response;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<AdmissionReview>({
        json::Field<&AdmissionReview::api_version>("apiVersion"),
        json::Field<&AdmissionReview::kind>("kind"),
        json::Field<&AdmissionReview::request>("request"),
        json::Field<&AdmissionReview::response>("response"),
    });
    return schema;
  }
};

void LogDenial(const std::string& webhook, const AdmissionRequest& request, const AdmissionAnswer& answer) {
  log::Info("admission denied", {{"webhook", webhook},
                                 {"operation", request.operation},
                                 {"resource", request.resource.resource},
                                 {"subresource", request.subresource},
                                 {"namespace", request.namespace_},
                                 {"name", request.name},
                                 {"user", request.user.username},
                                 {"dry_run", request.dry_run},
                                 {"review", request.uid},
                                 {"why", answer.message}});
}

std::string_view VerdictOf(const AdmissionAnswer& answer) {
  if (!answer.allowed) return "denied";
  return answer.patch.empty() ? "allowed" : "patched";
}

// One registered webhook.
class Webhook {
 public:
  Webhook(std::string name, AdmissionHandler handler, net::Metrics* metrics)
      : name_(std::move(name)), handler_(std::move(handler)), metrics_(metrics) {
    for (const char* const verdict : {"allowed", "patched", "denied", "failed", "malformed"}) Count(verdict, 0);
  }

  net::Response Serve(const net::Request& http) const {
    if (auto refusal = RefuseUnlessJsonPost(http)) return Count("malformed"), *std::move(refusal);
    const Result<AdmissionRequest> request = ReadAdmissionReview(http.body);
    if (!request) return Count("malformed"), net::Refusal(400, request.error().message());
    const Result<AdmissionAnswer> answer = handler_(*request);
    if (!answer) {
      Count("failed");
      log::Warn("admission could not judge",
                {{"webhook", name_}, {"review", request->uid}, {"error", answer.error().message()}});
      return net::Refusal(500, answer.error().message());
    }
    Count(VerdictOf(*answer));
    if (!answer->allowed) LogDenial(name_, *request, *answer);
    return net::TextResponse(WriteAdmissionReview(request->uid, *answer), "application/json");
  }

 private:
  void Count(std::string_view verdict, double amount = 1) const {
    if (!metrics_) return;
    metrics_
        ->AddCounter("capstan_admission_reviews_total", "Admission reviews, by what became of them.",
                     {{"webhook", name_}, {"verdict", std::string(verdict)}})
        .Add(amount);
  }

  std::string name_;
  AdmissionHandler handler_;
  net::Metrics* metrics_;
};

}  // namespace

const json::Schema& AdmissionKind::Schema() {
  static const json::Schema schema = json::Object<AdmissionKind>({
      json::Field<&AdmissionKind::group>("group"),
      json::Field<&AdmissionKind::version>("version"),
      json::Field<&AdmissionKind::kind>("kind"),
  });
  return schema;
}

const json::Schema& AdmissionResource::Schema() {
  static const json::Schema schema = json::Object<AdmissionResource>({
      json::Field<&AdmissionResource::group>("group"),
      json::Field<&AdmissionResource::version>("version"),
      json::Field<&AdmissionResource::resource>("resource"),
  });
  return schema;
}

const json::Schema& AdmissionUser::Schema() {
  static const json::Schema schema = json::Object<AdmissionUser>({
      json::Field<&AdmissionUser::username>("username"),
      json::Field<&AdmissionUser::uid>("uid"),
      json::Field<&AdmissionUser::groups>("groups"),
      json::Field<&AdmissionUser::extra>("extra"),
  });
  return schema;
}

const json::Schema& AdmissionRequest::Schema() {
  static const json::Schema schema = json::Object<AdmissionRequest>({
      json::Field<&AdmissionRequest::uid>("uid"),
      json::Field<&AdmissionRequest::kind>("kind"),
      json::Field<&AdmissionRequest::resource>("resource"),
      json::Field<&AdmissionRequest::subresource>("subResource"),
      json::Field<&AdmissionRequest::request_kind>("requestKind"),
      json::Field<&AdmissionRequest::request_resource>("requestResource"),
      json::Field<&AdmissionRequest::request_subresource>("requestSubResource"),
      json::Field<&AdmissionRequest::name>("name"),
      json::Field<&AdmissionRequest::namespace_>("namespace"),
      json::Field<&AdmissionRequest::operation>("operation"),
      json::Field<&AdmissionRequest::user>("userInfo"),
      json::Field<&AdmissionRequest::object>("object"),
      json::Field<&AdmissionRequest::old_object>("oldObject"),
      json::Field<&AdmissionRequest::options>("options"),
      json::Field<&AdmissionRequest::dry_run>("dryRun"),
  });
  return schema;
}

AdmissionAnswer Allow() { return {.allowed = true}; }

AdmissionAnswer Deny(std::string why, int code, std::string reason) {
  return {.allowed = false, .message = std::move(why), .code = code, .reason = std::move(reason)};
}

Result<AdmissionAnswer> AllowChanged(const AdmissionRequest& request, const std::function<void(json::Value&)>& change) {
  if (request.object.empty())
    return Fail(Code::kInvalid, "a review of " + request.operation + " has no object to change");
  CAPSTAN_TRY(const json::Value before, json::ParseObject(request.object, "the review's object"));
  json::Value after = before;
  change(after);
  AdmissionAnswer answer = Allow();
  answer.patch = json::JsonPatchBetween(before, after);
  return answer;
}

Result<AdmissionRequest> ReadAdmissionReview(std::string_view body) {
  CAPSTAN_TRY(AdmissionReview review, json::Decode<AdmissionReview>(body));
  if (review.api_version != kApiVersion || review.kind != kKind)
    return Fail(Code::kInvalid, "this is " + JsonQuoted(review.kind) + " of " + JsonQuoted(review.api_version) +
                                    ", must be AdmissionReview of admission.k8s.io/v1");
  if (!review.request) return Fail(Code::kInvalid, "the review has no request");
  if (review.request->uid.empty()) return Fail(Code::kInvalid, "request.uid is empty, must name the review");
  return *std::move(review.request);
}

std::string WriteAdmissionReview(std::string_view uid, const AdmissionAnswer& answer) {
  AdmissionResponse response{.uid = std::string(uid),
                             .allowed = answer.allowed,
                             .audit_annotations = answer.audit_annotations,
                             .warnings = answer.warnings};
  if (!answer.allowed) {
    response.status = {.status = "Failure", .message = answer.message, .reason = answer.reason, .code = answer.code};
  } else if (!answer.patch.empty()) {
    response.patch = Base64(answer.patch.text());
    response.patch_type = "JSONPatch";
  }
  return json::Encode(AdmissionReview{std::string(kApiVersion), std::string(kKind), {}, std::move(response)});
}

net::HttpServer::Handler ServeAdmission(std::string webhook, AdmissionHandler handler, net::Metrics* metrics) {
  return [served = Webhook(std::move(webhook), std::move(handler), metrics)](const net::Request& request) {
    return served.Serve(request);
  };
}

std::optional<net::Response> RefuseUnlessJsonPost(const net::Request& request) {
  if (request.method != "POST") return net::Refusal(405, "reviews are sent with POST");
  const std::string_view type = net::Find(request.headers, "Content-Type");
  if (!EqualsIgnoreCase(Trim(type.substr(0, type.find(';'))), "application/json"))
    return net::Refusal(415, "a review's Content-Type is application/json");
  return std::nullopt;
}

}  // namespace capstan::kube
