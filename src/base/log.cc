#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/text.h"
#include "base/time.h"

namespace capstan::log {
namespace {

std::atomic<Level> threshold = Level::kInfo;

spdlog::logger& Lines() {
  static auto& logger = *[] {
    auto made = std::make_shared<spdlog::logger>("capstan", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return new std::shared_ptr<spdlog::logger>(std::move(made));
  }();
  return *logger;
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
  line.append("}");
  Lines().log(spdlog::level::info, spdlog::string_view_t(line));
}

}  // namespace capstan::log
