// Field tables: the one description of a struct from which come its decoder and encoder (codec.h), its
// defaults (defaults.h), the schema of a CustomResourceDefinition and the reference page (openapi.h).
//
//   struct Partition {
//     std::optional<bool> enabled;          // optional: absent differs from false
//     std::string config;                   // plain: absent is the same as ""
//     static const json::Schema& Schema();
//   };
//   const json::Schema& Partition::Schema() {
//     static const json::Schema schema = json::Object<Partition>({
//         json::Field<&Partition::enabled>("enabled")
//             .Required().Default("false").Doc("Make a partition of this set."),
//         json::Field<&Partition::config>("config").Pattern("^[^\n]+$").Doc("Options of its line."),
//     });
//     return schema;
//   }
//
// A table may also know the numbers of its fields in Kubernetes' protobuf: then a second decoder reads it (protobuf.h).
//
// Member types: bool, integers, double, std::string, json::Text, json::SharedText, capstan::Time (RFC 3339), capstan::Secret, json::Raw,
// json::IntOrString, json::Digest, any struct with Schema(), and std::optional, std::vector and
// std::map<std::string, ...> of these. A table may name members of its own struct only; a mistake in a table
// (a member of another struct, a name twice, a default on a member that is not optional) ends the process at
// the table's first use, with a sentence.
//
// Tables are plain data, read by one interpreter each for decoding and encoding: a struct costs some hundred
// bytes of code, not a parser of its own. They are built once, at first use, and immutable from then on; any
// thread may read.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/secret.h"
#include "base/time.h"
#include "json/text.h"
#include "json/types.h"

namespace capstan::json {

class Schema;

// --- What a member is ------------------------------------------------------------------------------------------------

enum class Kind : uint8_t {
  kBool,
  kInteger,
  kNumber,
  kString,
  kTime,
  kSecret,
  kRaw,
  kDigest,
  kIntOrString,
  kObject,
  kOptional,
  kList,
  kMap,
};

// How the interpreters reach into a value of one C++ type. `void*` is always a pointer to that type.
struct Type {
  using Visit = void (*)(void* context, std::string_view key, const void* element);

  Kind kind;
  uint8_t bytes = 0;                                  // integers: 1, 2, 4, 8; kString: of the text object itself
  bool is_signed = false;                             // integers
  const Type* element = nullptr;                      // kOptional, kList, kMap
  const Schema& (*schema)() = nullptr;                // kObject
  void (*reset)(void*) = nullptr;                     // back to what a default-made value is
  void* (*add)(void*, std::string_view) = nullptr;    // kOptional, kList, kMap: a fresh element; its address
  void (*each)(const void*, Visit, void*) = nullptr;  // kOptional, kList, kMap: all elements in order
  void (*assign)(void*, std::string_view) = nullptr;  // kString
  std::string_view (*view)(const void*) = nullptr;    // kString
  size_t (*heap)(const void*) = nullptr;              // kString: bytes that this one alone holds on the heap
};

// --- A table's row ---------------------------------------------------------------------------------------------------

// One rule in the Common Expression Language, checked by the API server.
struct Rule {
  std::string cel;
  std::string message;             // what is wrong and what would be right; users see it
  std::string message_expression;  // instead of `message` where the sentence needs values; may be empty
  bool optional_old_self = false;  // the rule itself handles creation (oldSelf is then an optional)
};

// What the API server checks of a value. Unset means unchecked.
struct Constraints {
  std::string format;   // "int32", "date-time"; integers and times have theirs by type
  std::string pattern;  // RE2
  std::vector<std::string> enumeration;
  std::optional<int64_t> minimum, maximum;
  std::optional<int64_t> min_length, max_length;  // characters of text
  std::optional<int64_t> min_items, max_items;    // of lists
  std::optional<int64_t> max_properties;          // of maps
};

// One row of a table. Made by Field<>; every method returns the row, for chaining. Only name and member
// matter to the codec; all else is for the schema and the reference page.
class Member {
 public:
  using At = void* (*)(void* object);

  Member(std::string_view name, const Type& type, At at, const void* owner)
      : name_(name), type_(&type), at_(at), owner_(owner) {}

  Member&& Doc(std::string_view text) && { return doc_ = text, std::move(*this); }
  Member&& Required() && { return required_ = true, std::move(*this); }
  // JSON text of the value that an absent one gets. REQUIRES: the member is a std::optional, or the default
  // is its zero value.
  Member&& Default(std::string_view json) && { return default_ = json, std::move(*this); }
  // On an optional object: absent means no more than empty. defaults.h makes it; nobody else sees it.
  Member&& AbsentIsEmpty() && { return absent_is_empty_ = true, std::move(*this); }
  // Null stays null at the API server instead of being dropped. The codec takes null as absent in any case.
  Member&& Nullable() && { return nullable_ = true, std::move(*this); }
  // Encoded even when zero, false or empty.
  Member&& Always() && { return always_ = true, std::move(*this); }
  // Never encoded: what only the server writes.
  Member&& DecodeOnly() && { return decode_only_ = true, std::move(*this); }
  // An integer that JSON carries as text ("resourceVersion": "17"); "" is 0.
  Member&& AsText() && { return as_text_ = true, std::move(*this); }

  // The field's number in Kubernetes' protobuf (protobuf.h), as the generated.proto of its API group has it. A struct of
  // which every row has one, and the rows of its members too, is read as protobuf where the server can.
  Member&& Number(uint8_t number) && { return number_ = number, std::move(*this); }
  // In protobuf the value is field 1 of a message of its own: resource.Quantity, fieldsV1.
  Member&& Wrapped() && { return wrapped_ = true, std::move(*this); }

  Member&& Enum(std::vector<std::string> values) && { return own_.enumeration = std::move(values), std::move(*this); }
  Member&& Pattern(std::string_view re2) && { return own_.pattern = re2, std::move(*this); }
  Member&& Format(std::string_view name) && { return own_.format = name, std::move(*this); }
  Member&& Minimum(int64_t n) && { return own_.minimum = n, std::move(*this); }
  Member&& Maximum(int64_t n) && { return own_.maximum = n, std::move(*this); }
  Member&& MinLength(int64_t n) && { return own_.min_length = n, std::move(*this); }
  Member&& MaxLength(int64_t n) && { return own_.max_length = n, std::move(*this); }
  Member&& MinItems(int64_t n) && { return own_.min_items = n, std::move(*this); }
  Member&& MaxItems(int64_t n) && { return own_.max_items = n, std::move(*this); }
  Member&& MaxProperties(int64_t n) && { return own_.max_properties = n, std::move(*this); }
  // The same for each element of a list or each value of a map.
  Member&& Each(Constraints constraints) && { return each_ = std::move(constraints), std::move(*this); }
  // A rule about this value alone (`self`).
  Member&& Rule(std::string_view cel, std::string_view message) && {
    return rules_.push_back({std::string(cel), std::string(message), {}, false}), std::move(*this);
  }
  Member&& Rule(json::Rule rule) && { return rules_.push_back(std::move(rule)), std::move(*this); }

  // On json::Raw: the schema of its value, as JSON. Without one it is an object of any content. The
  // description of this row is added.
  Member&& RawSchema(std::string_view json) && { return raw_schema_ = json, std::move(*this); }
  // A list whose elements are told apart by these fields, and merged one by one by server-side apply.
  Member&& ListMap(std::vector<std::string> keys) && { return list_keys_ = std::move(keys), std::move(*this); }
  // A list or map that server-side apply replaces as a whole.
  Member&& Atomic() && { return atomic_ = true, std::move(*this); }

  const std::string& name() const { return name_; }
  const Type& type() const { return *type_; }
  void* at(void* object) const { return at_(object); }
  const void* at(const void* object) const { return at_(const_cast<void*>(object)); }
  const void* owner() const { return owner_; }
  const std::string& doc() const { return doc_; }
  const std::string& default_json() const { return default_; }  // empty: no default
  const Constraints& constraints() const { return own_; }
  const Constraints& each() const { return each_; }
  const std::vector<json::Rule>& rules() const { return rules_; }
  const std::vector<std::string>& list_keys() const { return list_keys_; }
  bool required() const { return required_; }
  bool nullable() const { return nullable_; }
  bool always() const { return always_; }
  bool as_text() const { return as_text_; }
  bool decode_only() const { return decode_only_; }
  bool absent_is_empty() const { return absent_is_empty_; }
  const std::string& raw_schema() const { return raw_schema_; }
  bool atomic() const { return atomic_; }
  uint8_t number() const { return number_; }  // 0: none
  bool wrapped() const { return wrapped_; }

 private:
  std::string name_;
  const Type* type_;
  At at_;
  const void* owner_;  // which struct `at_` expects
  bool required_ = false, nullable_ = false, always_ = false, as_text_ = false, decode_only_ = false,
       absent_is_empty_ = false;
  bool atomic_ = false, wrapped_ = false;
  uint8_t number_ = 0;
  std::string doc_, default_, raw_schema_;
  Constraints own_, each_;
  std::vector<json::Rule> rules_;
  std::vector<std::string> list_keys_;
};

// --- A table ---------------------------------------------------------------------------------------------------------

class Schema {
 public:
  static constexpr size_t kMostMembers = 256;

  // REQUIRES: all members are of the struct that `owner` stands for, their names differ. Use Object<T>().
  Schema(std::initializer_list<Member> members, const void* owner);

  // A rule about the object as a whole (`self`, `oldSelf`). A rule that mentions oldSelf is checked on
  // updates only.
  Schema&& Rule(std::string_view cel, std::string_view message) && {
    return rules_.push_back({std::string(cel), std::string(message), {}, false}), std::move(*this);
  }
  Schema&& Rule(json::Rule rule) && { return rules_.push_back(std::move(rule)), std::move(*this); }
  // Server-side apply replaces the object as a whole (x-kubernetes-map-type: atomic).
  Schema&& Atomic() && { return atomic_ = true, std::move(*this); }
  Schema&& Doc(std::string_view text) && { return doc_ = text, std::move(*this); }

  const std::vector<Member>& members() const { return members_; }
  const std::vector<json::Rule>& rules() const { return rules_; }
  const std::string& doc() const { return doc_; }
  bool atomic() const { return atomic_; }

  // Index of the member of that JSON name, or -1.
  int Find(std::string_view name) const;
  // The same by the number of its field in protobuf.
  int FindNumber(uint32_t number) const { return number < numbers_.size() ? numbers_[number] : -1; }

 private:
  std::vector<Member> members_;
  std::vector<int16_t> numbers_;  // by protobuf number; empty when no row has one
  std::vector<int16_t> slots_;    // open addressing by name; a power of two, at most half full
  std::vector<json::Rule> rules_;
  std::string doc_;
  bool atomic_ = false;
};

// -----------------------------------------------------------------------------------------------------------------------
// How Type is derived from a C++ type; nothing below is called directly.

template <class T>
concept HasSchema = requires {
  { T::Schema() } -> std::same_as<const Schema&>;
};

template <class T>
void ResetValue(void* value) {
  *static_cast<T*>(value) = T();
}

template <class T>
struct TypeTraits;

template <class T>
inline constexpr Type kType = TypeTraits<T>::kValue;

template <class T>
struct ScalarType {
  static constexpr Type Make(Kind kind) { return {.kind = kind, .reset = &ResetValue<T>}; }
};

template <class T>
  requires std::integral<T>
struct TypeTraits<T> {
  static constexpr Type kValue = {.kind = std::same_as<T, bool> ? Kind::kBool : Kind::kInteger,
                                  .bytes = sizeof(T),
                                  .is_signed = std::is_signed_v<T>,
                                  .reset = &ResetValue<T>};
};
template <>
struct TypeTraits<double> {
  static constexpr Type kValue = ScalarType<double>::Make(Kind::kNumber);
};
inline size_t HeapBytesOf(const std::string& text) {
  constexpr size_t kInside = sizeof(std::string) / 2 - 1;
  return text.capacity() > kInside ? text.capacity() + 1 : 0;
}
inline size_t HeapBytesOf(const Text& text) { return text.heap_bytes(); }
inline size_t HeapBytesOf(const SharedText&) { return 0; }

template <class T>
concept TextType = std::same_as<T, std::string> || std::same_as<T, Text> || std::same_as<T, SharedText>;

template <TextType T>
struct TypeTraits<T> {
  static constexpr Type kValue = {
      .kind = Kind::kString,
      .bytes = sizeof(T),
      .reset = &ResetValue<T>,
      .assign =
          [](void* value, std::string_view text) {
            if constexpr (std::same_as<T, std::string>)
              static_cast<T*>(value)->assign(text);
            else
              *static_cast<T*>(value) = T(text);
          },
      .view = [](const void* value) { return std::string_view(*static_cast<const T*>(value)); },
      .heap = [](const void* value) { return HeapBytesOf(*static_cast<const T*>(value)); }};
};
template <>
struct TypeTraits<Time> {
  static constexpr Type kValue = ScalarType<Time>::Make(Kind::kTime);
};
template <>
struct TypeTraits<Secret> {
  static constexpr Type kValue = ScalarType<Secret>::Make(Kind::kSecret);
};
template <>
struct TypeTraits<Raw> {
  static constexpr Type kValue = ScalarType<Raw>::Make(Kind::kRaw);
};
template <>
struct TypeTraits<Digest> {
  static constexpr Type kValue = ScalarType<Digest>::Make(Kind::kDigest);
};
template <>
struct TypeTraits<IntOrString> {
  static constexpr Type kValue = ScalarType<IntOrString>::Make(Kind::kIntOrString);
};

template <HasSchema T>
struct TypeTraits<T> {
  static constexpr Type kValue = {.kind = Kind::kObject, .schema = &T::Schema, .reset = &ResetValue<T>};
};

template <class T>
struct TypeTraits<std::optional<T>> {
  using Value = std::optional<T>;
  static constexpr Type kValue = {
      .kind = Kind::kOptional,
      .element = &kType<T>,
      .reset = [](void* value) { static_cast<Value*>(value)->reset(); },
      .add = [](void* value, std::string_view) -> void* { return &static_cast<Value*>(value)->emplace(); },
      .each =
          [](const void* value, Type::Visit visit, void* context) {
            if (const auto& held = *static_cast<const Value*>(value)) visit(context, {}, &*held);
          }};
};

template <class T>
struct TypeTraits<std::vector<T>> {
  static_assert(!std::same_as<T, bool>, "a list of bool has no addressable elements");
  using Value = std::vector<T>;
  static constexpr Type kValue = {
      .kind = Kind::kList,
      .element = &kType<T>,
      .reset = [](void* value) { static_cast<Value*>(value)->clear(); },
      .add = [](void* value, std::string_view) -> void* { return &static_cast<Value*>(value)->emplace_back(); },
      .each =
          [](const void* value, Type::Visit visit, void* context) {
            for (const T& element : *static_cast<const Value*>(value)) visit(context, {}, &element);
          }};
};

template <class T, class Compare>
struct TypeTraits<std::map<std::string, T, Compare>> {
  using Value = std::map<std::string, T, Compare>;
  static constexpr Type kValue = {
      .kind = Kind::kMap,
      .element = &kType<T>,
      .reset = [](void* value) { static_cast<Value*>(value)->clear(); },
      .add = [](void* value, std::string_view key) -> void* {
        return &static_cast<Value*>(value)->insert_or_assign(std::string(key), T()).first->second;
      },
      .each =
          [](const void* value, Type::Visit visit, void* context) {
            for (const auto& [key, element] : *static_cast<const Value*>(value)) visit(context, key, &element);
          }};
};

template <class T>
inline constexpr char kOwner = 0;  // its address stands for T

template <class M>
struct MemberPointer;
template <class T, class M>
struct MemberPointer<M T::*> {
  using Object = T;
  using Value = M;
};

// A row for the member `kMember`, called `name` in JSON.
template <auto kMember>
Member Field(std::string_view name) {
  using Pointer = MemberPointer<decltype(kMember)>;
  return Member(
      name, kType<typename Pointer::Value>,
      [](void* object) -> void* { return &(static_cast<typename Pointer::Object*>(object)->*kMember); },
      &kOwner<typename Pointer::Object>);
}

// The table of T.
template <class T>
Schema Object(std::initializer_list<Member> members) {
  return Schema(members, &kOwner<T>);
}

}  // namespace capstan::json
