#include "entry/node_conf.h"

#include <algorithm>

#include "base/text.h"
#include "base/words.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kOption = "--conf";

// Takes one item from the front of `rest`, which starts with no blank.
Result<std::pair<std::string_view, std::string_view>> TakeItem(std::string_view* rest) {
  const std::string_view whole = *rest;
  const size_t stop = std::min(whole.find_first_of(kBlanks), whole.size());
  const size_t equals = whole.find('=');
  if (equals == 0 || equals >= stop) {
    return Fail(Code::kInvalid, "'" + std::string(whole.substr(0, stop)) + "' in --conf is not of the form Key=Value");
  }
  const std::string_view key = whole.substr(0, equals);
  if (equals + 1 < whole.size() && whole[equals + 1] == '"') {
    const size_t close = whole.find('"', equals + 2);
    if (close == std::string_view::npos) {
      return Fail(Code::kInvalid, "the double quote after " + std::string(key) + "= in --conf is never closed");
    }
    *rest = whole.substr(close + 1);
    return std::pair(key, whole.substr(equals + 2, close - equals - 2));
  }
  *rest = whole.substr(stop);
  return std::pair(key, whole.substr(equals + 1, stop - equals - 1));
}

// What is left of `Topology='"$SLINKY_TOPOLOGY"'` once unquoted: made for a shell, which is not here. The
// variable itself is read by AddPodShare.
bool IsShellVariable(std::string_view value) { return value == "$SLINKY_TOPOLOGY" || value == "$POD_TOPOLOGY"; }

}  // namespace

Result<NodeConf> NodeConf::Parse(std::string_view text) {
  std::string unquoted;
  if (Trim(text).starts_with('\'')) {
    CAPSTAN_TRY(const std::vector<std::string> words, SplitWords(text));
    unquoted = Join(words, " ");
    text = unquoted;
  }
  NodeConf conf;
  for (std::string_view rest = Trim(text); !rest.empty(); rest = Trim(rest)) {
    CAPSTAN_TRY(const auto item, TakeItem(&rest));
    if (!IsShellVariable(item.second)) conf.Set(item.first, item.second);
  }
  return conf;
}

const std::string* NodeConf::Find(std::string_view key) const {
  const auto item = std::ranges::find_if(items_, [&](const auto& i) { return EqualsIgnoreCase(i.first, key); });
  return item == items_.end() ? nullptr : &item->second;
}

bool NodeConf::Remove(std::string_view key) {
  return std::erase_if(items_, [&](const auto& item) { return EqualsIgnoreCase(item.first, key); }) > 0;
}

void NodeConf::Set(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  const auto item = std::ranges::find_if(items_, [&](const auto& i) { return EqualsIgnoreCase(i.first, key); });
  if (item == items_.end()) {
    items_.emplace_back(key, value);
  } else {
    item->second = value;
  }
}

std::string NodeConf::Text() const {
  std::string text;
  for (const auto& [key, value] : items_) {
    const std::string_view quote = value.find_first_of(kBlanks) == std::string::npos ? "" : "\"";
    if (!text.empty()) text += ' ';
    text.append(key).append("=").append(quote).append(value).append(quote);
  }
  return text;
}

Result<NodeConf> TakeNodeConf(std::vector<std::string>* arguments) {
  std::vector<std::string> others;
  std::string text;
  for (size_t i = 0; i < arguments->size(); ++i) {
    const std::string& argument = (*arguments)[i];
    std::string_view value;
    if (argument == kOption) {
      if (++i == arguments->size()) return Fail(Code::kInvalid, "--conf is the last argument; it needs a value");
      value = (*arguments)[i];
    } else if (argument.starts_with("--conf=")) {
      value = std::string_view(argument).substr(kOption.size() + 1);
    } else {
      others.push_back(argument);
      continue;
    }
    CAPSTAN_TRY(const NodeConf conf, NodeConf::Parse(value));
    text += conf.Text() + " ";
  }
  CAPSTAN_TRY(NodeConf merged, NodeConf::Parse(text));
  if (merged.Remove("NodeName")) Say("NodeName in --conf is left out: the name of the node is that of its pod");
  *arguments = std::move(others);
  return merged;
}

}  // namespace capstan::entry
