#include "json/patch_diff.h"

#include <algorithm>
#include <vector>

namespace capstan::json {
namespace {

// Elements of one list times those of the other that are compared, each with each.
constexpr size_t kMostPairs = 10'000;

std::string Below(const std::string& path, std::string_view key) { return path + JsonPointer({key}); }
std::string Below(const std::string& path, size_t index) { return path + "/" + std::to_string(index); }

class Difference {
 public:
  void Compare(const std::string& path, const Value& from, const Value& to) {
    if (from == to) return;
    if (from.is_object() && to.is_object()) return CompareObjects(path, from.get_object(), to.get_object());
    if (from.is_array() && to.is_array()) return CompareLists(path, from.get_array(), to.get_array());
    patch_.Replace(path, Serialize(to));
  }

  JsonPatch Take() { return std::move(patch_); }

 private:
  void CompareObjects(const std::string& path, const boost::json::object& from, const boost::json::object& to) {
    for (const auto& member : from) {
      if (!to.contains(member.key())) patch_.Remove(Below(path, member.key()));
    }
    for (const auto& member : to) {
      const Value* const old = from.if_contains(member.key());
      if (!old) {
        patch_.Add(Below(path, member.key()), Serialize(member.value()));
      } else {
        Compare(Below(path, member.key()), *old, member.value());
      }
    }
  }

  void CompareLists(const std::string& path, const boost::json::array& from, const boost::json::array& to) {
    size_t front = 0, back = 0;
    const size_t shorter = std::min(from.size(), to.size());
    while (front < shorter && from[front] == to[front]) ++front;
    while (back < shorter - front && from[from.size() - 1 - back] == to[to.size() - 1 - back]) ++back;
    const size_t before = from.size() - front - back, after = to.size() - front - back;
    if (before > 0 && after > kMostPairs / before) {
      patch_.Replace(path, Serialize(Value(to)));
      return;
    }
    Align(path, from, to, front, before, after);
  }

  // Least elements touched (Levenshtein's distance), and then from the last one to the first: what is done
  // further up moves no index further down.
  void Align(const std::string& path, const boost::json::array& from, const boost::json::array& to, size_t front,
             size_t before, size_t after) {
    const auto same = [&](size_t i, size_t j) { return from[front + i] == to[front + j]; };
    std::vector<std::vector<size_t>> cost(before + 1, std::vector<size_t>(after + 1));
    for (size_t i = 0; i <= before; ++i) {
      for (size_t j = 0; j <= after; ++j) {
        if (i == 0 || j == 0) {
          cost[i][j] = i + j;
        } else {
          cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + !same(i - 1, j - 1)});
        }
      }
    }
    for (size_t i = before, j = after; i > 0 || j > 0;) {
      if (i > 0 && j > 0 && cost[i][j] == cost[i - 1][j - 1] + !same(i - 1, j - 1)) {
        --i, --j;
        Compare(Below(path, front + i), from[front + i], to[front + j]);
      } else if (i > 0 && cost[i][j] == cost[i - 1][j] + 1) {
        --i;
        patch_.Remove(Below(path, front + i));
      } else {
        --j;
        patch_.Add(Below(path, front + i), Serialize(to[front + j]));
      }
    }
  }

  JsonPatch patch_;
};

}  // namespace

JsonPatch JsonPatchBetween(const Value& from, const Value& to) {
  Difference difference;
  difference.Compare("", from, to);
  return difference.Take();
}

}  // namespace capstan::json
