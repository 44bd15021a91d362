#include "kube/testing/scripted_transport.h"

#include <algorithm>

#include "async/timer.h"

namespace capstan::kube::testing {

void ScriptedStream::Say(std::string_view bytes) {
  unread_ += bytes;
  changed_.Set();
}

void ScriptedStream::End() {
  ended_ = true;
  changed_.Set();
}

void ScriptedStream::Break(Error error) {
  broken_ = std::move(error);
  changed_.Set();
}

class ScriptedBody final : public net::BodyStream {
 public:
  ScriptedBody(int status, std::shared_ptr<ScriptedStream> stream) : status_(status), stream_(std::move(stream)) {}
  ~ScriptedBody() override { stream_->closed_ = true; }

  int status() const override { return status_; }
  const net::Headers& headers() const override { return stream_->headers_; }

  async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline deadline) override {
    ScriptedStream& stream = *stream_;
    while (stream.unread_.empty()) {
      if (stream.broken_) co_return Fail(*stream.broken_);
      if (stream.ended_) co_return 0;
      stream.changed_.Reset();
      if (!co_await stream.changed_.Wait(deadline)) co_return Fail(Code::kDeadline, "nothing came in time");
    }
    const size_t bytes = std::min(buffer.size(), stream.unread_.size());
    stream.unread_.copy(buffer.data(), bytes);
    stream.unread_.erase(0, bytes);
    stream.largest_read_ = std::max(stream.largest_read_, bytes);
    co_return bytes;
  }

 private:
  int status_;
  std::shared_ptr<ScriptedStream> stream_;
};

void ScriptedTransport::ThenAnswer(int status, std::string body, Duration after, net::Headers headers) {
  replies_.push_back({after, net::Response{status, std::move(headers), std::move(body)}});
}

void ScriptedTransport::ThenFail(Error error, Duration after) { replies_.push_back({after, std::move(error)}); }

std::shared_ptr<ScriptedStream> ScriptedTransport::ThenStream(net::Headers headers) {
  auto stream = std::make_shared<ScriptedStream>(loop_, std::move(headers));
  replies_.push_back({Duration(0), stream});
  return stream;
}

async::Task<Result<ScriptedTransport::Reply>> ScriptedTransport::Next(net::Request request, async::Deadline deadline) {
  requests.push_back(std::move(request));
  if (replies_.empty()) co_return Fail(Code::kUnavailable, "connection refused");
  Reply reply = std::move(replies_.front());
  replies_.pop_front();
  if (deadline.Left(loop_.Now()) < reply.after) {
    async::Timer patience(loop_);
    co_await patience.WaitUntil(deadline.at());
    co_return Fail(Code::kUnknownOutcome, "the answer did not come in time");
  }
  if (reply.after > Duration(0)) co_await async::Sleep(loop_, reply.after);
  if (const auto* error = std::get_if<Error>(&reply.what)) co_return Fail(*error);
  co_return reply;
}

async::Task<Result<net::Response>> ScriptedTransport::Send(net::Request request, async::Deadline deadline) {
  Result<Reply> reply = co_await Next(std::move(request), deadline);
  if (!reply) co_return Fail(reply.error());
  if (auto* response = std::get_if<net::Response>(&reply->what)) co_return std::move(*response);
  co_return Fail(Code::kInternal, "the script has a stream where an answer was asked for");
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> ScriptedTransport::Open(net::Request request,
                                                                              async::Deadline deadline) {
  Result<Reply> reply = co_await Next(std::move(request), deadline);
  if (!reply) co_return Fail(reply.error());
  if (auto* stream = std::get_if<std::shared_ptr<ScriptedStream>>(&reply->what)) {
    co_return std::make_unique<ScriptedBody>(200, std::move(*stream));
  }
  auto& response = std::get<net::Response>(reply->what);
  auto stream = std::make_shared<ScriptedStream>(loop_, response.headers);
  stream->Say(response.body);
  stream->End();
  co_return std::make_unique<ScriptedBody>(response.status, std::move(stream));
}

}  // namespace capstan::kube::testing
