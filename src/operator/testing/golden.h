// Compares a text that is a product (a configuration, a rendered object) with the committed one.
//
// CAPSTAN_UPDATE_GOLDEN=1 writes the committed file instead; read the difference before committing it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "json/value.h"

namespace capstan::op::test {

// `value` on many lines, keys sorted, so that a difference can be read.
inline std::string Pretty(const json::Value& value, const std::string& indent = "") {
  const std::string inner = indent + "  ";
  std::string text;
  const auto line = [&](const std::string& what) { text += (text.empty() ? "\n" : ",\n") + inner + what; };
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    std::map<std::string, const json::Value*> sorted;
    for (const auto& member : *object) sorted.emplace(member.key(), &member.value());
    for (const auto& [key, member] : sorted) line("\"" + key + "\": " + Pretty(*member, inner));
    return "{" + text + "\n" + indent + "}";
  }
  if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    for (const json::Value& element : *array) line(Pretty(element, inner));
    return "[" + text + "\n" + indent + "]";
  }
  return json::SerializeCanonical(value);
}

// `folder` is below src/operator; the file lies in its testdata.
inline void ExpectGolden(const std::string& folder, const std::string& file, const std::string& text) {
  const std::string path = std::string(CAPSTAN_SOURCE_DIR) + "/src/operator/" + folder + "/testdata/" + file;
  if (std::getenv("CAPSTAN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream in(path);
  ASSERT_TRUE(in.good()) << path << " is missing; CAPSTAN_UPDATE_GOLDEN=1 writes it";
  std::stringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str()) << "differs from " << path;
}

inline void ExpectGolden(const std::string& folder, const std::string& file, const json::Value& value) {
  ExpectGolden(folder, file, Pretty(value) + "\n");
}

inline void ExpectGoldenJson(const std::string& folder, const std::string& file, const std::string& json) {
  const auto value = json::Parse(json);
  ASSERT_TRUE(value.has_value()) << value.error().message() << "\n" << json;
  ExpectGolden(folder, file, *value);
}

}  // namespace capstan::op::test
