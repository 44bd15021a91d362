// Fields that nobody knows, in the words of a real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_test.h"
#include "operator/questions.h"
#include "plan/services.h"

namespace capstan::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UnknownFieldsOnServer : public kube::testing::ApiTest {
 protected:
  UnknownFields::Value Ask(const UnknownFields& question) {
    plan::Stores stores;
    plan::AppliedMemo memo;
    plan::SlurmClusters clusters{loop_, client(), nullptr, [](const std::string&, const std::vector<std::string>&) {},
                                 1};
    plan::Services services{loop_, client(), stores, memo, clusters, "capstan", nullptr, {}};
    const auto fetched = Run(question.Fetch(services, Soon()));
    EXPECT_TRUE(fetched && *fetched);
    return fetched && *fetched ? *static_cast<const UnknownFields::Value*>((*fetched)->value.get())
                               : UnknownFields::Value();
  }
};

// Applied, a StatefulSet with such a template was answered with a 500, for as long as the field stood there.
TEST_F(UnknownFieldsOnServer, AreNamedAndNothingIsMade) {
  const UnknownFields pod({ns_, "main"}, {"spec.template.spec", R"({"hostnam":"x","nodeSelector":{"a":"b"}})"},
                          {{"spec.slurmctld", R"({"image":"x","livenesProbe":{"exec":{}},"$patch":"merge"})"},
                           {"spec.logfile", R"({"resources":{"limit":{"cpu":"1"}}})"}});
  EXPECT_THAT(Ask(pod),
              ElementsAre("spec.slurmctld.livenesProbe", "spec.logfile.resources.limit", "spec.template.spec.hostnam"));
  const UnknownFields service({ns_, "main"}, {"spec.service.spec", R"({"type":"NodePort","sessionAfinity":"x"})"});
  EXPECT_THAT(Ask(service), ElementsAre("spec.service.spec.sessionAfinity"));
  EXPECT_EQ(Run(client().Get(kube::kPods, {ns_, "main"}, {}, Soon())).error().code(), Code::kNotFound);
}

TEST_F(UnknownFieldsOnServer, KnownOnesThatAreWrongOtherwiseAreNone) {
  EXPECT_THAT(Ask({{ns_, "main"}, {"spec.template.spec", R"({"restartPolicy":"Sometimes"})"}, {}}), IsEmpty());
  EXPECT_THAT(Ask({{ns_, "main"}, {"spec.template.spec", R"({"hostname":7})"}, {}}), IsEmpty());
}

}  // namespace
}  // namespace capstan::op
