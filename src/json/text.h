// Texts for structs that are kept by the thousand: eight bytes each, and no heap while empty. They stand in
// field tables (schema.h) like std::string, and read as std::string_view; to change one, assign another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace capstan::json {

// Text of its own object: a name, a UID.
class Text {
 public:
  Text() = default;
  explicit Text(std::string_view text);
  Text(const Text& other) : Text(other.view()) {}
  Text(Text&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Text& operator=(Text other) noexcept { return std::swap(block_, other.block_), *this; }
  ~Text() { delete[] block_; }

  std::string_view view() const;
  operator std::string_view() const { return view(); }  // NOLINT: it is one
  bool empty() const { return block_ == nullptr; }
  size_t heap_bytes() const;

  friend bool operator==(const Text& a, const Text& b) { return a.view() == b.view(); }

 private:
  char* block_ = nullptr;  // the length as uint32_t, then the bytes
};

// Text that many objects have in common: a namespace, the name of a node, a phase. Equal ones are held once in
// the process, for as long as anybody has them. Any thread, though one object belongs to one at a time.
class SharedText {
 public:
  SharedText() = default;
  explicit SharedText(std::string_view text);
  SharedText(const SharedText& other);
  SharedText(SharedText&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
  SharedText& operator=(SharedText other) noexcept { return std::swap(entry_, other.entry_), *this; }
  ~SharedText();

  std::string_view view() const { return entry_ ? std::string_view(entry_->first) : std::string_view(); }
  operator std::string_view() const { return view(); }  // NOLINT: it is one
  bool empty() const { return entry_ == nullptr; }

  friend bool operator==(const SharedText& a, const SharedText& b) { return a.entry_ == b.entry_; }

  // How many different texts the process shares; for tests and figures.
  static size_t held();

  using Entry = std::pair<const std::string, size_t>;  // the text, and how many have it

 private:
  Entry* entry_ = nullptr;
};

}  // namespace capstan::json
