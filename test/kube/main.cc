// The API server of all tests of this program.
#include "apiserver.h"

namespace capstan::kube::testing {
namespace {

const auto* environment =
    ::testing::AddGlobalTestEnvironment(new ApiserverEnvironment({.tools = CAPSTAN_SOURCE_DIR "/build/tools"}));

}  // namespace
}  // namespace capstan::kube::testing
