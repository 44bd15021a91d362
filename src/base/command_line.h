// The words of a command line as getopt_long(3) reads them, for whoever takes some options out of what a user wrote.
//
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// What a program takes: getopt's own text of short options ("Df:F::": -D alone, -f with a value, -F with one that is
// attached to it or missing), and the long ones. A long option may be cut short as long as no other begins so.
struct LongOption {
  std::string_view name;  // without dashes
  bool valued = false;
};
struct OptionSyntax {
  std::string_view letters;
  std::span<const LongOption> longs = {};
};

// Those of Slurm's daemons, for the two who read their command lines and share nothing but this folder: capstan-entry and the
// operator.
extern const OptionSyntax kSlurmdSyntax;
extern const OptionSyntax kSlurmctldSyntax;
extern const OptionSyntax kSlurmrestdSyntax;

struct TakenOption {
  std::string name;   // "-N", "--conf-server"
  std::string value;  // "" for one without
};

// Takes the options `wanted` ("-N", "--conf-server") out of `words`, wherever they stand before a "--", alone or among others
// ("-DvN"), and returns them in their order. All else stays as it is.
std::vector<TakenOption> TakeOptions(const OptionSyntax& syntax, std::span<const std::string_view> wanted,
                                     std::vector<std::string>* words);

}  // namespace capstan
