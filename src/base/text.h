// Small operations on text that the standard library lacks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// Without blanks, tabs, CR and LF at both ends. The result points into `text`.
std::string_view Trim(std::string_view text);

// The pieces between separators; "" gives one empty piece. The results point into `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

// The words between runs of blanks, tabs, CR and LF; never an empty word.
std::vector<std::string_view> Words(std::string_view text);

std::string Join(std::span<const std::string> parts, std::string_view separator);

std::string ToLower(std::string_view text);                     // ASCII only
bool EqualsIgnoreCase(std::string_view a, std::string_view b);  // ASCII only

// `text` in one line of at most `limit` bytes, without what a terminal would take for a command: what others wrote, for
// people to read. Never cut within a character of UTF-8.
std::string OneLine(std::string_view text, size_t limit);

// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string JsonQuoted(std::string_view text);

// RFC 3986: letters, digits and the bytes of `plain` as they are, all others as %XX.
std::string PercentEncoded(std::string_view text, std::string_view plain = "-._~");

// nullopt: a "%" without two hex digits behind it.
std::optional<std::string> PercentDecoded(std::string_view text);

// The whole of `text` as a decimal number; nullopt when it is anything else or does not fit.
std::optional<int64_t> ParseInt(std::string_view text);

}  // namespace capstan
