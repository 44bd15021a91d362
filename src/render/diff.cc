#include "render/diff.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <vector>

#include "base/text.h"

namespace capstan::render {
namespace {

namespace bj = boost::json;

// --- Parts of objects --------------------------------------------------------------------------------------------------

bool HasKeys(const json::Value& element, const json::Value& keys) {
  const auto* object = element.if_object();
  if (object == nullptr || !keys.is_object()) return false;
  return std::ranges::all_of(keys.get_object(), [&](const auto& key) {
    const json::Value* value = object->if_contains(key.key());
    return value != nullptr && json::SerializeCanonical(*value) == json::SerializeCanonical(key.value());
  });
}

// Of `live` what `wanted` names; elements of lists are told apart by "name", or by their place.
json::Value Like(const json::Value& live, const json::Value& wanted) {
  const auto* object = live.if_object();
  const auto* list = live.if_array();
  if (object != nullptr && wanted.is_object()) {
    bj::object part;
    for (const auto& [name, below] : wanted.get_object()) {
      if (const json::Value* member = object->if_contains(name)) part[name] = Like(*member, below);
    }
    return part;
  }
  if (list == nullptr || !wanted.is_array()) return live;
  bj::array part;
  for (size_t i = 0; i < wanted.get_array().size(); ++i) {
    const json::Value& below = wanted.get_array()[i];
    const std::string_view name = json::FindText(below, {"name"});
    const auto found = name.empty() ? (i < list->size() ? list->begin() + ptrdiff_t(i) : list->end())
                                    : std::ranges::find_if(*list, [&](const json::Value& element) {
                                        return json::FindText(element, {"name"}) == name;
                                      });
    if (found != list->end()) part.push_back(Like(*found, below));
  }
  return part;
}

// What is owned as a whole. In what has parts of its own the server puts defaults, which nobody wants to see.
json::Value Whole(const json::Value& live, const json::Value* wanted) {
  const auto is_part = [](const json::Value& value) { return value.is_object() || value.is_array(); };
  const auto* list = live.if_array();
  if (wanted == nullptr || list == nullptr || !wanted->is_array()) return live;
  if (list->size() != wanted->get_array().size() || !std::ranges::any_of(*list, is_part)) return live;
  return Like(live, *wanted);
}

// The element of `wanted`, a list, that has the same keys; nullptr: none.
const json::Value* Counterpart(const json::Value* wanted, const json::Value& keys) {
  const auto* list = wanted == nullptr ? nullptr : wanted->if_array();
  if (list == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*list, [&](const json::Value& element) { return HasKeys(element, keys); });
  return found == list->end() ? nullptr : &*found;
}

json::Value OwnedElements(const bj::array& list, const bj::object& fields, const json::Value* wanted);

// Of `value` what `fields` (fieldsV1) names; `wanted` is what it is to be, nullptr: nothing.
json::Value Owned(const json::Value& value, const json::Value& fields, const json::Value* wanted) {
  const auto* owned = fields.if_object();
  if (owned == nullptr || owned->empty()) return Whole(value, wanted);
  if (const auto* list = value.if_array()) return OwnedElements(*list, *owned, wanted);
  const auto* object = value.if_object();
  if (object == nullptr) return value;
  bj::object part;
  for (const auto& [name, below] : *owned) {
    if (!name.starts_with("f:")) continue;
    const std::string_view field = std::string_view(name).substr(2);
    const json::Value* member = object->if_contains(field);
    if (member != nullptr)
      part[field] = Owned(*member, below, wanted == nullptr ? nullptr : json::Find(*wanted, {field}));
  }
  return part;
}

// Elements are named by "k:" and their keys, or by "v:" and their value.
json::Value OwnedElements(const bj::array& list, const bj::object& fields, const json::Value* wanted) {
  bj::array part;
  for (const json::Value& element : list) {
    for (const auto& [name, below] : fields) {
      const bool by_key = name.starts_with("k:");
      if (!by_key && !name.starts_with("v:")) continue;
      const auto named = json::Parse(std::string_view(name).substr(2));
      if (!named) continue;
      if (by_key ? HasKeys(element, *named) : json::SerializeCanonical(element) == json::SerializeCanonical(*named))
        part.push_back(Owned(element, below, by_key ? Counterpart(wanted, *named) : nullptr));
    }
  }
  return part;
}

const json::Value* FieldsOf(const json::Value& live, std::string_view manager) {
  const json::Value* entries = json::Find(live, {"metadata", "managedFields"});
  if (entries == nullptr || !entries->is_array()) return nullptr;
  for (const json::Value& entry : entries->get_array()) {
    if (json::FindText(entry, {"manager"}) == manager && json::FindText(entry, {"operation"}) == "Apply" &&
        json::FindText(entry, {"subresource"}).empty())
      return json::Find(entry, {"fieldsV1"});
  }
  return nullptr;
}

// --- Lines -------------------------------------------------------------------------------------------------------------

using Lines = std::vector<std::string_view>;

Lines LinesOf(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.empty() ? Lines() : Split(text, '\n');
}

struct Edit {
  char what;  // ' ', '-', '+'
  std::string_view line;
};

// The fewest edits (Myers): walks all furthest reaching paths of d edits, for d from 0, and back along the one that arrives.
std::vector<Edit> EditsOf(const Lines& a, const Lines& b) {
  const int n = int(a.size()), m = int(b.size()), most = n + m;
  std::vector<std::vector<int>> trace;
  std::vector<int> reach(2 * size_t(most) + 2, 0);
  const auto at = [most](std::vector<int>& v, int k) -> int& { return v[size_t(ptrdiff_t(k) + most)]; };
  int edits = 0;
  for (bool arrived = false; !arrived; ++edits) {
    trace.push_back(reach);
    for (int k = -edits; k <= edits && !arrived; k += 2) {
      const bool down = k == -edits || (k != edits && at(reach, k - 1) < at(reach, k + 1));
      int x = down ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (x < n && x - k < m && a[size_t(x)] == b[size_t(x - k)]) ++x;
      at(reach, k) = x;
      arrived = x >= n && x - k >= m;
    }
  }
  std::vector<Edit> script;
  int x = n, y = m;
  for (int d = edits - 1; d >= 0; --d) {
    std::vector<int>& v = trace[size_t(d)];
    const int k = x - y;
    const bool down = k == -d || (k != d && at(v, k - 1) < at(v, k + 1));
    const int from = d == 0 ? 0 : down ? at(v, k + 1) : at(v, k - 1);
    const int start = d == 0 ? 0 : down ? from : from + 1;
    while (x > start) script.push_back({' ', a[size_t(--x)]}), --y;
    if (d == 0) break;
    if (down)
      script.push_back({'+', b[size_t(--y)]});
    else
      script.push_back({'-', a[size_t(--x)]});
  }
  std::ranges::reverse(script);
  return script;
}

std::string Range(size_t first, size_t count) {
  return std::to_string(count == 0 ? first : first + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

}  // namespace

json::Value OwnedPart(const json::Value& live, const json::Value& wanted, std::string_view manager) {
  const json::Value* fields = FieldsOf(live, manager);
  if (fields == nullptr) return Like(live, wanted);
  json::Value part = Owned(live, *fields, &wanted);
  for (const std::string_view name : {"apiVersion", "kind"}) {
    if (const json::Value* value = json::Find(live, {name})) json::MakeObject(part, {})[name] = *value;
  }
  for (const std::string_view name : {"name", "namespace"}) {
    if (const json::Value* value = json::Find(live, {"metadata", name}))
      json::MakeObject(part, {"metadata"})[name] = *value;
  }
  return part;
}

std::string UnifiedDiff(std::string_view before, std::string_view after, std::string_view before_name,
                        std::string_view after_name) {
  constexpr size_t kAround = 3;
  if (before == after) return "";
  const Lines a = LinesOf(before), b = LinesOf(after);
  const std::vector<Edit> script = EditsOf(a, b);
  std::string text = "--- " + std::string(before_name) + "\n+++ " + std::string(after_name) + "\n";
  size_t old_line = 0, new_line = 0;  // of script[i]
  for (size_t i = 0; i < script.size();) {
    if (script[i].what == ' ') {
      ++i, ++old_line, ++new_line;
      continue;
    }
    const size_t back = std::min(i, kAround);
    size_t end = i, quiet = 0;
    for (size_t j = i; j < script.size() && quiet <= 2 * kAround; ++j) {
      quiet = script[j].what == ' ' ? quiet + 1 : 0;
      if (quiet == 0) end = j + 1;
    }
    end = std::min(end + kAround, script.size());
    const size_t first_old = old_line - back, first_new = new_line - back;
    std::string hunk;
    size_t old_count = 0, new_count = 0;
    for (size_t j = i - back; j < end; ++j) {
      hunk += script[j].what;
      hunk += std::string(script[j].line) + "\n";
      old_count += script[j].what != '+';
      new_count += script[j].what != '-';
    }
    text += "@@ -" + Range(first_old, old_count) + " +" + Range(first_new, new_count) + " @@\n" + hunk;
    old_line = first_old + old_count;
    new_line = first_new + new_count;
    i = end;
  }
  return text;
}

std::string Coloured(std::string_view diff) {
  constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kCyan = "\x1b[36m", kPlain = "\x1b[0m";
  std::string text;
  while (!diff.empty()) {
    const size_t end = diff.find('\n');
    const std::string_view line = diff.substr(0, end);
    const std::string_view colour = line.starts_with('-')    ? kRed
                                    : line.starts_with('+')  ? kGreen
                                    : line.starts_with("@@") ? kCyan
                                                             : "";
    text += colour;
    text += line;
    if (!colour.empty()) text += kPlain;
    text += '\n';
    diff.remove_prefix(end == diff.npos ? diff.size() : end + 1);
  }
  return text;
}

}  // namespace capstan::render
