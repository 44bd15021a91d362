// The options of Slurm's configuration files, as Slurm 26.05 knows them.
#pragma once

#include <string>
#include <string_view>

namespace capstan::slurm {

enum class OptionType {
  kText,
  kBool,      // yes, up, true or 1; no, down, false or 0
  kNumber16,  // a number of at most 16 bits; "k" for 1024; INFINITE or UNLIMITED
  kNumber32,
  kNumber64,
  kReal,
  kLine,  // begins a line that has options of its own
};

struct OptionTable;

// `line`: of a kLine, what its line may hold besides; nullptr otherwise, and of a line that holds nothing else.
struct Option {
  std::string_view name;
  OptionType type;
  const OptionTable* line = nullptr;
};

// nullptr: no such option. Names are compared without regard to case.
const Option* FindOption(const OptionTable& table, std::string_view name);

// The option whose name is nearest to a misspelt one; "": none is near.
std::string_view NearestOption(const OptionTable& table, std::string_view name);

const OptionTable& SlurmOptions();
const OptionTable& PartitionOptions();  // of a line that begins with PartitionName
const OptionTable& CgroupOptions();
const OptionTable& GresOptions();
const OptionTable& SlurmdbdOptions();
const OptionTable& TopologyOptions();

}  // namespace capstan::slurm
