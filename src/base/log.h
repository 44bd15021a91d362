// One structured line per event, as JSON, to standard error.
//
//   log::Info("child applied", {{"key", key}, {"kind", "StatefulSet"}, {"took_ms", 12}});
//
// Any thread may log. A line is written whole. A thing is logged or returned, never both. Values are for
// operators of a cluster: names, counts, reasons; never secret bytes (see secret.h, which does not convert to
// a Value).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace capstan::log {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError, kOff };  // nothing is written at kOff

// "debug", "info", "warn", "error", "off"; nullopt for anything else.
std::optional<Level> LevelNamed(std::string_view name);

// A field's value, rendered at once.
class Value {
 public:
  Value(std::string_view text);  // NOLINT(google-explicit-constructor): fields are written as plain literals
  Value(const char* text) : Value(std::string_view(text)) {}           // NOLINT
  Value(const std::string& text) : Value(std::string_view(text)) {}    // NOLINT
  Value(bool flag) : json_(flag ? "true" : "false") {}                 // NOLINT
  Value(std::integral auto number) : json_(std::to_string(number)) {}  // NOLINT
  Value(double number) : json_(std::to_string(number)) {}              // NOLINT

  const std::string& json() const { return json_; }

 private:
  std::string json_;
};

struct Field {
  std::string_view key;
  Value value;
};
using Fields = std::initializer_list<Field>;

// Lines below `level` are dropped. The default is kInfo.
void SetLevel(Level level);
bool Enabled(Level level);

void Write(Level level, std::string_view message, Fields fields = {});

inline void Debug(std::string_view message, Fields fields = {}) {
  if (Enabled(Level::kDebug)) Write(Level::kDebug, message, fields);
}
inline void Info(std::string_view message, Fields fields = {}) { Write(Level::kInfo, message, fields); }
inline void Warn(std::string_view message, Fields fields = {}) { Write(Level::kWarn, message, fields); }
inline void Error(std::string_view message, Fields fields = {}) { Write(Level::kError, message, fields); }

}  // namespace capstan::log
