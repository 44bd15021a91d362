// JSON as a tree, for the few places that merge what users wrote: pod templates, container overrides.
// Everything of a known form goes through codec.h instead, which is ten times quicker and needs no tree.
//
// A Value is boost::json::value. Objects keep the order in which their keys came. Nothing here throws.
#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/schema.h"

namespace capstan::json {

using Value = boost::json::value;

inline constexpr int kDeepest = 128;                      // levels of nesting that are read
inline constexpr size_t kLargestTree = size_t{16} << 20;  // bytes of text that are read into a tree

// The last of two equal keys wins. kInvalid: not JSON (the message has the position), deeper than kDeepest or
// larger than kLargestTree.
Result<Value> Parse(std::string_view text);

// `raw` as a tree; absent (empty) gives an empty object.
Result<Value> ParseObject(const Raw& raw, std::string_view what);

// As text without white space. Keys in the order they have. Numbers with a fraction keep 15 digits.
std::string Serialize(const Value& value);

// As text in which equal values are equal: keys sorted by bytes, numbers written one way.
std::string SerializeCanonical(const Value& value);

// The value at that path of keys, or nullptr when there is none (or something on the way is not an object).
const Value* Find(const Value& value, std::initializer_list<std::string_view> path);
Value* Find(Value& value, std::initializer_list<std::string_view> path);

// The text at that path, or "" when there is none or it is not text.
std::string_view FindText(const Value& value, std::initializer_list<std::string_view> path);

// The object at that path; made, with all on the way, where it is missing or not an object.
boost::json::object& MakeObject(Value& value, std::initializer_list<std::string_view> path);

// Removes members that are null, at any depth. Elements of lists stay.
void DropNulls(Value& value);

}  // namespace capstan::json
