#include "operator/reasons.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "operator/kind.h"
#include "plan/ledger.h"
#include "source_dir.h"

namespace capstan::op {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GeneratedFiles, ReferenceIsThatOfTheTablesAndTheReasons) {
  EXPECT_EQ(ReadFile(testing::SourceDir() + "/docs/reference.md"), ReferencePage())
      << "run: capstan crds --reference > docs/reference.md";
}

TEST(Reasons, AreWordsThatTheServerTakesAndSentences) {
  std::set<std::string_view> words;
  for (const Reason& reason : kReasons) {
    EXPECT_TRUE(words.insert(reason.word).second) << reason.word;
    EXPECT_TRUE(std::ranges::all_of(reason.word, [](unsigned char c) { return std::isalpha(c) != 0; })) << reason.word;
    EXPECT_TRUE(reason.meaning.ends_with('.')) << reason.word;
  }
}

// "ControllerMissing" of a RestApi was "ControllerNotFound" of a NodeSet, and nobody could have said which words there are.
TEST(Reasons, EachIsGivenSomewhere) {
  std::string sources;
  for (const std::string folder : {"/src/operator", "/src/plan"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(testing::SourceDir() + folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".cc") && !name.ends_with(".h")) continue;
      if (!name.ends_with("_test.cc") && name != "reasons.h") sources += ReadFile(entry.path());
    }
  }
  for (const Reason& reason : kReasons) {
    EXPECT_NE(sources.find('"' + std::string(reason.word) + '"'), std::string::npos) << reason.word;
  }
}

TEST(Reasons, ThoseOfFailedActionsAreAmongThem) {
  Error contested(Code::kConflict, "another program keeps undoing it");
  contested.SetRetryAfter(1s);
  for (const Error& error : {contested, Error(Code::kAlreadyExists, "x"), Error(Code::kUnavailable, "x")}) {
    const Reason* reason = FindReason(plan::ReasonOf(error));
    ASSERT_NE(reason, nullptr) << plan::ReasonOf(error);
    EXPECT_EQ(reason->places, Reason::kProblem | Reason::kEvent);
  }
}

}  // namespace
}  // namespace capstan::op
