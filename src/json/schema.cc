#include "json/schema.h"

#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace capstan::json {
namespace {

[[noreturn]] void BrokenTable(const Member& member, const char* what) {
  std::fprintf(stderr, "field table: member \"%s\" %s\n", member.name().c_str(), what);
  std::abort();
}

size_t Slot(std::string_view name, size_t mask) {
  // Length, first, middle and last letter tell most field names of one struct apart.
  size_t hash = name.size();
  if (!name.empty()) {
    hash = hash * 31 + static_cast<unsigned char>(name.front());
    hash = hash * 31 + static_cast<unsigned char>(name[name.size() / 2]);
    hash = hash * 31 + static_cast<unsigned char>(name.back());
  }
  return (hash ^ (hash >> 7)) & mask;
}

}  // namespace

Schema::Schema(std::initializer_list<Member> members, const void* owner) : members_(members) {
  size_t size = 4;
  while (size < members_.size() * 2) size *= 2;
  slots_.assign(size, -1);
  for (size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    if (i >= kMostMembers) BrokenTable(member, "is one too many");
    if (member.owner() != owner) BrokenTable(member, "belongs to another struct");
    if (Find(member.name()) >= 0) BrokenTable(member, "stands there twice");
    const std::string& standard = member.default_json();
    const bool zero = standard.empty() || standard == "\"\"" || standard == "0" || standard == "false";
    if (!zero && member.type().kind != Kind::kOptional) {
      BrokenTable(member, "has a default but is not std::optional");
    }
    if (member.absent_is_empty() && member.type().kind != Kind::kOptional) {
      BrokenTable(member, "is never absent");
    }
    if (const uint8_t number = member.number(); number > 0) {
      if (FindNumber(number) >= 0) BrokenTable(member, "has the protobuf number of another one");
      if (numbers_.size() <= number) numbers_.resize(number + 1u, -1);
      numbers_[number] = int16_t(i);
    }
    size_t slot = Slot(member.name(), size - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = int16_t(i);
  }
}

int Schema::Find(std::string_view name) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = Slot(name, mask); slots_[slot] >= 0; slot = (slot + 1) & mask) {
    if (members_[size_t(slots_[slot])].name() == name) return slots_[slot];
  }
  return -1;
}

Result<int64_t> IntOrString::Of(int64_t total, bool round_up) const {
  if (is_number()) return number();
  const std::string_view written = text();
  const auto percent = written.ends_with('%') ? ParseInt(written.substr(0, written.size() - 1)) : std::nullopt;
  if (!percent || *percent < 0 || *percent > 1'000'000) {
    return Fail(Code::kInvalid, JsonQuoted(written) + " must be an integer or a percentage such as \"25%\"");
  }
  const int64_t share = *percent * total;
  return round_up ? (share + 99) / 100 : share / 100;
}

}  // namespace capstan::json
