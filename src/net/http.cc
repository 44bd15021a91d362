#include "net/http.h"

#include "base/text.h"

namespace capstan::net {

std::string_view Find(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (EqualsIgnoreCase(key, name)) return value;
  }
  return {};
}

}  // namespace capstan::net
