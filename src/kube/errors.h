// From the API server's answers to capstan::Error.
//
// Most callers need the code and the message only. Who must know more asks what stands behind them:
//
//   if (const FailedCall* call = FailedCallOf(result.error()); call && call->reason == "NamespaceTerminating") ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/schema.h"
#include "net/http.h"

namespace capstan::kube {

// What kind of request met the error: a 5xx, or a lost connection, means "ask again" for a read and "nobody
// knows" for a write.
enum class Effect : uint8_t { kRead, kWrite };

// A call that failed, as the API server told of it.
struct FailedCall final : Error::Detail {
  // One thing that is wrong with what was sent.
  struct Cause {
    std::string reason;   // "FieldValueRequired", "DisruptionBudget"
    std::string field;    // "spec.replicas"; "" when it is about no field
    std::string message;  // "must be greater than or equal to 0"
    friend bool operator==(const Cause&, const Cause&) = default;
    static const json::Schema& Schema();
  };
  int status = 0;             // of HTTP; 0: there was no answer
  std::string reason;         // of the Status: "AlreadyExists", "Expired"; "" when the answer was none
  std::vector<Cause> causes;  // details.causes
  std::string request_id;     // under which our log and the server's audit log know it; "" when nothing was asked
};

// nullptr when `error` is not one of the functions below.
const FailedCall* FailedCallOf(const Error& error);

// An eviction that a disruption budget forbids now. (kThrottled alone is a server that is busy.)
bool IsBudgetsRefusal(const Error& error);

// The Error for an answer with a status of 400 or more, or with an unexpected one. Reads the Status object in
// the body (JSON or protobuf) when there is one: its reason decides the code before the HTTP status does, its message becomes
// ours with those details.causes added that the message does not say already; Retry-After or
// details.retryAfterSeconds becomes retry_after(), of five minutes at most: what stands between us and the server may
// ask for hours, and nobody would look at a watch for as long.
//
//   400, 405, 406, 413, 415, 422  kInvalid            404            kNotFound
//   401  kUnauthenticated         403  kForbidden     409            kAlreadyExists or kConflict, by reason
//   410, or reason Expired: kGone                     429            kThrottled
//   503  kUnavailable             other 5xx           kUnavailable for reads, kUnknownOutcome for writes
//   503 without a Status is not the API server's word but that of something between (a load balancer, or the
//   aggregator that lost an aggregated server's answer): kUnknownOutcome for writes
//   500 because an applied object has a field that this server does not know: kInvalid; nothing was stored
//   422 because metadata.uid is another one: kConflict, since the object is no longer the one that was meant
Error ErrorFromResponse(const net::Response& response, Effect effect, std::string_view request_id = {});

// The same for the object of a watch's ERROR event: a Status (JSON or protobuf), whose own code stands in for the HTTP
// status.
Error ErrorFromStatus(std::string_view status_text);

// The same for an Error of the Transport. A read whose answer was lost had no effect: kUnknownOutcome becomes
// kUnavailable.
Error ErrorFromTransport(Error error, Effect effect, std::string_view request_id = {});

}  // namespace capstan::kube
