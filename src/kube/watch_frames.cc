#include "kube/watch_frames.h"

#include <algorithm>
#include <cstring>

#include "json/codec.h"

namespace capstan::kube {

EventBuffer::EventBuffer(Limits limits) : limits_(limits) { Resize(limits_.idle); }

Result<std::span<char>> EventBuffer::Space() {
  if (begin_ == end_) {
    Clear();
  } else if (begin_ > 0) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, pending());
    scanned_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) {
    if (capacity_ >= limits_.event) {
      return Fail(Code::kInvalid, "an event of the watch is longer than " + std::to_string(limits_.event) + " bytes");
    }
    Resize(std::min(2 * capacity_, limits_.event));
  }
  return std::span(bytes_.get() + end_, capacity_ - end_);
}

std::optional<EventBuffer::Line> EventBuffer::NextLine() {
  while (scanned_ < end_) {
    const void* newline = std::memchr(bytes_.get() + scanned_, '\n', end_ - scanned_);
    if (!newline) break;
    const size_t at = size_t(static_cast<const char*>(newline) - bytes_.get());
    const std::string_view text(bytes_.get() + begin_, at - begin_);
    begin_ = scanned_ = at + 1;
    if (!text.empty()) return Line{text, size_t(bytes_.get() + capacity_ + json::Decoder::kPadding - text.data())};
  }
  scanned_ = end_;
  return std::nullopt;
}

std::optional<std::string_view> EventBuffer::NextFrame() {
  constexpr size_t kHead = 4;
  if (pending() < kHead) return std::nullopt;
  size_t length = 0;
  for (size_t i = 0; i < kHead; ++i) length = length << 8 | static_cast<unsigned char>(bytes_[begin_ + i]);
  if (pending() - kHead < length) return std::nullopt;
  const std::string_view frame(bytes_.get() + begin_ + kHead, length);
  begin_ = scanned_ = begin_ + kHead + length;
  return frame;
}

void EventBuffer::Clear() {
  begin_ = scanned_ = end_ = 0;
  if (capacity_ > limits_.idle) Resize(limits_.idle);
}

void EventBuffer::Resize(size_t capacity) {
  auto bytes = std::make_unique<char[]>(capacity + json::Decoder::kPadding);
  if (pending() > 0) std::memcpy(bytes.get() + begin_, bytes_.get() + begin_, pending());
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

}  // namespace capstan::kube
