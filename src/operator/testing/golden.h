// The golden files of this folder (json/testing/golden.h).
#pragma once

#include <string>

#include "json/testing/golden.h"
#include "source_dir.h"

namespace capstan::op::test {

// `folder` is below src/operator; the file lies in its testdata.
template <class Text>
void ExpectGolden(const std::string& folder, const std::string& file, const Text& text) {
  json::testing::ExpectGolden(testing::SourceDir() + "/src/operator/" + folder + "/testdata/" + file, text);
}

inline void ExpectGoldenJson(const std::string& folder, const std::string& file, const std::string& json) {
  const auto value = json::Parse(json);
  ASSERT_TRUE(value.has_value()) << value.error().message() << "\n" << json;
  ExpectGolden(folder, file, *value);
}

}  // namespace capstan::op::test
