#include "base/error.h"

namespace capstan {

std::string_view Name(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "Invalid";
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kConflict:
      return "Conflict";
    case Code::kGone:
      return "Gone";
    case Code::kForbidden:
      return "Forbidden";
    case Code::kUnauthenticated:
      return "Unauthenticated";
    case Code::kThrottled:
      return "Throttled";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kUnknownOutcome:
      return "UnknownOutcome";
    case Code::kDeadline:
      return "Deadline";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kInternal:
      return "Internal";
  }
  return "Internal";
}

Error Error::WithContext(std::string_view context) && {
  message_.insert(0, ": ");
  message_.insert(0, context);
  return std::move(*this);
}

Error Error::WithContext(std::string_view context) const& { return Error(*this).WithContext(context); }

}  // namespace capstan
