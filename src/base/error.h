// What went wrong, as a value: a code that callers tell apart and one sentence that a person reads.
//
// A Code says what the caller may do about the failure, not which library it came from. The message says what
// is wrong, where, and what would be right; each layer adds its own context once, in front:
// `WithContext("reading x")` makes "reading x: <what went wrong>". An Error never holds secret bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace capstan {

enum class Code : uint8_t {
  kInvalid,          // the input is wrong; the same call fails again (HTTP 400, 422, a parse error)
  kNotFound,         // looked, and it is not there (404)
  kAlreadyExists,    // create met an object of that name (409 AlreadyExists)
  kConflict,         // somebody else changed it since it was read; read and decide again (409 Conflict)
  kGone,             // a resourceVersion too old to watch or list from (410); list anew
  kForbidden,        // the identity is known and may not (403)
  kUnauthenticated,  // the identity was not accepted (401)
  kThrottled,        // the server asks for less; see retry_after (429)
  kUnavailable,      // no connection, or the server says it cannot now (5xx); the request had no effect or is
                     // safe to repeat
  kUnknownOutcome,   // sent, and the answer was lost: it may or may not have happened
  kDeadline,         // the caller's deadline passed before the request was sent
  kCancelled,        // the caller gave up
  kInternal,         // a broken invariant of ours, or an answer that makes no sense
};

// "NotFound", "Conflict", ...: for log fields, metrics and condition reasons.
std::string_view Name(Code code);

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // How long the server asked us to wait (Retry-After); absent when it said nothing.
  std::optional<Duration> retry_after() const { return retry_after_; }
  Error& SetRetryAfter(Duration wait) {
    retry_after_ = wait;
    return *this;
  }

  // What the layer that met the failure knows besides, for programs, in a type of its own; nullptr: nothing. Goes along
  // with copies and contexts.
  class Detail {
   public:
    virtual ~Detail() = default;
  };
  const Detail* detail() const { return detail_.get(); }
  Error& SetDetail(std::shared_ptr<const Detail> detail) {
    detail_ = std::move(detail);
    return *this;
  }

  Error WithContext(std::string_view context) &&;
  Error WithContext(std::string_view context) const&;

  // Details do not count: they may differ from one try to the next.
  friend bool operator==(const Error& a, const Error& b) {
    return a.code_ == b.code_ && a.message_ == b.message_ && a.retry_after_ == b.retry_after_;
  }

 private:
  Code code_;
  std::string message_;
  std::optional<Duration> retry_after_;
  std::shared_ptr<const Detail> detail_;
};

}  // namespace capstan
