// Bytes that must not be seen: keys, tokens, passwords.
//
// A Secret does not convert to text, format or log; whoever needs the bytes says Reveal() where a reader can
// find it. The bytes are wiped when the Secret is destroyed or moved from.
#pragma once

#include <string>
#include <string_view>

namespace capstan {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string bytes) : bytes_(std::move(bytes)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret other) noexcept;
  ~Secret();

  std::string_view Reveal() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

  // A short name for these bytes that tells equal from different within this process and nothing else: keyed
  // with random bytes drawn at start, so that it cannot be compared across processes or looked up.
  std::string Digest() const;

  friend bool operator==(const Secret& a, const Secret& b);  // in constant time

 private:
  std::string bytes_;
};

}  // namespace capstan
