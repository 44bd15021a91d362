#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/text.h"
#include "base/time.h"

namespace capstan::log {
namespace {

std::atomic<Level> threshold = Level::kInfo;

// One line at a time, whole. What standard error does not take is lost: there is no other place to tell it.
void WriteToStandardError(std::string_view line) {
  static constinit std::mutex one_line;
  const std::lock_guard lock(one_line);
  while (!line.empty()) {
    const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    line.remove_prefix(size_t(written));
  }
}

constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warn", "error", "off"};

}  // namespace

Value::Value(std::string_view text) : json_(JsonQuoted(text)) {}

std::optional<Level> LevelNamed(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt : std::optional(Level(found - kNames.begin()));
}

void SetLevel(Level level) { threshold.store(level, std::memory_order_relaxed); }

bool Enabled(Level level) { return level >= threshold.load(std::memory_order_relaxed); }

void Write(Level level, std::string_view message, Fields fields) {
  if (!Enabled(level)) return;
  std::string line;
  line.reserve(256);
  line.append(R"({"ts":")").append(FormatRfc3339Micro(std::chrono::system_clock::now()));
  line.append(R"(","level":")").append(kNames[size_t(level)]).append(R"(","msg":)").append(JsonQuoted(message));
  for (const Field& field : fields) {
    line.append(",").append(JsonQuoted(field.key)).append(":").append(field.value.json());
  }
  line.append("}\n");
  WriteToStandardError(line);
}

}  // namespace capstan::log
