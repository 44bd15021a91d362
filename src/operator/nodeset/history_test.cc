#include "operator/nodeset/history.h"

#include "operator/nodeset/decide_test.h"

namespace capstan::op::nodeset {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class HistoryTest : public NodeSetTest {
 protected:
  std::string Todays() { return "w-" + Revision(set).value(); }

  void Write(const std::string& extra_conf) { set.spec.extra_conf = extra_conf; }

  // As the server has it, under the name and the label of the template as it is now.
  void PutTodays(int64_t number) {
    ControllerRevision one;
    one.metadata = {
        .name = Todays(),
        .namespace_ = "slurm",
        .uid = "uid of " + Todays(),
        .owner_references = {{.kind = "NodeSet", .name = "w", .uid = std::string(kSetUid), .controller = true}}};
    one.metadata.labels[std::string(kLabelRevision)] = Revision(set).value();
    one.metadata.labels[std::string(kLabelInstance)] = "w";
    one.revision = number;
    Put(std::move(one));
  }

  std::vector<std::string> Kept(const std::string& verb) {
    std::vector<std::string> names;
    for (const plan::Action& action : history) {
      if (action.effect->verb() == verb)
        names.push_back(action.effect->target().substr(sizeof("ControllerRevision slurm")));
    }
    return names;
  }

  // What three templates were called, the last of which is today's; none is borne by a worker.
  std::vector<std::string> PutThree() {
    std::vector<std::string> names;
    for (const char* text : {"Weight=1", "Weight=2", "Weight=3"}) {
      Write(text);
      names.push_back(Todays());
      PutTodays(int64_t(names.size()));
    }
    return names;
  }
};

TEST_F(HistoryTest, WhatWorkersAreMadeFromIsWrittenDownOnce) {
  Write("Weight=1");
  Look(0);
  ASSERT_THAT(Kept("create"), ElementsAre(Todays()));
  PutTodays(1);
  Look(0);
  EXPECT_THAT(history, IsEmpty());
}

TEST_F(HistoryTest, WhatTheUserWroteIsInIt) {
  Write("Weight=1");
  set.spec.pod_template.spec.text = R"({"hostNetwork":true})";
  const auto object = json::Parse(RevisionObject(set, "rev", 7).value());
  EXPECT_EQ(*json::Find(*object, {"data"}),
            *json::Parse(R"({"spec":{"extraConf":"Weight=1","template":{"spec":{"hostNetwork":true}}}})"));
  EXPECT_EQ(*json::Find(*object, {"revision"}), json::Value(7));
  EXPECT_EQ(*json::Find(*object, {"metadata", "name"}), json::Value("w-rev"));
  EXPECT_EQ(*json::Find(*object, {"metadata", "labels", kLabelRevision}), json::Value("rev"));
}

TEST_F(HistoryTest, ThatOfAWorkerStaysWithoutAnyLimit) {
  Write("Weight=1");
  PutTodays(1);
  Worker_(0, {slurm::NodeFlag::kIdle});
  Write("Weight=2");
  PutTodays(2);
  Look(1);
  EXPECT_THAT(history, IsEmpty());
}

TEST_F(HistoryTest, TheOldestGoBeyondTheLimit) {
  const auto names = PutThree();
  set.spec.revision_history_limit = 1;
  Look(0);
  EXPECT_THAT(Kept("delete"), ElementsAre(names[0]));
  set.spec.revision_history_limit = 0;
  Look(0);
  EXPECT_THAT(Kept("delete"), ElementsAre(names[0], names[1]));
  set.spec.revision_history_limit = 2;
  Look(0);
  EXPECT_THAT(history, IsEmpty());
}

TEST_F(HistoryTest, AFormerTemplateThatIsWantedAgainIsTheLatest) {
  const auto names = PutThree();
  set.spec.revision_history_limit = 2;
  Write("Weight=1");
  Look(0);
  EXPECT_THAT(Kept("renumber"), ElementsAre(names[0]));
  PutTodays(4);
  Look(0);
  EXPECT_THAT(history, IsEmpty());
}

TEST_F(HistoryTest, ThoseThatLostTheirNodeSetAreFoundAgain) {
  const auto names = PutThree();
  for (const std::string& name : {names[0], names[2]}) {
    ControllerRevision one = *stores.Of<ControllerRevision>().Find({"slurm", name});
    one.metadata.owner_references.clear();
    Put(std::move(one));
  }
  set.spec.revision_history_limit = 2;
  Look(0);
  EXPECT_THAT(Kept("adopt"), UnorderedElementsAre(names[0], names[2]));
  EXPECT_EQ(history.size(), 2U) << "today's is not made a second time";
}

TEST_F(HistoryTest, OfANodeSetThatGoesNothingIsWritten) {
  set.metadata.deletion_timestamp = kNow;
  Look(0);
  EXPECT_THAT(history, IsEmpty()) << "Kubernetes collects what it owns";
}

}  // namespace
}  // namespace capstan::op::nodeset
