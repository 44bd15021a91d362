// What a daemon that does not start says of it, as people are to read it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "entry/configuration.h"

namespace capstan::entry {

// Hears what a daemon writes to its standard error, and remembers little of it.
class LastWords {
 public:
  void Hear(std::string_view bytes);

  // The fatal line, and the error before it if that fits into `limit` bytes, in one line; without one the last errors, else the
  // last line; "" if it said nothing. What may be a password of `configuration` is "***".
  std::string Quote(const Configuration& configuration, size_t limit) const;

 private:
  void HearLine();

  std::string line_;               // that is not at its end yet
  std::string last_;               // line that says something
  std::deque<std::string> wrong_;  // "error: ..." and "fatal: ...", at most two
};

// `text` with "***" for what stands behind an option whose name has "pass" in it, in the text itself or in a file of the
// configuration: Slurm repeats pieces of a line that it cannot read without its name.
std::string WithoutPasswords(std::string text, const Configuration& configuration);

}  // namespace capstan::entry
