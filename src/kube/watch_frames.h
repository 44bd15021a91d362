// Cuts the bytes of a watch into events, whatever the pieces they arrive in: JSON comes as lines, protobuf as frames,
// each behind its length (four bytes, the highest first).
//
//   while (auto space = events.Space()) {
//     events.Commit(read_into(*space));
//     while (auto line = events.NextLine()) ...    // or NextFrame(); one of them for one stream
//   }
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace capstan::kube {

// Bytes are read straight into the buffer and events are handed out where they lie, with the padding behind
// them that json::Decoder wants: nothing is copied but the beginning of an event whose end has not come yet.
// The buffer grows for a long event, up to the limit, and shrinks when that is done.
class EventBuffer {
 public:
  struct Limits {
    size_t event = size_t{16} << 20;  // the longest line or frame, in bytes
    size_t idle = size_t{16} << 10;   // what is kept when nothing is pending
  };
  EventBuffer() : EventBuffer(Limits()) {}
  explicit EventBuffer(Limits limits);

  // Room for at least one byte; what is read there is announced by Commit. Events handed out so far are gone.
  // kInvalid: the event that is being read is longer than the limit.
  // REQUIRES: NextLine() or NextFrame() has returned nullopt since the last Commit.
  Result<std::span<char>> Space();
  void Commit(size_t bytes) { end_ += bytes; }

  // A line without its newline, good until the next Space() or Clear(). Empty lines are skipped.
  struct Line {
    std::string_view text;
    size_t readable;  // how many bytes from text.data() on may be read
  };
  std::optional<Line> NextLine();

  // A frame without its length, good until the next Space() or Clear().
  std::optional<std::string_view> NextFrame();

  // Forgets everything, for the next stream.
  void Clear();

  size_t pending() const { return end_ - begin_; }  // bytes of events not handed out
  size_t capacity() const { return capacity_; }

 private:
  void Resize(size_t capacity);

  Limits limits_;
  std::unique_ptr<char[]> bytes_;  // capacity_ and the padding
  size_t capacity_ = 0;
  size_t begin_ = 0;    // of the first event not handed out
  size_t scanned_ = 0;  // up to here there is no newline
  size_t end_ = 0;
};

}  // namespace capstan::kube
