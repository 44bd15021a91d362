#include "listing/listing.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "async/backoff.h"
#include "async/timer.h"
#include "base/text.h"

namespace capstan::listing {
namespace {

using async::Task;

constexpr Duration kRetryCap = 30s, kWholeEvery = 5min;
constexpr int kRestShare = 9;  // Slurm answers us for a tenth of the time at most

class Printer {
 public:
  Printer(const Reader& reader, const Options& options)
      : format_(reader.format()), out_(options.out), table_(Columns(reader, options)) {}

  bool Once(const std::vector<Shown>& all) {
    if (format_ == Format::kTable) {
      std::vector<std::vector<std::string>> rows;
      for (const Shown& shown : all) rows.push_back(shown.cells);
      return out_(table_.Begin(rows));
    }
    std::string text = "[";
    for (const Shown& shown : all) text += (text.size() == 1 ? "\n" : ",\n") + json::Serialize(shown.object);
    return out_(text + "\n]\n");
  }

  // What differs from the last call.
  bool Follow(std::vector<Shown> all) {
    std::vector<Event> events;
    std::map<std::string, Shown> now;
    for (Shown& shown : all) {
      const auto [place, is_new] = now.try_emplace(shown.key, std::move(shown));
      if (!is_new) continue;
      const auto before = known_.find(place->first);
      if (before == known_.end())
        events.push_back({"ADDED", &place->second});
      else if (before->second.cells != place->second.cells || before->second.object != place->second.object)
        events.push_back({"MODIFIED", &place->second});
    }
    for (const auto& [key, shown] : known_)
      if (!now.contains(key)) events.push_back({"DELETED", &shown});
    const std::string text = format_ == Format::kTable ? Rows(events) : Lines(events);
    known_ = std::move(now);
    return text.empty() || out_(text);
  }

 private:
  struct Event {
    std::string_view type;
    const Shown* shown;
  };

  static std::vector<Column> Columns(const Reader& reader, const Options& options) {
    std::vector<Column> columns = ColumnsOf(reader.kind());
    if (options.watch) columns.insert(columns.begin(), Column{"EVENT", false, std::string_view("MODIFIED").size()});
    return columns;
  }
  std::string Rows(const std::vector<Event>& events) {
    std::vector<std::vector<std::string>> rows;
    for (const Event& event : events) {
      rows.push_back({std::string(event.type)});
      rows.back().insert(rows.back().end(), event.shown->cells.begin(), event.shown->cells.end());
    }
    if (!std::exchange(begun_, true)) return table_.Begin(rows);
    std::string text;
    for (const auto& row : rows) text += table_.Row(row);
    return text;
  }
  static std::string Lines(const std::vector<Event>& events) {
    std::string text;
    for (const Event& event : events)
      text +=
          R"({"type":")" + std::string(event.type) + R"(","object":)" + json::Serialize(event.shown->object) + "}\n";
    return text;
  }

  const Format format_;
  const std::function<bool(const std::string&)> out_;
  Table table_;
  bool begun_ = false;
  std::map<std::string, Shown> known_;  // by key
};

std::string Unknown(const std::vector<std::string>& names) {
  return "Slurm does not know " + OneLine(Join(names, ", "), 500);
}

Error NotWritten() { return Error(Code::kUnavailable, "what it said cannot be written to standard output"); }

}  // namespace

Task<Result<void>> List(async::Loop& loop, Reader reader, Options options) {
  Printer printer(reader, options);
  Tick began = loop.Now(), read_whole = began;
  auto first = co_await reader.Read(loop.After(options.patience));
  if (!first) co_return Fail(std::move(first).error().WithContext("Slurm cannot be asked"));
  Look look = *std::move(first);
  if (!options.watch) {
    if (!printer.Once(look.shown)) co_return Fail(NotWritten());
    if (!look.trouble.empty()) co_return Fail(Code::kUnavailable, look.trouble);
    if (!look.missing.empty()) co_return Fail(Code::kNotFound, Unknown(look.missing));
    co_return Result<void>();
  }
  if (!look.missing.empty()) options.say(Unknown(look.missing) + "; a row tells when it does");
  Random random(options.seed);
  async::Backoff backoff({.first = options.every, .cap = std::max(options.every, kRetryCap), .jitter = 0.2}, random);
  bool fails = false;
  while (true) {
    if (!fails && !look.unchanged && !printer.Follow(std::move(look.shown))) co_return Fail(NotWritten());
    const Duration took = loop.Now() - began;
    co_await async::Sleep(loop, fails ? backoff.Next() : std::max(options.every, took * kRestShare));
    began = loop.Now();
    if (began - read_whole >= kWholeEvery) {
      reader.ReadWholeNext();
      read_whole = began;
    }
    auto next = co_await reader.Read(loop.After(options.patience));
    if (!next && !fails) options.say("Slurm cannot be asked, and is tried again: " + next.error().message());
    if (next && fails) options.say("Slurm answers again");
    fails = !next.has_value();
    if (fails) continue;
    backoff.Reset();
    look = *std::move(next);
  }
}

}  // namespace capstan::listing
