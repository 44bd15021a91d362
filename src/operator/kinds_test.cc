#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "operator/kind.h"
#include "operator/testing/contracts.h"
#include "source_dir.h"

namespace capstan::op {
namespace {

std::string ReadSource(const std::string& path) {
  std::ifstream file(testing::SourceDir() + "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GeneratedFiles, TheRulesOfTheChartAreThoseOfTheRows) {
  const std::string path = "charts/slurm-operator/templates/_rules.tpl";
  EXPECT_EQ(ReadSource(path), RulesTemplate()) << "run: capstan rights operator > " << path;
}

TEST(Kinds, EachHasANameOfItsOwnAndAStore) {
  plan::Stores stores;
  AddStores(stores);
  std::set<std::string_view> names;
  for (const Kind* kind : Kinds()) {
    EXPECT_TRUE(names.insert(kind->name).second) << kind->name;
    EXPECT_NE(stores.Find(*kind->resource), nullptr) << kind->name;
    for (const kube::Resource* child : kind->children) EXPECT_NE(stores.Find(*child), nullptr) << child->plural;
  }
}

// One that is left out of the list would be taken for nothing, without a word.
TEST(Kinds, EachFolderOfOneIsInTheList) {
  std::set<std::string> folders, names;
  for (const auto& entry : std::filesystem::directory_iterator(testing::SourceDir() + "/src/operator")) {
    if (std::filesystem::exists(entry.path() / "kind.cc")) folders.insert(entry.path().filename().string());
  }
  for (const Kind* kind : Kinds()) names.emplace(kind->name);
  EXPECT_EQ(folders, names);
}

// A kind without one would pass whatever the simulator sees of it.
TEST(Kinds, EachHasAContract) {
  for (const Kind* kind : Kinds()) {
    const Contract* contract = test::ContractOf(*kind->resource);
    ASSERT_NE(contract, nullptr) << kind->name;
    EXPECT_NE(contract->breach, nullptr) << kind->name;
  }
  EXPECT_EQ(test::Contracts().size(), Kinds().size());
}

TEST(Kinds, ChildrenAreWatchedByTheComponentsOfTheirRows) {
  plan::Stores stores;
  AddStores(stores);
  EXPECT_EQ(stores.FindEntry(kube::kPods)->watching.label_selector,
            "app.kubernetes.io/component in (accounting,cluster,controller,login,restapi,root,worker)");
  EXPECT_EQ(stores.FindEntry(kube::kDeployments)->watching.label_selector,
            "app.kubernetes.io/component in (cluster,login,restapi)");
}

}  // namespace
}  // namespace capstan::op
