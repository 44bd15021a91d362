// The text of slurm.conf, slurmdbd.conf and cgroup.conf: written from typed lines, and read as Slurm reads
// it.
//
// Escaping happens here and nowhere else. A value that Slurm could not read back as it was given is refused
// with one sentence, so that no partition name or host name can smuggle in a line of its own. The same calls
// give the same bytes, so that the text's hash changes only when the configuration does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::slurm {

// One `Key=Value` of a line. Slurm compares keys without regard to case.
struct ConfItem {
  std::string key;
  std::string value;

  bool operator==(const ConfItem&) const = default;
};

// What stands after the `=` for `value`, as slurm.conf wants it: in double quotes when it holds a blank, with
// `\` before `#` and `\`. kInvalid when it is empty or holds a double quote, a line break or another control
// character, none of which slurm.conf can express.
Result<std::string> ConfValue(std::string_view value);

// Builds a configuration text line by line. Errors are kept until Build(), which returns the first; nothing
// needs checking in between.
class ConfText {
 public:
  // ConfigMaps hold 1 MiB in all; text that would not fit is refused here, with its size.
  static constexpr size_t kMaxBytes = 1'000'000;

  // "#" and "### TITLE ###".
  ConfText& Section(std::string_view title);

  // `Key=Value`, for keys that a configuration has once; a second time is an error.
  ConfText& Set(std::string_view key, std::string_view value);
  ConfText& Set(std::string_view key, int64_t value) { return Set(key, std::to_string(value)); }

  // `Key=Value`, for keys that may be repeated, such as SlurmctldHost.
  ConfText& Add(std::string_view key, std::string_view value);

  // One line of several items, such as a partition: "PartitionName=p Nodes=p State=UP".
  ConfText& Line(std::span<const ConfItem> items);

  // A user's own lines as they are, with line ends made LF. An error when they hold a NUL or another control
  // character Slurm would trip over, or end in a `\` that would swallow the line after them.
  ConfText& Verbatim(std::string_view text, std::string_view where);

  // The text, ending in a newline.
  Result<std::string> Build() const;

 private:
  void Refuse(Error error);

  std::string text_;
  std::vector<std::string> keys_;  // lower case, of Set
  std::vector<Error> refused_;     // at most the first
};

// To Slurm that name of a node or a NodeSet stands for something else in any spelling: "all" for every node, "default" for later lines.
bool IsReservedName(std::string_view name);

// A line of a configuration as Slurm sees it: comments and continuations resolved, escapes undone.
struct ConfLine {
  size_t number = 0;  // of its first line in the text, from 1
  std::vector<ConfItem> items;

  bool operator==(const ConfLine&) const = default;
};

// Visits the lines of a configuration as ParseConf reads them, one after the other, and keeps none: for a look at a text
// that may have a megabyte. Ends when `visit` returns false, and at the first line that ParseConf would fail with.
Result<void> ForEachConfLine(std::string_view text, const std::function<bool(const ConfLine&)>& visit);

// Reads a configuration. Empty lines and comments are left out. kInvalid, naming the line, for a line that is
// not a sequence of `Key=Value`, which slurmctld would refuse to start with.
Result<std::vector<ConfLine>> ParseConf(std::string_view text);

// Reads the items of one line, such as a NodeSet's partition config "State=UP Default=YES". Line breaks count
// as blanks only at the ends. kInvalid as above, naming `where`.
Result<std::vector<ConfItem>> ParseConfItems(std::string_view text, std::string_view where);

// Options that must hold whatever the user writes. Some keys, such as SlurmctldParameters, are lists of
// options of which some are required for the cluster to work; when `user_text` sets such a key too, the last
// line wins in Slurm and the required options would be lost. The result is one item for each key of
// `required` that `user_text` also sets, with the union of both: a required option wins over the user's of
// the same name (the text before its `=`, whatever the case), the user's others keep their case (paths have
// one), all in byte order. Keys are spelled and ordered as in a sorted `required`. To be written after the
// user's text. Of a key the user sets twice, the last counts, as in Slurm.
std::vector<ConfItem> MergedOptions(std::span<const ConfItem> required, std::string_view user_text);

// A number as Slurm reads it: "2000", "2k" (of 1024), "0x7d0". nullopt: it is none, or has more than 64 bits.
std::optional<uint64_t> ConfNumber(std::string_view value);

// SHA-256 in hex of what Slurm would see: equal for texts that differ in comments, empty lines or blanks at
// line ends.
std::string ConfHash(std::string_view text);

}  // namespace capstan::slurm
