// Where the sources lie that this test program was built from, for tests of files in them (golden files, charts, docs).
#pragma once

#include <string>

namespace capstan::testing {

// The root of the project, absolute, without a slash at the end.
std::string SourceDir();

}  // namespace capstan::testing
