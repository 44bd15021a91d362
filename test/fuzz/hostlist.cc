// Whatever text claims to be a hostlist: no crash, never more than the limit, and what is read is written
// back as the same set.
#include "slurm/hostlist.h"

#include <cstdlib>
#include <string_view>

using namespace capstan;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = slurm::ExpandHostlist(text, 1000);
  if (!names) return 0;
  if (names->size() > 1000) abort();
  const slurm::HostSet set(*names);
  const auto again = slurm::HostSet::Parse(set.ToString(), 1000);
  if (!again || *again != set) abort();
  return 0;
}
