// Whatever text claims to be a hostlist: no crash, never more than the limit, and what is read is written
// back as the same set. To compare it takes no more than its bytes, whatever it stands for, and comes to what its names
// come to.
#include "slurm/hostlist.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "work.h"

using namespace capstan;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  slurm::HostIndex index(1000);
  bool all = true;
  {
    const fuzzing::Work work(size, 256 << 10, 1000);
    const auto list = slurm::Hostlist::Parse(text);
    all = list && index.Add(*list);
    if (all && !index.ForEachMissing(*list, [](const std::string&) -> bool { abort(); })) all = false;
  }
  const auto names = slurm::ExpandHostlist(text, 1000);
  if (!names) return 0;
  auto sorted = *names;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (all && index.Names() != sorted) abort();
  if (names->size() > 1000) abort();
  const slurm::HostSet set(*names);
  const auto again = slurm::HostSet::Parse(set.ToString(), 1000);
  if (!again || *again != set) abort();
  return 0;
}
