#include "json/strategic_merge.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace capstan::json {
namespace {

using boost::json::array;
using boost::json::object;

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";

std::string Under(const std::string& place, std::string_view key) {
  return place.empty() ? std::string(key) : place + "." + std::string(key);
}

std::string ElementOf(const std::string& place, size_t index) { return place + "[" + std::to_string(index) + "]"; }

std::unexpected<Error> Invalid(const std::string& place, std::string_view what) {
  return Fail(Code::kInvalid, (place.empty() ? "the template" : place) + " " + std::string(what));
}

// What `$patch` says in an object: "", "replace", "delete", "merge".
Result<std::string_view> Directive(const object& members, const std::string& place) {
  const Value* patch = members.if_contains(kPatch);
  if (patch == nullptr) return std::string_view();
  const std::string_view word = patch->is_string() ? std::string_view(patch->get_string()) : std::string_view();
  if (word != "replace" && word != "delete" && word != "merge") {
    return Invalid(place, "has an unknown $patch, must be replace, delete or merge");
  }
  return word;
}

// Drops directives and nulls from a value that has nothing to merge with.
Value Plain(const Value& value) {
  if (const auto* members = value.if_object()) {
    object kept;
    for (const auto& member : *members) {
      if (member.key().starts_with('$') || member.value().is_null()) continue;
      kept.emplace(member.key(), Plain(member.value()));
    }
    return kept;
  }
  const auto* elements = value.if_array();
  if (elements == nullptr) return value;
  array kept;
  for (const Value& element : *elements) {
    const auto* members = element.if_object();
    if (members != nullptr && members->contains(kPatch)) continue;
    kept.push_back(Plain(element));
  }
  return kept;
}

// One text for the values of the keys; nullopt when a key that must be there is not.
std::optional<std::string> Identity(const Value& element, std::span<const MergeKey> keys) {
  const auto* members = element.if_object();
  if (members == nullptr) return std::nullopt;
  std::string identity;
  for (const MergeKey& key : keys) {
    const Value* value = members->if_contains(key.name);
    if (value != nullptr && !value->is_null()) {
      identity += SerializeCanonical(*value);
    } else if (!key.when_absent.empty()) {
      identity += JsonQuoted(key.when_absent);
    } else {
      return std::nullopt;
    }
    identity += '\n';
  }
  return identity;
}

// boost::json's own erase does not keep the order of the rest.
void Erase(object& members, std::string_view name) {
  if (const auto at = members.find(name); at != members.end()) members.stable_erase(at);
}

// Texts in the order in which they came, and the place of each: lists may be as long as an object has room for.
class Identities {
 public:
  bool Contains(const std::string& identity) const { return places_.contains(identity); }
  std::optional<size_t> PlaceOf(const std::string& identity) const {
    const auto found = places_.find(identity);
    if (found == places_.end()) return std::nullopt;
    return found->second;
  }
  // REQUIRES: it is not there.
  void Add(const std::string& identity) {
    places_.emplace(identity, all_.size());
    all_.push_back(identity);
  }
  // The place stays taken, by nobody.
  void Remove(const std::string& identity) { places_.erase(identity); }

  size_t size() const { return all_.size(); }
  const std::vector<std::string>& all() const { return all_; }  // those that were removed, too

 private:
  std::vector<std::string> all_;
  std::unordered_map<std::string, size_t> places_;
};

struct KeyedList {
  array elements;  // null where one was removed
  Identities identities;

  void Put(Value element, const std::string& identity) {
    elements.push_back(std::move(element));
    identities.Add(identity);
  }
  void Remove(const std::string& identity) {
    if (const auto at = identities.PlaceOf(identity)) elements[*at] = nullptr;
    identities.Remove(identity);
  }
};

// The order that Kubernetes gives a merged list; see the header.
array Ordered(KeyedList merged, const Identities& overlay, const Identities& base, bool base_first) {
  array result;
  const auto take = [&](const std::string& identity) {
    const auto at = merged.identities.PlaceOf(identity);
    if (!at) return;
    result.push_back(std::move(merged.elements[*at]));
    merged.identities.Remove(identity);
  };
  if (base_first) {
    for (const std::string& identity : merged.identities.all()) take(identity);
    return result;
  }
  std::vector<std::string> base_only;
  for (const std::string& identity : merged.identities.all()) {
    if (merged.identities.Contains(identity) && !overlay.Contains(identity)) base_only.push_back(identity);
  }
  size_t next = 0;
  for (const std::string& identity : overlay.all()) {
    const auto place = base.PlaceOf(identity);
    while (place && next < base_only.size() && *base.PlaceOf(base_only[next]) < *place) take(base_only[next++]);
    take(identity);
  }
  while (next < base_only.size()) take(base_only[next++]);
  return result;
}

class Merger {
 public:
  Result<void> Object(object& base, const object& overlay, const MergeShape* shape, const std::string& place) {
    CAPSTAN_TRY(const std::string_view directive, Directive(overlay, place));
    if (directive == "replace" || directive == "delete") {
      base = directive == "delete" ? object() : Plain(overlay).get_object();
      return {};
    }
    CAPSTAN_CHECK_OK(Retain(base, overlay, place));
    if (shape != nullptr) DropRivals(base, overlay, shape->one_of);
    for (const auto& member : overlay) {
      CAPSTAN_CHECK_OK(OneMember(base, member.key(), member.value(), shape, place));
    }
    return {};
  }

 private:
  static Result<void> Retain(object& base, const object& overlay, const std::string& place) {
    const Value* retain = overlay.if_contains(kRetainKeys);
    if (retain == nullptr) return {};
    if (!retain->is_array()) return Invalid(Under(place, kRetainKeys), "must be a list of names");
    object kept;
    for (const auto& member : base) {
      const auto& names = retain->get_array();
      if (std::ranges::find(names, Value(member.key())) != names.end()) kept.emplace(member.key(), member.value());
    }
    base = std::move(kept);
    return {};
  }

  static void DropRivals(object& base, const object& overlay, std::span<const std::string_view> one_of) {
    const auto set = [&](std::string_view name) {
      const Value* value = overlay.if_contains(name);
      return value != nullptr && !value->is_null();
    };
    if (std::ranges::none_of(one_of, set)) return;
    for (const std::string_view name : one_of) {
      if (!set(name)) Erase(base, name);
    }
  }

  static void DropUnnamed(Value& base, const Value& overlay) {
    object kept;
    for (auto& member : base.get_object()) {
      if (overlay.get_object().contains(member.key())) kept.emplace(member.key(), std::move(member.value()));
    }
    base = std::move(kept);
  }

  Result<void> OneMember(object& base, std::string_view name, const Value& value, const MergeShape* shape,
                         const std::string& place) {
    if (name == kPatch || name == kRetainKeys) return {};
    if (name.starts_with(kDeleteFromList)) {
      DeleteElements(base, name.substr(kDeleteFromList.size()), value);
      return {};
    }
    if (name.starts_with('$')) return Invalid(Under(place, name), "is a directive that is not known here");
    if (value.is_null()) {
      Erase(base, name);
      return {};
    }
    const MergeField* field = shape == nullptr ? nullptr : shape->Find(name);
    return Into(base, name, value, field == nullptr ? MergeField{} : *field, Under(place, name));
  }

  Result<void> Into(object& base, std::string_view name, const Value& value, const MergeField& field,
                    const std::string& place) {
    Value& target = base[name];
    if (const auto* members = value.if_object()) {
      CAPSTAN_TRY(const std::string_view directive, Directive(*members, place));
      if (directive == "delete") {
        Erase(base, name);
        return {};
      }
      if (!target.is_object()) target.emplace_object();
      if (field.retain_keys && directive.empty()) DropUnnamed(target, value);
      return Object(target.get_object(), *members, field.shape, place);
    }
    const auto* elements = value.if_array();
    if (elements == nullptr) {
      target = value;
      return {};
    }
    if (!target.is_array()) target.emplace_array();
    if (!field.keys.empty()) return Keyed(target.get_array(), *elements, field, place);
    if (!field.append || Replaces(*elements)) target = array();
    auto& list = target.get_array();
    Texts present = field.append ? TextsOf(list) : Texts();
    for (const Value& element : Plain(value).get_array()) {
      if (!field.append || present.insert(SerializeCanonical(element)).second) list.push_back(element);
    }
    return {};
  }

  using Texts = std::unordered_set<std::string>;

  static Texts TextsOf(const array& list) {
    Texts texts;
    for (const Value& element : list) texts.insert(SerializeCanonical(element));
    return texts;
  }

  static bool Replaces(const array& elements) {
    return std::ranges::any_of(
        elements, [](const Value& element) { return element.is_object() && FindText(element, {kPatch}) == "replace"; });
  }

  static void DeleteElements(object& base, std::string_view name, const Value& unwanted) {
    Value* list = base.if_contains(name);
    if (list == nullptr || !list->is_array() || !unwanted.is_array()) return;
    const Texts drop = TextsOf(unwanted.get_array());
    array kept;
    for (const Value& element : list->get_array()) {
      if (!drop.contains(SerializeCanonical(element))) kept.push_back(element);
    }
    *list = std::move(kept);
  }

  Result<void> Keyed(array& base, const array& overlay, const MergeField& field, const std::string& place) {
    KeyedList merged;
    if (!Replaces(overlay)) {
      for (Value& element : base) {
        std::optional<std::string> identity = Identity(element, field.keys);
        // Nothing the overlay has can mean an element without a key, or the second of a key.
        if (!identity || merged.identities.Contains(*identity)) identity = "#" + std::to_string(merged.elements.size());
        merged.Put(std::move(element), *identity);
      }
    }
    const Identities before = merged.identities;
    Identities named;
    for (size_t i = 0; i < overlay.size(); ++i) {
      CAPSTAN_CHECK_OK(Element(merged, named, overlay[i], field, ElementOf(place, i)));
    }
    base = Ordered(std::move(merged), named, before, field.base_first);
    return {};
  }

  Result<void> Element(KeyedList& merged, Identities& named, const Value& element, const MergeField& field,
                       const std::string& place) {
    if (!element.is_object()) return Invalid(place, "must be an object");
    CAPSTAN_TRY(const std::string_view directive, Directive(element.get_object(), place));
    std::optional<std::string> identity = Identity(element, field.keys);
    if (!identity) {
      if (directive == "replace") return {};
      return Invalid(place, "has no " + std::string(field.keys.front().name));
    }
    if (directive == "delete") {
      merged.Remove(*identity);
      return {};
    }
    const auto at = merged.identities.PlaceOf(*identity);
    if (!named.Contains(*identity)) named.Add(*identity);
    if (!at) {
      merged.Put(Plain(element), *identity);
      return {};
    }
    Value& target = merged.elements[*at];
    if (field.retain_keys) DropUnnamed(target, element);
    return Object(target.get_object(), element.get_object(), field.shape, place);
  }
};

class Normalizer {
 public:
  std::vector<std::string> notes;

  void Any(Value& value, const MergeShape* shape, const std::string& place) {
    auto* members = value.if_object();
    if (members == nullptr || shape == nullptr) return;
    for (auto& member : *members) {
      const std::string_view name = member.key();
      const std::string here = Under(place, name);
      if (!shape->known.empty() && !name.starts_with('$') &&
          std::ranges::find(shape->known, name) == shape->known.end()) {
        Note(here + " is not a field that Kubernetes is known to have here");
      }
      const MergeField* field = shape->Find(name);
      if (field == nullptr) continue;
      if (auto* elements = member.value().if_array()) {
        if (!field->keys.empty()) KeepLast(*elements, *field, here);
        for (size_t i = 0; i < elements->size(); ++i) Any((*elements)[i], field->shape, ElementOf(here, i));
      } else {
        Any(member.value(), field->shape, here);
      }
    }
  }

 private:
  void Note(std::string sentence) {
    constexpr size_t kMost = 20;
    if (notes.size() < kMost) notes.push_back(std::move(sentence));
  }

  void KeepLast(array& elements, const MergeField& field, const std::string& place) {
    Identities seen;
    array kept;
    for (size_t i = elements.size(); i-- > 0;) {
      const std::optional<std::string> identity = Identity(elements[i], field.keys);
      if (identity && seen.Contains(*identity)) {
        const Value* key = Find(elements[i], {field.keys.front().name});
        Note(place + " has " + std::string(field.keys.front().name) + " " +
             (key == nullptr ? "\"\"" : Serialize(*key)) + " twice; the last one is taken");
        continue;
      }
      if (identity) seen.Add(*identity);
      kept.push_back(std::move(elements[i]));
    }
    std::reverse(kept.begin(), kept.end());
    elements = std::move(kept);
  }
};

}  // namespace

const MergeField* MergeShape::Find(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &MergeField::name);
  return found == fields.end() ? nullptr : &*found;
}

Result<void> StrategicMerge(Value& base, const Value& overlay, const MergeShape& shape) {
  if (!overlay.is_object()) return Invalid("", "must be an object");
  if (!base.is_object()) base.emplace_object();
  return Merger().Object(base.get_object(), overlay.get_object(), &shape, "");
}

std::vector<std::string> Normalize(Value& overlay, const MergeShape& shape) {
  Normalizer normalizer;
  normalizer.Any(overlay, &shape, "");
  return std::move(normalizer.notes);
}

}  // namespace capstan::json
