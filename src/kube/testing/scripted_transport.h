// A net::Transport whose other end is written down by the test, in virtual time.
//
//   ScriptedTransport wire(loop);
//   auto stream = wire.ThenStream();                        // the next request gets 200 and this stream
//   wire.ThenAnswer(410, StatusJson(410, "Gone", "too old"));     // the one after that, this answer
//   ... loop.Advance(1s) ...
//   EXPECT_EQ(wire.requests[0].target, "/api/v1/pods?...");
//   stream->Say("{...}\n");
//
// Requests are answered in order of arrival, whoever sends them. One for which nothing is written down finds
// no connection (kUnavailable); one with a source is kInvalid. Belongs to the loop's thread.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "net/http.h"

namespace capstan::kube::testing {

// The server's side of one open answer.
class ScriptedStream {
 public:
  ScriptedStream(async::Loop& loop, net::Headers headers) : headers_(std::move(headers)), changed_(loop) {}

  void Say(std::string_view bytes);
  void End();                              // in good order
  void Break(Error error);                 // cut
  bool closed() const { return closed_; }  // by the client
  size_t largest_read() const { return largest_read_; }

 private:
  friend class ScriptedBody;
  net::Headers headers_;
  async::Event changed_;
  std::string unread_;
  bool ended_ = false;
  bool closed_ = false;
  size_t largest_read_ = 0;
  std::optional<Error> broken_;
};

class ScriptedTransport final : public net::Transport {
 public:
  explicit ScriptedTransport(async::Loop& loop) : loop_(loop) {}

  void ThenAnswer(int status, std::string body, Duration after = Duration(0), net::Headers headers = {});
  void ThenFail(Error error, Duration after = Duration(0));
  std::shared_ptr<ScriptedStream> ThenStream(net::Headers headers = {});

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

  std::vector<net::Request> requests;  // all so far
  size_t unused() const { return replies_.size(); }

 private:
  struct Reply {
    Duration after{0};
    std::variant<net::Response, Error, std::shared_ptr<ScriptedStream>> what;
  };
  async::Task<Result<Reply>> Next(net::Request request, async::Deadline deadline);

  async::Loop& loop_;
  std::deque<Reply> replies_;
};

}  // namespace capstan::kube::testing
