#include "kube/access_reviews.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "async/task_group.h"
#include "kube/testing/scripted_transport.h"

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;

class AccessReviewsTest : public ::testing::Test {
 protected:
  // Asks, and lets a second pass.
  Result<void> Ask(const std::string& token) {
    std::optional<Result<void>> may;
    Begin(token, &may);
    loop.Advance(1s);
    return may ? *may : Fail(Code::kInternal, "no answer");
  }
  void Begin(const std::string& token, std::optional<Result<void>>* may) {
    const auto ask = [](AccessReviews& reviews, std::string bytes,
                        std::optional<Result<void>>* into) -> async::Task<void> {
      *into = co_await reviews.MayGet(Secret(std::move(bytes)), "/metrics");
    };
    group.Spawn("ask", ask(reviews, token, may));
  }
  void Authenticated() {
    wire.ThenAnswer(201, R"({"status":{"authenticated":true,"user":{"username":"prometheus","uid":"7","groups":["g"],)"
                         R"("extra":{"k":["v"]}}}})");
  }
  void Allowed(bool allowed) {
    wire.ThenAnswer(201, std::string(R"({"status":{"allowed":)") + (allowed ? "true" : "false") + "}}");
  }

  async::VirtualLoop loop;
  testing::ScriptedTransport wire{loop};
  Client client{loop, wire, {.tries = 1}};
  AccessReviews reviews{loop, client};
  async::TaskGroup group{loop};
};

TEST_F(AccessReviewsTest, TheApiServerSaysWhoItIsAndWhatTheyMay) {
  Authenticated();
  Allowed(true);
  EXPECT_TRUE(Ask("secret-token"));
  ASSERT_EQ(wire.requests.size(), 2u);
  EXPECT_THAT(wire.requests[0].target, HasSubstr("/apis/authentication.k8s.io/v1/tokenreviews"));
  EXPECT_THAT(wire.requests[0].body, HasSubstr(R"("token":"secret-token")"));
  EXPECT_THAT(wire.requests[1].target, HasSubstr("/apis/authorization.k8s.io/v1/subjectaccessreviews"));
  for (const char* part : {R"("user":"prometheus")", R"("uid":"7")", R"("groups":["g"])", R"("extra":{"k":["v"]})",
                           R"("nonResourceAttributes":{"path":"/metrics","verb":"get"})"}) {
    EXPECT_THAT(wire.requests[1].body, HasSubstr(part));
  }
}

TEST_F(AccessReviewsTest, WhoIsNotKnownOrMayNotIsToldSo) {
  wire.ThenAnswer(201, R"({"status":{"authenticated":false,"user":{}}})");
  EXPECT_EQ(Ask("forged").error().code(), Code::kUnauthenticated);
  Authenticated();
  Allowed(false);
  const auto may = Ask("another");
  EXPECT_EQ(may.error().code(), Code::kForbidden);
  EXPECT_THAT(may.error().message(), HasSubstr("prometheus may not get /metrics"));
}

// Our own want of a right is not that of whoever asks.
TEST_F(AccessReviewsTest, AServerThatCannotBeAskedLetsNobodyInAndIsAskedAgain) {
  wire.ThenAnswer(403, R"({"kind":"Status","reason":"Forbidden","message":"no right"})");
  EXPECT_EQ(Ask("t").error().code(), Code::kUnavailable);
  Authenticated();
  wire.ThenAnswer(500, R"({"kind":"Status","message":"broken"})");
  EXPECT_EQ(Ask("t").error().code(), Code::kUnavailable);
  Authenticated();
  Allowed(true);
  EXPECT_TRUE(Ask("t"));
}

TEST_F(AccessReviewsTest, AYesCountsForAMinuteAndANoForTenSeconds) {
  Authenticated();
  Allowed(true);
  EXPECT_TRUE(Ask("t"));
  loop.Advance(AccessReviews::kYesLasts - 5s);
  EXPECT_TRUE(Ask("t"));
  EXPECT_EQ(wire.requests.size(), 2u);
  loop.Advance(5s);
  Authenticated();
  Allowed(false);
  EXPECT_FALSE(Ask("t")) << "the right was taken away";
  EXPECT_EQ(wire.requests.size(), 4u);
  EXPECT_FALSE(Ask("t"));
  EXPECT_EQ(wire.requests.size(), 4u);
  loop.Advance(AccessReviews::kNoLasts);
  Authenticated();
  Allowed(true);
  EXPECT_TRUE(Ask("t"));
}

TEST_F(AccessReviewsTest, NoMoreThanAFewAreAskedForAtOnce) {
  std::vector<std::optional<Result<void>>> answers(AccessReviews::kMostAtOnce + 1);
  for (size_t i = 0; i < answers.size(); ++i) {
    wire.ThenAnswer(201, R"({"status":{"authenticated":false}})", 2s);
    Begin("token " + std::to_string(i), &answers[i]);
  }
  loop.Advance(1s);
  ASSERT_TRUE(answers.back());
  EXPECT_EQ(answers.back()->error().code(), Code::kThrottled);
  EXPECT_FALSE(answers.front()) << "still asked for";
  loop.Advance(2s);
  EXPECT_EQ(answers.front()->error().code(), Code::kUnauthenticated);
}

}  // namespace
}  // namespace capstan::kube
