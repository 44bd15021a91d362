#include "source_dir.h"

namespace capstan::testing {

std::string SourceDir() { return CAPSTAN_SOURCE_DIR; }

}  // namespace capstan::testing
