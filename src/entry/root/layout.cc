#include "entry/root/layout.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"

namespace capstan::entry {
namespace {

constexpr std::string_view kFirstLine = "capstan-root 1";
constexpr std::string_view kLastLine = "end";
constexpr size_t kLongestLabel = 63;
constexpr size_t kLongestFolder = 1024;
constexpr size_t kMostFolders = 96;

constexpr auto kAlwaysThePods = std::to_array<std::string_view>({"/proc", "/sys", "/dev", "/run"});
constexpr auto kThePodsWhereThere =
    std::to_array<std::string_view>({"/tmp", "/var/tmp", "/var/log", "/var/spool/slurmd", "/var/lib/sss"});
// A mount over one of these, or below the first ones, would take the root's programs or the pod's devices away; and one above, below or
// over what is the pod's (kThePodsWhereThere) its daemons' files.
constexpr auto kNothingBelow = std::to_array<std::string_view>(
    {"/proc", "/sys", "/dev", "/run", "/etc", "/boot", "/var/run", "/var/lock", "/capstan", "/var/lib/extrausers",
     "/mnt/ssh-config", "/mnt/ssh-host-keys", "/mnt/sssd-conf"});
constexpr auto kNotItself =
    std::to_array<std::string_view>({"/", "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/bin", "/sbin",
                                     "/lib", "/lib64", "/mnt", "/var"});

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

bool IsSameOrBelow(std::string_view path, std::string_view folder) { return path == folder || IsBelow(path, folder); }

bool IsPlainPath(std::string_view path) {
  if (path.size() < 2 || path.size() > kLongestFolder || path.front() != '/') return false;
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) return false;
  return std::ranges::none_of(Split(path.substr(1), '/'),
                              [](std::string_view name) { return name.empty() || name == "." || name == ".."; });
}

Result<void> CheckFolder(std::string_view path) {
  const std::string quoted = "\"" + OneLine(path, 200) + "\"";
  if (path != "/" && !IsPlainPath(path))
    return Fail(Code::kInvalid,
                quoted + " is no folder's path: it must begin with /, and have no part that is empty, . or ..");
  const bool taken = std::ranges::find(kNotItself, path) != kNotItself.end() ||
                     std::ranges::any_of(kNothingBelow, [&](std::string_view f) { return IsSameOrBelow(path, f); }) ||
                     std::ranges::any_of(kThePodsWhereThere, [&](std::string_view f) {
                       return IsSameOrBelow(path, f) || IsBelow(f, path);
                     });
  if (taken)
    return Fail(Code::kInvalid,
                quoted + " cannot be kept, node-local or a mount: a root needs its own, or has the pod's");
  return {};
}

}  // namespace

bool IsLabel(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kLongestLabel && plain(name.front()) && plain(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-'; });
}

Result<void> CheckLayout(const Layout& layout) {
  if (!IsLabel(layout.generation))
    return Fail(Code::kInvalid, "\"" + OneLine(layout.generation, 80) +
                                    "\" is no generation's name: it must be 1 to 63 of a-z, 0-9 and -");
  std::vector<std::string_view> all(layout.keep.begin(), layout.keep.end());
  all.insert(all.end(), layout.node_local.begin(), layout.node_local.end());
  all.insert(all.end(), layout.mounts.begin(), layout.mounts.end());
  if (all.size() > kMostFolders)
    return Fail(Code::kInvalid,
                std::to_string(all.size()) + " folders are kept, node-local or mounts, at most 96 can be");
  for (const std::string_view path : all) CAPSTAN_CHECK_OK(CheckFolder(path));
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      if (i != j && IsSameOrBelow(all[i], all[j]))
        return Fail(Code::kInvalid, std::string(all[i]) + " is kept, node-local or a mount twice, by itself and by " +
                                        std::string(all[j]));
    }
  }
  return {};
}

std::string LayoutText(const Layout& layout) {
  std::string text = std::string(kFirstLine) + "\ngeneration " + layout.generation + "\n";
  for (const std::string& folder : layout.keep) text += "keep " + folder + "\n";
  for (const std::string& folder : layout.node_local) text += "node-local " + folder + "\n";
  for (const std::string& folder : layout.mounts) text += "mount " + folder + "\n";
  return text + std::string(kLastLine) + "\n";
}

Result<Layout> ParseLayout(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text, '\n');
  if (lines.front() != kFirstLine)
    return Fail(Code::kInvalid, "its first line is not \"" + std::string(kFirstLine) + "\"");
  if (lines.size() < 3 || !lines.back().empty() || lines[lines.size() - 2] != kLastLine)
    return Fail(Code::kInvalid, "it is cut off: its last line is not \"" + std::string(kLastLine) + "\"");
  Layout layout;
  for (size_t i = 1; i + 2 < lines.size(); ++i) {
    const size_t blank = lines[i].find(' ');
    const std::string_view word = lines[i].substr(0, blank);
    const std::string value(blank == std::string_view::npos ? "" : lines[i].substr(blank + 1));
    if (word == "generation")
      layout.generation = value;
    else if (word == "keep")
      layout.keep.push_back(value);
    else if (word == "node-local")
      layout.node_local.push_back(value);
    else if (word == "mount")
      layout.mounts.push_back(value);
    else
      return Fail(Code::kInvalid, "line " + std::to_string(i + 1) + " is of a later version: " + OneLine(lines[i], 80));
  }
  CAPSTAN_CHECK_OK(CheckLayout(layout));
  return layout;
}

std::string CurrentFile(const std::string& volume) { return volume + "/meta/current"; }
std::string RootFolder(const std::string& volume, const std::string& generation) {
  return volume + "/roots/" + generation;
}
std::string PartialFolder(const std::string& volume, const std::string& generation) {
  return RootFolder(volume, generation) + ".partial";
}
std::string RemovedFolder(const std::string& volume, const std::string& generation) {
  return RootFolder(volume, generation) + ".removed";
}
std::string KeptFolder(const std::string& volume, const std::string& folder) {
  return volume + "/keep/" + PercentEncoded(folder.substr(1), " !#$&'()*+,-.:;<=>?@[]^_`{|}~");
}

Tree TreeOf(const Layout& layout, const std::string& volume, const Finds& is_folder, const Finds& is_mounted,
            const std::string& nothing) {
  Tree tree{.root = RootFolder(volume, layout.generation), .mounts = {}};
  const auto same = [&](std::string_view path, bool links) {
    tree.mounts.push_back({.from = std::string(path), .to = std::string(path), .links = links});
  };
  for (const std::string_view path : kAlwaysThePods) same(path, true);
  for (const std::string_view path : kThePodsWhereThere) {
    if (is_folder(std::string(path))) same(path, true);
  }
  for (const std::string& path : layout.keep) tree.mounts.push_back({.from = KeptFolder(volume, path), .to = path});
  for (const std::string& path : layout.node_local) {
    if (is_folder(path)) same(path, false);
  }
  for (const std::string& path : layout.mounts) {
    if (is_mounted(path))
      same(path, false);
    else
      tree.mounts.push_back({.from = nothing, .to = path, .read_only = true});
  }
  return tree;
}

}  // namespace capstan::entry
