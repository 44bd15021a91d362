// Compares a text that is a product (a configuration, a rendered object) with the committed one.
//
// CAPSTAN_UPDATE_GOLDEN=1 writes the committed file instead; read the difference before committing it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "json/value.h"

namespace capstan::json::testing {

// `value` on many lines, keys sorted, so that a difference can be read.
inline std::string Pretty(const Value& value, const std::string& indent = "") {
  const std::string inner = indent + "  ";
  std::string text;
  const auto line = [&](const std::string& what) { text += (text.empty() ? "\n" : ",\n") + inner + what; };
  if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
    std::map<std::string, const Value*> sorted;
    for (const auto& member : *object) sorted.emplace(member.key(), &member.value());
    for (const auto& [key, member] : sorted) line("\"" + key + "\": " + Pretty(*member, inner));
    return "{" + text + "\n" + indent + "}";
  }
  if (const auto* array = value.if_array(); array != nullptr && !array->empty()) {
    for (const Value& element : *array) line(Pretty(element, inner));
    return "[" + text + "\n" + indent + "]";
  }
  return SerializeCanonical(value);
}

inline void ExpectGolden(const std::string& path, const std::string& text) {
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

inline void ExpectGolden(const std::string& path, const Value& value) { ExpectGolden(path, Pretty(value) + "\n"); }

}  // namespace capstan::json::testing
