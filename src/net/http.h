// HTTP/1.1 as Capstan's clients see it: requests, responses, and the Transport that carries them.
//
// Transport is the seam of the whole program. In production it is a pool of TLS connections (client.h); in
// the simulator it is a modelled API server or slurmrestd. Everything above it runs the same code in both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"

namespace capstan::net {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value of the first header called `name` (case does not matter), or "" when there is none.
std::string_view Find(const Headers& headers, std::string_view name);

struct Request {
  std::string method = {};  // "GET", "POST", ...
  std::string target = {};  // path and query, already percent-encoded: "/api/v1/pods?limit=500"
  // Without User-Agent and credentials, which the transport adds. Host, Content-Length and Transfer-Encoding are its own:
  // a request that has one of them is kInvalid.
  Headers headers = {};
  std::string body = {};
  // May the transport send it again when a kept-alive connection turns out to be closed before any answer?
  // GETs and whatever else is harmless to repeat.
  bool repeatable = false;
  // Of Send: more of an answer's body is never held. The transport's own limit counts where it is lower.
  size_t max_answer_bytes = SIZE_MAX;
};

struct Response {
  int status = 0;
  Headers headers = {};
  std::string body = {};
};

// An answer whose body is read piece by piece, such as a watch. Destroying it closes the connection unless
// the body was read to its end.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;

  // Reads at least one byte into `buffer` and returns how many; 0 is the end of a complete body. kDeadline
  // when nothing came in time, kUnavailable when the connection broke. After an error the stream is of no
  // further use. REQUIRES: buffer is not empty; one read at a time.
  virtual async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline deadline) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // Sends and reads the whole answer. Any status is a Response. Errors: kUnavailable (no connection, nothing
  // sent), kUnknownOutcome (sent, answer lost), kDeadline (nothing sent yet), kInvalid (answer larger than
  // a limit, or not HTTP), kUnauthenticated (no credentials could be had), kCancelled.
  virtual async::Task<Result<Response>> Send(Request request, async::Deadline deadline) = 0;

  // Sends and returns once the header of the answer is there. Errors as above. The deadline bounds only this.
  virtual async::Task<Result<std::unique_ptr<BodyStream>>> Open(Request request, async::Deadline deadline) = 0;
};

}  // namespace capstan::net
