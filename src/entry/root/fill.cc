#include "entry/root/fill.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/text.h"
#include "entry/descriptor.h"
#include "entry/role.h"
#include "entry/root/commands.h"
#include "entry/root/failed.h"
#include "entry/root/in_root.h"
#include "entry/root/volume.h"

namespace capstan::entry {
namespace {

// Of the pod, in every tree.
const std::vector<std::string> kEmpty = {"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp"};
// Ours, the container runtime's, and a configuration of another cluster.
const std::vector<std::string> kLeftOut = {"/capstan", "/.dockerenv", "/etc/slurm"};
// Files of the pod: links to where capstan-entry keeps them (root/served.h).
constexpr auto kPodFiles = std::to_array<std::string_view>({"hosts", "hostname", "resolv.conf"});

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#endif

bool IsThere(int root, const std::string& path) { return bool(OpenIn(root, path, O_PATH)); }

Result<void> PutLink(int root, const std::string& folder, const std::string& name, const std::string& to) {
  CAPSTAN_TRY(const Descriptor place, FolderIn(root, folder, true));
  if (unlinkat(place.fd(), name.c_str(), 0) != 0 && errno != ENOENT) return Cannot("removing " + folder + "/" + name);
  if (symlinkat(to.c_str(), place.fd(), name.c_str()) != 0) return Cannot("making " + folder + "/" + name);
  return {};
}

// A package's daemon would start in whoever installs it.
Result<void> KeepDaemonsFromStarting(int root) {
  constexpr std::string_view kPolicy = "#!/bin/sh\nexit 101\n";
  if (!IsThere(root, "/var/lib/dpkg") || IsThere(root, "/usr/sbin/policy-rc.d")) return {};
  CAPSTAN_TRY(const Descriptor place, FolderIn(root, "/usr/sbin", true));
  const Descriptor file(openat(place.fd(), "policy-rc.d", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
  if (!file || write(file.fd(), kPolicy.data(), kPolicy.size()) != ssize_t(kPolicy.size()) ||
      fchmod(file.fd(), 0755) != 0)
    return Cannot("making /usr/sbin/policy-rc.d");
  return {};
}

// Slurm's commands do not start where nobody is called as slurm.conf's SlurmUser. One whom the image knows stays as he is.
Result<void> AddSlurmUser(int root, const std::string& file, const std::string& line) {
  CAPSTAN_TRY(const Descriptor etc, FolderIn(root, "/etc", true));
  const Descriptor accounts(openat(etc.fd(), file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!accounts) return Cannot("opening /etc/" + file);
  std::string text;
  char part[4096];
  for (ssize_t size; (size = read(accounts.fd(), part, sizeof part)) != 0;) {
    if (size < 0) return Cannot("reading /etc/" + file);
    text.append(part, size_t(size));
  }
  if (text.starts_with("slurm:") || text.contains("\nslurm:")) return {};
  const std::string added = (text.empty() || text.ends_with('\n') ? "" : "\n") + line + "\n";
  if (write(accounts.fd(), added.data(), added.size()) != ssize_t(added.size()))
    return Cannot("adding to /etc/" + file);
  return {};
}

Result<void> LinkCommands(int root) {
  for (const std::string_view command : kSlurmCommands) {
    const std::string name(command);
    if (IsThere(root, "/usr/bin/" + name)) continue;
    CAPSTAN_CHECK_OK(PutLink(root, "/usr/bin", name, std::string(kCommandsFolder) + "/" + name));
  }
  return {};
}

Result<void> Remove(const std::string& folder) {
  std::error_code failed;
  std::filesystem::remove_all(folder, failed);
  if (failed) return Fail(Code::kInternal, "removing " + folder + ": " + failed.message());
  return {};
}

// The first program found says for which machines they are.
Result<void> CheckMachine(int root) {
  for (const char* path : {"/bin/sh", "/usr/bin/env", "/bin/busybox", "/usr/bin/bash"}) {
    Elf64_Ehdr head;
    const Descriptor file = OpenIn(root, path, O_RDONLY);
    if (!file || pread(file.fd(), &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
      continue;
    if (head.e_machine == kMachine) return {};
    return Fail(Code::kInvalid, std::string("the image is for another kind of machine: its ") + path +
                                    " has ELF machine " + std::to_string(head.e_machine) + ", and here it is " +
                                    std::to_string(kMachine));
  }
  return {};
}

Result<void> MakeItARoot(int root) {
  for (const std::string_view name : kPodFiles)
    CAPSTAN_CHECK_OK(PutLink(root, "/etc", std::string(name), "/run/capstan/etc/" + std::string(name)));
  CAPSTAN_CHECK_OK(KeepDaemonsFromStarting(root));
  CAPSTAN_CHECK_OK(LinkCommands(root));
  const std::string id = std::to_string(kSlurmUser);
  CAPSTAN_CHECK_OK(AddSlurmUser(root, "passwd", "slurm:x:" + id + ":" + id + "::/nonexistent:/usr/sbin/nologin"));
  CAPSTAN_CHECK_OK(AddSlurmUser(root, "group", "slurm:x:" + id + ":"));
  return {};
}

Result<Copied> MakePartial(const Fill& fill, const std::string& partial) {
  // What goes wrong while it is stored is told to who has opened it before.
  const Descriptor volume(open(fill.volume.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!volume) return Cannot("opening " + fill.volume);
  CAPSTAN_TRY(const Copied copied,
              CopyTree(fill.from, partial, {.writers = fill.writers, .empty = kEmpty, .left_out = kLeftOut}));
  const Descriptor root(open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root) return Cannot("opening " + partial);
  CAPSTAN_CHECK_OK(MakeItARoot(root.fd()));
  if (syncfs(volume.fd()) != 0) return Cannot("storing it");
  return copied;
}

}  // namespace

std::string FilledText(const std::string& generation, const Filled& filled) {
  return "{\"generation\":" + JsonQuoted(generation) + ",\"files\":" + std::to_string(filled.copied.files) +
         ",\"bytes\":" + std::to_string(filled.copied.bytes) + ",\"slurm\":\"" + (filled.has_slurm ? "Root" : "Image") +
         "\"}";
}

Result<Filled> FillRoot(const Fill& fill) {
  CAPSTAN_CHECK_OK(CheckLayout({.generation = fill.generation, .keep = {}, .node_local = {}}));
  CAPSTAN_TRY(const Descriptor lock, LockVolume(fill.volume, VolumeLock::kRoots));
  const std::string root = RootFolder(fill.volume, fill.generation);
  const std::string partial = PartialFolder(fill.volume, fill.generation);
  CAPSTAN_CHECK_OK(Remove(partial));
  const Descriptor image(open(fill.from.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!image) return Cannot("opening " + fill.from);
  Filled filled{.has_slurm = IsThere(image.fd(), "/usr/bin/srun")};
  if (access(root.c_str(), F_OK) == 0) {
    filled.was_there = true;
    return filled;
  }
  if (!IsThere(image.fd(), "/bin/sh"))
    return Fail(Code::kInvalid, "the image has no /bin/sh: no session and no batch script could begin in it");
  CAPSTAN_CHECK_OK(CheckMachine(image.fd()));
  CAPSTAN_CHECK_OK(ProbeVolume(fill.volume));
  Result<Copied> copied = MakePartial(fill, partial);
  if (copied && rename(partial.c_str(), root.c_str()) != 0) copied = Cannot("naming it");
  if (!copied) {
    (void)Remove(partial);  // what is full is so for others, too
    const std::string before = copied.error().code() == Code::kUnavailable ? "the volume is full: " : "";
    return Fail(copied.error().code(), before + copied.error().message());
  }
  filled.copied = *copied;
  return filled;
}

}  // namespace capstan::entry
