// One answer of slurmrestd, and how it is read. Of RestClient alone (rest_client.cc, rest_jobs.cc, rest_usage.cc).
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "json/codec.h"
#include "slurm/rest_client.h"
#include "slurm/rest_wire.h"

namespace capstan::slurm {

inline constexpr size_t kLongestFault = 300;  // bytes of what is said about an answer

// Of a text that is no JSON.
inline bool IsNoSuchEndpoint(int status, std::string_view text) {
  return status == 404 && text.find("requested URL") != std::string_view::npos;
}

struct RestClient::Answer {
  int status = 0;
  bool json = false;
  std::string body;
  std::vector<wire::Problem> errors, warnings;  // of a JSON body

  // slurmrestd does not know the path, so perhaps not this version of its API either. A proxy's 404 has other words.
  bool NoSuchEndpoint() const { return !json && IsNoSuchEndpoint(status, body); }
  bool ok() const { return status >= 200 && status < 300 && errors.empty(); }
  Error ToError(bool write) const { return wire::ErrorOf(status, errors, json ? std::string_view() : body, write); }
};

// What json says of an answer may quote it.
inline Error Senseless(Code code, const Error& error) {
  return Error(code, "slurmrestd's answer makes no sense: " + OneLine(error.message(), kLongestFault));
}

template <class T>
Result<T> DecodeBounded(const std::string& body, const RestClient::Options& options) {
  T answer;
  json::Decoder decoder({.elements = options.max_answer_elements});
  CAPSTAN_CHECK_OK(decoder.DecodeInto(answer, body));
  return answer;
}

template <class T>
Result<T> DecodeAnswer(const std::string& body, const RestClient::Options& options) {
  Result<T> answer = DecodeBounded<T>(body, options);
  if (!answer) return Fail(Senseless(answer.error().code(), answer.error()));
  return answer;
}

// Whether a list of `count` records may have another.
inline Result<void> CheckRoom(size_t count, size_t most) {
  if (count < most) return {};
  return Fail(Code::kInvalid, "slurmrestd's list is too long: more than " + std::to_string(most) + " records");
}

template <class Record>
Result<void> DecodeElement(json::Decoder& decoder, Record& record, std::string_view element) {
  const auto decoded = decoder.DecodeInto(record, element);
  if (!decoded) return Fail(Senseless(Code::kInvalid, decoded.error()));
  return {};
}

}  // namespace capstan::slurm
