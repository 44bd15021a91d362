// Takes the elements of one array out of a JSON document while it is still arriving.
//
// slurmrestd answers with one document of any size: {"nodes": [{...}, ...], "last_update": ..., "errors":
// [...]}. Cutting it keeps memory at one element, lets decoding overlap with the network, and leaves a small
// rest to decode.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::slurm {

// The scanner knows strings, escapes and nesting only; whether an element is proper JSON is found by decoding
// it.
class ElementCutter {
 public:
  struct Limits {
    size_t element_bytes = 4 << 20;
    size_t rest_bytes = 4 << 20;
  };

  // Called for each element, in order; the text is good during the call, and lies in what is being fed where all of it does. An
  // error ends the feeding and is returned.
  using OnElement = std::function<Result<void>(std::string_view element)>;

  // Cuts the elements of the top-level member called `array`; of "a/b", those of the member b of the top-level object a.
  ElementCutter(std::string array, OnElement on_element)
      : ElementCutter(std::move(array), std::move(on_element), Limits{}) {}
  ElementCutter(std::string array, OnElement on_element, Limits limits);

  // The next bytes of the document. kInvalid when it is no JSON object or a limit is passed; no use after an
  // error.
  Result<void> Feed(std::string_view bytes);

  // The document has ended. False: it was cut off, and nothing of it may be believed.
  bool complete() const { return state_ == State::kDone; }

  // The document without the elements: {"nodes": [], "last_update": ...}. Valid JSON once complete.
  const std::string& rest() const { return rest_; }

 private:
  enum class State : uint8_t { kBefore, kInside, kArray, kElement, kDone };

  enum class Stop : uint8_t { kNone, kEnd, kMismatch };  // why a scan of an element stops

  void Key(char c);
  bool AtPath() const;
  Result<void> Outside(char c);
  Result<void> Array(char c);
  Result<size_t> Element(std::string_view bytes, size_t from);
  Stop Scan(std::string_view bytes, size_t& at);
  bool TakeBlock(const char* bytes);
  bool InString(char c);

  const std::vector<std::string> path_;
  OnElement on_element_;
  Limits limits_;
  State state_ = State::kBefore;
  bool in_string_ = false, escaped_ = false;
  int depth_ = 0;           // within the document, or within the element
  int level_ = 0;           // how many objects of the path are open
  std::string key_, word_;  // the last key and the string being read, in the last of those
  std::string rest_;
  std::string element_;  // what earlier bytes held of the element that is being read
};

}  // namespace capstan::slurm
