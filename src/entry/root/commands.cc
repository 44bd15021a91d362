#include "entry/root/commands.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "entry/descriptor.h"
#include "entry/root/failed.h"

namespace capstan::entry {
namespace {

constexpr std::string_view kUsr = "/usr";
// Where distributions have Slurm's plugins; within it is the library of its commands.
constexpr auto kPluginFolders = std::to_array<std::string_view>(
    {"/usr/lib/x86_64-linux-gnu/slurm-wlm", "/usr/lib/x86_64-linux-gnu/slurm", "/usr/lib/aarch64-linux-gnu/slurm-wlm",
     "/usr/lib/aarch64-linux-gnu/slurm", "/usr/lib64/slurm", "/usr/lib/slurm"});

bool IsFolder(const std::string& path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

std::string_view PluginFolder() {
  const auto found =
      std::ranges::find_if(kPluginFolders, [](std::string_view path) { return IsFolder(std::string(path)); });
  return found == kPluginFolders.end() ? std::string_view() : *found;
}

// Of a path below /usr, in every tree.
std::string InTrees(std::string_view path) { return std::string(kImageUsr) + std::string(path.substr(kUsr.size())); }

Result<std::string> RealPath(const std::string& path) {
  char found[PATH_MAX];
  if (realpath(path.c_str(), found) == nullptr) return Fail(Code::kNotFound, path + ": " + Why());
  std::string real(found);
  if (!real.starts_with("/usr/")) return Fail(Code::kNotFound, path + " is not in /usr");
  return real;
}

// The loader that a program names.
Result<std::string> LoaderOf(const std::string& program) {
  const Descriptor file(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr head;
  if (!file || pread(file.fd(), &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return Fail(Code::kNotFound, program + " is no program");
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    const off_t at = off_t(head.e_phoff + uint64_t(i) * head.e_phentsize);
    if (pread(file.fd(), &part, sizeof part, at) != sizeof part) break;
    if (part.p_type != PT_INTERP || part.p_filesz == 0 || part.p_filesz > PATH_MAX) continue;
    std::string name(part.p_filesz - 1, '\0');
    if (pread(file.fd(), name.data(), name.size(), off_t(part.p_offset)) == ssize_t(name.size())) return name;
  }
  return Fail(Code::kNotFound, program + " names no loader");
}

Result<void> Link(const std::string& name, const std::string& to) {
  const std::string link = std::string(kCommandsFolder) + "/" + name;
  unlink(link.c_str());
  if (symlink(to.c_str(), link.c_str()) != 0) return Fail(Code::kInternal, "making " + link + ": " + Why());
  return {};
}

}  // namespace

Result<void> OfferCommands() {
  CAPSTAN_TRY(const std::string self, RealPath("/proc/self/exe"));
  CAPSTAN_TRY(const std::string named, LoaderOf("/usr/bin/srun"));
  CAPSTAN_TRY(const std::string loader, RealPath(named));
  std::error_code failed;
  for (const std::string_view folder : {kCommandsFolder, kImageUsr}) {
    std::filesystem::create_directories(folder, failed);
    if (failed) return Fail(Code::kInternal, "making " + std::string(folder) + ": " + failed.message());
  }
  const std::string usr(kImageUsr);
  if (std::filesystem::is_empty(usr, failed)) CAPSTAN_CHECK_OK(MountReadOnly(std::string(kUsr), usr));
  CAPSTAN_CHECK_OK(Link(".loader", InTrees(loader)));
  for (const std::string_view command : kSlurmCommands) {
    const std::string name(command);
    if (access(("/usr/bin/" + name).c_str(), X_OK) == 0) CAPSTAN_CHECK_OK(Link(name, InTrees(self)));
  }
  return {};
}

std::optional<BindMount> PluginsFor(const std::string& root) {
  std::error_code failed;
  const std::string to = std::filesystem::read_symlink(root + "/usr/bin/srun", failed);
  const std::string folder(PluginFolder());
  if (failed || !to.starts_with(kCommandsFolder) || folder.empty()) return std::nullopt;
  return BindMount{.from = folder, .to = folder, .read_only = true};
}

std::string_view CommandOf(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const auto found = std::ranges::find(kSlurmCommands, name);
  return found == kSlurmCommands.end() ? std::string_view() : *found;
}

Result<int> RunCommand(std::string_view command, const std::vector<std::string>& arguments) {
  const std::string folder(kCommandsFolder), loader = folder + "/.loader", name(command);
  char real[PATH_MAX];
  const ssize_t size = readlink(loader.c_str(), real, sizeof real);
  if (size <= 0) return Fail(Code::kUnavailable, "no commands of Slurm are here: " + loader + ": " + Why());
  const std::string program(real, size_t(size));
  std::string libraries = program.substr(0, program.rfind('/')) + ":" + std::string(kImageUsr) +
                          "/lib64:" + std::string(kImageUsr) + "/lib";
  for (const std::string_view plugins : kPluginFolders) {
    if (IsFolder(InTrees(plugins))) libraries = InTrees(plugins) + ":" + libraries;
  }
  std::vector<std::string> words{
      program, "--library-path", libraries, "--argv0", name, std::string(kImageUsr) + "/bin/" + name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return Fail(Code::kUnavailable, "starting " + name + " by " + program + ": " + Why());
}

}  // namespace capstan::entry
