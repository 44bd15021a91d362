#include "slurm/token_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/text.h"

namespace capstan::slurm {
namespace {

constexpr size_t kLongest = 16 << 10;
constexpr std::string_view kName = "SLURM_JWT=";

std::unexpected<Error> Wrong(const std::string& place, std::string_view what) {
  return Fail(Code::kUnauthenticated, "the token of Slurm in " + place + ": " + std::string(what));
}

// It becomes a line of a request.
bool IsTokenCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' ||
         c == '_' || c == '=';
}

}  // namespace

Result<Secret> TokenIn(std::string_view text, const std::string& place) {
  std::string_view token = Trim(text);
  if (token.starts_with(kName)) token = Trim(token.substr(kName.size()));
  if (token.empty()) return Wrong(place, "it is empty");
  if (!std::ranges::all_of(token, IsTokenCharacter)) return Wrong(place, "it is not a token alone");
  return Secret(std::string(token));
}

Result<Secret> TokenFrom(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return Wrong(path, std::strerror(errno));
  std::string text(kLongest + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad()) return Wrong(path, "it cannot be read");
  text.resize(size_t(file.gcount()));
  if (text.size() > kLongest) return Wrong(path, "it is larger than 16 KiB");
  return TokenIn(text, path);
}

}  // namespace capstan::slurm
