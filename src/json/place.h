// Shared by the decoders of JSON and of protobuf; of no use to anybody else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/schema.h"

namespace capstan::json {

// The way from the root to the value at hand; turned into text only when something is wrong with it.
struct Frame {
  const Frame* parent;
  std::string_view key;
  int index = -1;  // an element of a list; otherwise `key` counts
};

// "spec.containers[2].name"; `root` for nullptr.
std::string PathText(const Frame* frame, std::string_view root);

// Puts `value` where an integer of `type` lies. False: it does not fit.
bool StoreInteger(const Type& type, void* out, int64_t value);
// The same for one that stands there as text; "" leaves what is there.
bool StoreIntegerText(const Type& type, void* out, std::string_view text);

// "an integer from 0 to 255"
std::string RangeText(const Type& type);

}  // namespace capstan::json
