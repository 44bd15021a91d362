#include "json/text.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <unordered_map>

namespace capstan::json {
namespace {

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

struct Pool {
  std::mutex mutex;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>> texts;
};

// Never destroyed: constants of other files may hold texts until the very end.
Pool& ThePool() {
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

// --- Text ------------------------------------------------------------------------------------------------------------

Text::Text(std::string_view text) {
  if (text.empty()) return;
  const auto length = uint32_t(text.size());
  block_ = new char[sizeof length + text.size()];
  std::memcpy(block_, &length, sizeof length);
  std::memcpy(block_ + sizeof length, text.data(), text.size());
}

std::string_view Text::view() const {
  if (block_ == nullptr) return {};
  uint32_t length = 0;
  std::memcpy(&length, block_, sizeof length);
  return {block_ + sizeof length, length};
}

size_t Text::heap_bytes() const { return block_ ? sizeof(uint32_t) + view().size() : 0; }

// --- SharedText ------------------------------------------------------------------------------------------------------

SharedText::SharedText(std::string_view text) {
  if (text.empty()) return;
  Pool& pool = ThePool();
  const std::scoped_lock lock(pool.mutex);
  auto found = pool.texts.find(text);
  if (found == pool.texts.end()) found = pool.texts.emplace(text, 0).first;
  entry_ = &*found;
  ++entry_->second;
}

SharedText::SharedText(const SharedText& other) : entry_(other.entry_) {
  if (entry_ == nullptr) return;
  const std::scoped_lock lock(ThePool().mutex);
  ++entry_->second;
}

SharedText::~SharedText() {
  if (entry_ == nullptr) return;
  Pool& pool = ThePool();
  const std::scoped_lock lock(pool.mutex);
  if (--entry_->second == 0) pool.texts.erase(pool.texts.find(std::string_view(entry_->first)));
}

size_t SharedText::held() {
  const std::scoped_lock lock(ThePool().mutex);
  return ThePool().texts.size();
}

}  // namespace capstan::json
