// From the API server's answers to capstan::Error.
#pragma once

#include <string_view>

#include "base/error.h"
#include "net/http.h"

namespace capstan::kube {

// What kind of request met the error: a 5xx, or a lost connection, means "ask again" for a read and "nobody
// knows" for a write.
enum class Effect : uint8_t { kRead, kWrite };

// The Error for an answer with a status of 400 or more, or with an unexpected one. Reads the Status object in
// the body when there is one: its reason decides the code before the HTTP status does, its message becomes
// ours with those details.causes added that the message does not say already; Retry-After or
// details.retryAfterSeconds is kept.
//
//   400, 405, 406, 413, 415, 422  kInvalid            404            kNotFound
//   401  kUnauthenticated         403  kForbidden     409            kAlreadyExists or kConflict, by reason
//   410, or reason Expired: kGone                     429            kThrottled
//   503  kUnavailable             other 5xx           kUnavailable for reads, kUnknownOutcome for writes
//   422 because metadata.uid is another one: kConflict, since the object is no longer the one that was meant
Error ErrorFromResponse(const net::Response& response, Effect effect);

// The same for the object of a watch's ERROR event: a Status, whose own code stands in for the HTTP status.
Error ErrorFromStatus(std::string_view status_json);

// The same for an Error of the Transport. A read whose answer was lost had no effect: kUnknownOutcome becomes
// kUnavailable.
Error ErrorFromTransport(Error error, Effect effect);

}  // namespace capstan::kube
