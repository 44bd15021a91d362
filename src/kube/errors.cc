#include "kube/errors.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "json/codec.h"
#include "json/protobuf.h"
#include "json/schema.h"
#include "kube/protobuf.h"

namespace capstan::kube {
namespace {

// metav1.Status, as far as it says what went wrong.
struct Status {
  struct Details {
    std::vector<FailedCall::Cause> causes;
    int64_t retry_after_seconds = 0;
    static const json::Schema& Schema();
  };
  std::string kind, reason, message;
  Details details;
  int code = 0;
  static const json::Schema& Schema();
};

const json::Schema& Status::Details::Schema() {
  static const json::Schema schema = json::Object<Details>({
      json::Field<&Details::causes>("causes").Number(4),
      json::Field<&Details::retry_after_seconds>("retryAfterSeconds").Number(5),
  });
  return schema;
}

const json::Schema& Status::Schema() {
  static const json::Schema schema = json::Object<Status>({
      json::Field<&Status::kind>("kind"),
      json::Field<&Status::reason>("reason").Number(4),
      json::Field<&Status::message>("message").Number(3),
      json::Field<&Status::details>("details").Number(5),
      json::Field<&Status::code>("code").Number(6),
  });
  return schema;
}

Result<Status> DecodeStatus(std::string_view text) {
  if (!IsProtobuf(text)) return json::Decode<Status>(text);
  CAPSTAN_TRY(const ProtobufObject object, OpenProtobuf(text));
  CAPSTAN_TRY(Status status, json::DecodeProtobuf<Status>(object.message));
  status.kind = object.kind;
  return status;
}

constexpr size_t kQuotedBytes = 200;  // of an answer that is not a Status, such as a load balancer's page

Code CodeFor(int status, std::string_view reason, Effect effect) {
  if (reason == "Expired" || reason == "Gone") return Code::kGone;
  if (reason == "AlreadyExists") return Code::kAlreadyExists;
  switch (status) {
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422:
      return Code::kInvalid;
    case 401:
      return Code::kUnauthenticated;
    case 403:
      return Code::kForbidden;
    case 404:
      return Code::kNotFound;
    case 409:
      return Code::kConflict;
    case 410:
      return Code::kGone;
    case 429:
      return Code::kThrottled;
    case 408:
    case 503:
      return Code::kUnavailable;
    default:
      break;
  }
  if (status >= 500) return effect == Effect::kRead ? Code::kUnavailable : Code::kUnknownOutcome;
  return Code::kInternal;
}

// The server's message mostly holds its causes already; those that it does not are added.
std::string MessageOf(const Status& status) {
  std::string message = status.message.empty() ? status.reason : status.message;
  for (const FailedCall::Cause& cause : status.details.causes) {
    if (cause.message.empty() || message.find(cause.message) != message.npos) continue;
    message += "; " + (cause.field.empty() ? "" : cause.field + ": ") + cause.message;
  }
  return message;
}

std::string MessageWithoutStatus(const net::Response& response) {
  std::string message = "HTTP status " + std::to_string(response.status);
  const std::string_view body = Trim(std::string_view(response.body).substr(0, kQuotedBytes));
  const bool text =
      !body.empty() && std::ranges::none_of(body, [](unsigned char c) { return c < ' ' && c != '\n' && c != '\t'; });
  return text ? message + ": " + std::string(body) : message;
}

// A patch that says which UID it is meant for, and meets a namesake: the server calls that an invalid change.
bool IsOtherUid(const Status& status) {
  return std::ranges::any_of(status.details.causes,
                             [](const FailedCall::Cause& cause) { return cause.field == "metadata.uid"; });
}

// An applied object that does not fit the server's schema (a field of a newer one): refused, but told as a failure.
bool IsSchemaMismatch(const Status& status) {
  return status.message.starts_with("failed to create typed patch object");
}

Code MeaningOf(const Status& status, int code, Effect effect) {
  if (code == 422 && IsOtherUid(status)) return Code::kConflict;
  if (code == 500 && IsSchemaMismatch(status)) return Code::kInvalid;
  return CodeFor(code, status.reason, effect);
}

constexpr std::chrono::seconds kLongestRetryAfter = 5min;

void SetRetryAfter(Error& error, int64_t seconds) {
  error.SetRetryAfter(std::chrono::seconds(std::min<int64_t>(seconds, kLongestRetryAfter.count())));
}

std::shared_ptr<FailedCall> DetailOf(int http_status, std::string_view request_id) {
  auto call = std::make_shared<FailedCall>();
  call->status = http_status;
  call->request_id = request_id;
  return call;
}

Error FromStatus(const Status& status, int code, Effect effect, std::string_view request_id) {
  Error error(MeaningOf(status, code, effect), MessageOf(status));
  if (status.details.retry_after_seconds > 0) SetRetryAfter(error, status.details.retry_after_seconds);
  const auto call = DetailOf(code, request_id);
  call->reason = status.reason;
  call->causes = status.details.causes;
  return error.SetDetail(call);
}

Error WithoutStatus(const net::Response& response, Effect effect, std::string_view request_id) {
  const bool forwarded = response.status == 503 && effect == Effect::kWrite;
  const Code code = forwarded ? Code::kUnknownOutcome : CodeFor(response.status, "", effect);
  Error error(code, MessageWithoutStatus(response));
  return error.SetDetail(DetailOf(response.status, request_id));
}

}  // namespace

const json::Schema& FailedCall::Cause::Schema() {
  static const json::Schema schema = json::Object<Cause>({
      json::Field<&Cause::reason>("reason").Number(1),
      json::Field<&Cause::message>("message").Number(2),
      json::Field<&Cause::field>("field").Number(3),
  });
  return schema;
}

const FailedCall* FailedCallOf(const Error& error) { return dynamic_cast<const FailedCall*>(error.detail()); }

bool IsBudgetsRefusal(const Error& error) {
  const FailedCall* call = FailedCallOf(error);
  return call != nullptr && call->status == 429 &&
         std::ranges::any_of(call->causes,
                             [](const FailedCall::Cause& cause) { return cause.reason == "DisruptionBudget"; });
}

Error ErrorFromResponse(const net::Response& response, Effect effect, std::string_view request_id) {
  const Result<Status> status = DecodeStatus(response.body);
  const bool is_status = status && status->kind == "Status" && !(status->message.empty() && status->reason.empty());
  Error error = is_status ? FromStatus(*status, response.status, effect, request_id)
                          : WithoutStatus(response, effect, request_id);
  if (const auto seconds = ParseInt(net::Find(response.headers, "Retry-After")); seconds && *seconds >= 0)
    SetRetryAfter(error, *seconds);
  return error;
}

Error ErrorFromStatus(std::string_view status_text) {
  const Result<Status> status = DecodeStatus(status_text);
  if (!status) return Error(Code::kInternal, "an ERROR event without a Status: " + status.error().message());
  return FromStatus(*status, status->code, Effect::kRead, {});
}

Error ErrorFromTransport(Error error, Effect effect, std::string_view request_id) {
  if (error.code() == Code::kUnknownOutcome && effect == Effect::kRead)
    error = Error(Code::kUnavailable, error.message());
  return error.SetDetail(DetailOf(0, request_id));
}

}  // namespace capstan::kube
