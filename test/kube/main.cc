// The API server of all tests of this program.
#include "apiserver.h"
#include "source_dir.h"

namespace capstan::kube::testing {
namespace {

const auto* environment = ::testing::AddGlobalTestEnvironment(
    new ApiserverEnvironment({.tools = capstan::testing::SourceDir() + "/build/tools"}));

}  // namespace
}  // namespace capstan::kube::testing
