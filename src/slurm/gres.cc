#include "slurm/gres.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace capstan::slurm {
namespace {

// Of "gpu:a100:4", whose name is known.
int64_t CountOf(std::string_view one) {
  const size_t colon = one.rfind(':');
  if (colon == one.npos) return 1;
  std::string_view number = one.substr(colon + 1);
  const bool is_type = number.empty() || std::isdigit(static_cast<unsigned char>(number.front())) == 0;
  return is_type ? 1 : std::max<int64_t>(0, ParseInt(number).value_or(0));
}

}  // namespace

int64_t GresCount(std::string_view gres, std::string_view name) {
  int64_t count = 0;
  while (!gres.empty()) {
    const size_t end = gres.find_first_of(",(");
    const std::string_view one = Trim(gres.substr(0, end));
    if (one.substr(0, one.find(':')) == name) count += CountOf(one);
    if (end == gres.npos) break;
    gres.remove_prefix(end);
    if (gres.front() == '(') gres.remove_prefix(std::min(gres.size(), gres.find(')')));
    gres.remove_prefix(std::min(gres.size(), gres.find(',')));
    if (!gres.empty()) gres.remove_prefix(1);
  }
  return count;
}

}  // namespace capstan::slurm
