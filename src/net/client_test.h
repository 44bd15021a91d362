// What the tests of the client have in common: calls to one scripted server, in verbs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/client.h"
#include "net/testing/run.h"
#include "net/testing/scripted_server.h"

namespace capstan::net {

inline async::Task<void> SendInto(HttpClient& client, Request request, async::Deadline deadline,
                                  std::vector<Result<Response>>& out) {
  out.push_back(co_await client.Send(std::move(request), deadline));
}

class ClientTest : public ::testing::Test {
 protected:
  Result<Response> Send(HttpClient& client, Request request, Duration patience = 5s) {
    return testing::RunTask(loop_, client.Send(std::move(request), loop_.After(patience)));
  }
  Result<Response> Get(HttpClient& client, std::string target, Duration patience = 5s) {
    return Send(client, {.method = "GET", .target = std::move(target), .headers = {}, .body = "", .repeatable = true},
                patience);
  }
  Result<Response> Post(HttpClient& client, std::string target, Duration patience = 5s) {
    return Send(client,
                {.method = "POST", .target = std::move(target), .headers = {}, .body = "x", .repeatable = false},
                patience);
  }
  Result<std::unique_ptr<BodyStream>> Open(HttpClient& client, std::string target) {
    Request request{.method = "GET", .target = std::move(target), .headers = {}, .body = "", .repeatable = true};
    return testing::RunTask(loop_, client.Open(std::move(request), loop_.After(5s)));
  }
  Result<std::string> Read(BodyStream& stream, Duration patience = 5s, size_t size = 4096) {
    std::string buffer(size, '\0');
    const Result<size_t> got = testing::RunTask(loop_, stream.Read(buffer, loop_.After(patience)));
    if (!got) return Fail(got.error());
    return buffer.substr(0, *got);
  }
  std::string ReadAll(BodyStream& stream, size_t size = 4096) {
    std::string all;
    while (true) {
      const Result<std::string> piece = Read(stream, 5s, size);
      EXPECT_TRUE(piece) << piece.error().message();
      if (!piece || piece->empty()) return all;
      all += *piece;
    }
  }

  async::RealLoop loop_;
};

}  // namespace capstan::net
