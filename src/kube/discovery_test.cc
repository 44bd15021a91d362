#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/run_virtual.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/thing.h"

namespace capstan::kube {
namespace {

using ::testing::HasSubstr;
using testing::StatusText;

constexpr std::string_view kThingGroup = R"({"kind":"APIGroup","name":"test.capstan","versions":[
    {"groupVersion":"test.capstan/v1","version":"v1"},{"groupVersion":"test.capstan/v2","version":"v2"}],
    "preferredVersion":{"groupVersion":"test.capstan/v2","version":"v2"}})";
constexpr std::string_view kThingResources = R"({"kind":"APIResourceList","resources":[
    {"name":"things/status","kind":"Thing","namespaced":true,"verbs":["get"]},
    {"name":"things","kind":"Thing","namespaced":true,"verbs":["get","list"]}]})";
constexpr std::string_view kOtherResources =
    R"({"kind":"APIResourceList","resources":[{"name":"others","kind":"Other","namespaced":false}]})";

class DiscoveryTest : public ::testing::Test {
 protected:
  Result<std::optional<ServedResource>> Find(std::string group, std::string kind) {
    return testing::RunVirtual(loop_, FindResource(client_, std::move(group), std::move(kind), loop_.After(60s)));
  }
  std::vector<std::string> Asked() const {
    std::vector<std::string> targets;
    for (const net::Request& request : wire_.requests) targets.push_back(request.target);
    return targets;
  }

  async::VirtualLoop loop_;
  testing::ScriptedTransport wire_{loop_};
  Client client_{loop_, wire_, {.tries = 1}};
};

TEST_F(DiscoveryTest, FindsAKindInTheVersionThatTheServerPrefers) {
  wire_.ThenAnswer(200, std::string(kThingGroup));
  wire_.ThenAnswer(200, std::string(kThingResources));
  const auto found = Find("test.capstan", "Thing");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, (ServedResource{"test.capstan", "v2", "things", "Thing", true}));
  EXPECT_EQ(CollectionPath((*found)->resource(), "ns"), "/apis/test.capstan/v2/namespaces/ns/things");
  EXPECT_THAT(Asked(), ::testing::ElementsAre("/apis/test.capstan", "/apis/test.capstan/v2"));
}

TEST_F(DiscoveryTest, FindsAKindThatOnlyAnotherVersionHas) {
  wire_.ThenAnswer(200, std::string(kThingGroup));
  wire_.ThenAnswer(200, std::string(kThingResources));
  wire_.ThenAnswer(200, std::string(kOtherResources));
  const auto found = Find("test.capstan", "Other");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, (ServedResource{"test.capstan", "v1", "others", "Other", false}));
}

TEST_F(DiscoveryTest, TheCoreGroupIsOneRequest) {
  wire_.ThenAnswer(200, std::string(kThingResources));
  const auto found = Find("", "Thing");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->resource().ApiVersion(), "v1");
  EXPECT_THAT(Asked(), ::testing::ElementsAre("/api/v1"));
}

TEST_F(DiscoveryTest, NotServedIsNeitherUnknownNorFailed) {
  wire_.ThenAnswer(404, StatusText(404, "NotFound", "not there"));
  EXPECT_EQ(Find("gone.example", "Thing"), Result<std::optional<ServedResource>>(std::nullopt));
  wire_.ThenAnswer(200, std::string(kThingGroup));
  wire_.ThenAnswer(200, std::string(kThingResources));
  wire_.ThenAnswer(404, StatusText(404, "NotFound", "not there"));  // has just gone
  EXPECT_EQ(Find("test.capstan", "Other"), Result<std::optional<ServedResource>>(std::nullopt));

  wire_.ThenAnswer(200, std::string(kThingGroup));
  wire_.ThenAnswer(503, StatusText(503, "ServiceUnavailable", "down"));
  const auto down = Find("test.capstan", "Thing");
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().code(), Code::kUnavailable);
}

TEST_F(DiscoveryTest, AnAnswerThatIsNoneIsNotTakenForAbsence) {
  wire_.ThenAnswer(200, R"({"kind":"Pod"})");
  const auto found = Find("test.capstan", "Thing");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::kInvalid);
  EXPECT_THAT(found.error().message(), HasSubstr("/apis/test.capstan: kind is \"Pod\", must be APIGroup"));
}

TEST_F(DiscoveryTest, AGroupCannotLeaveItsPlaceInThePath) {
  wire_.ThenAnswer(404, StatusText(404, "NotFound", "not there"));
  ASSERT_TRUE(Find("a/../../api?x", "Thing"));
  EXPECT_THAT(Asked(), ::testing::ElementsAre("/apis/a%2F..%2F..%2Fapi%3Fx"));
}

}  // namespace
}  // namespace capstan::kube
