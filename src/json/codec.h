// JSON text to structs and back, by their field tables (schema.h).
//
//   Result<Pod> pod = json::Decode<Pod>(text);
//   std::string text = json::Encode(pod);
//
// Decoding takes fields in any order, skips those the table does not name, takes null as absent, and lets the
// last of two equal keys win. It checks types, not constraints: those are the API server's business, and text
// from a server is taken as far as it can be. Numbers with a zero fraction (1.0, 1e3) are integers. Errors
// are kInvalid and name the place: `spec.replicas is "x", must be an integer`, `items[2].metadata.name is
// true, must be text`. Values of Secrets are never quoted in them. Text that is not JSON, larger than the
// limit, of more elements, or nested deeper than it is kInvalid too. What is skipped is only checked for balanced brackets,
// closed strings and UTF-8.
//
// Encoding writes members in the table's order and only what is set: an optional that holds something, a
// plain member that is not zero, false or empty, an object in which something is set. Members marked Always()
// are written in any case. Elements of lists and maps are always written. The same value gives the same text
// in every process.
//
// Nothing here throws or waits. Functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/schema.h"

namespace capstan::json {

// Decodes many texts one after the other with the memory of the first. For streams of events; elsewhere
// Decode<T>() does. One thread at a time.
class Decoder {
 public:
  // Bytes that must be readable (of any content) behind a text that is to be decoded where it lies.
  static constexpr size_t kPadding = 64;

  struct Limits {
    size_t bytes = size_t{512} << 20;
    size_t elements = SIZE_MAX;  // of all lists and maps together: three bytes may stand for a struct of many
  };

  Decoder() : Decoder(Limits()) {}
  explicit Decoder(Limits limits);
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  // `out` becomes what `text` says: what it held before is gone. `readable` is how many bytes from
  // text.data() on may be read; with text.size() + kPadding nothing is copied, with less the text is copied
  // once. After an error `out` is valid but holds only part.
  template <class T>
  Result<void> DecodeInto(T& out, std::string_view text, size_t readable = 0) {
    return Run(kType<T>, &out, text, readable);
  }

 private:
  friend Result<void> DecodeValue(const Type& type, void* out, std::string_view text);
  struct State;

  Result<void> Run(const Type& type, void* out, std::string_view text, size_t readable);

  std::unique_ptr<State> state_;
  Limits limits_;
};

// The value of a type known only by its Type; for code that walks tables.
Result<void> DecodeValue(const Type& type, void* out, std::string_view text);
void EncodeValue(const Type& type, const void* value, std::string& out);

template <class T>
Result<T> Decode(std::string_view text) {
  T value{};
  if (Result<void> done = DecodeValue(kType<T>, &value, text); !done) return Fail(std::move(done).error());
  return value;
}

// Appends to `out`.
template <class T>
void EncodeTo(std::string& out, const T& value) {
  EncodeValue(kType<T>, &value, out);
}

template <class T>
std::string Encode(const T& value) {
  std::string out;
  EncodeTo(out, value);
  return out;
}

// True when Encode would write nothing for a member of this value.
bool IsUnset(const Type& type, const void* value);

// Appends `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
void AppendQuoted(std::string& out, std::string_view text);

}  // namespace capstan::json
