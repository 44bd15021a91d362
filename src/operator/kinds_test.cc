#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "operator/kind.h"

namespace capstan::op {
namespace {

std::string ReadSource(const std::string& path) {
  std::ifstream file(std::string(CAPSTAN_SOURCE_DIR) + "/" + path);
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

TEST(Kinds, ChildrenAreWatchedByTheComponentsOfTheirRows) {
  plan::Stores stores;
  AddStores(stores);
  EXPECT_EQ(stores.FindEntry(kube::kPods)->watching.label_selector,
            "app.kubernetes.io/component in (controller,worker)");
  EXPECT_EQ(stores.FindEntry(kube::kDeployments)->watching.label_selector, "app.kubernetes.io/component in (restapi)");
}

}  // namespace
}  // namespace capstan::op
