// The volume of a shared root, and which tree of mounts sessions and steps have of it.
//
//   meta/        for root alone: locks, `current` (a Layout), `order` (whose switch that was), `pods/` (root/reports.h)
//   roots/G/     the generation G; G.partial: while it is being filled; G.removed: while it is being removed
//   keep/home/   the one copy of /home for all generations, where that is kept; /usr/local: keep/usr%2Flocal/
//
// Pure but for what TreeOf is given; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "entry/root/tree.h"

namespace capstan::entry {

// What is current. As text, a line each, in this order: "capstan-root 1", "generation G", "keep /home", "node-local /scratch", "mount
// /data", "end".
struct Layout {
  std::string generation;
  std::vector<std::string> keep;        // folders of which all generations have the same
  std::vector<std::string> node_local;  // folders that are the node's own: of the pod
  std::vector<std::string> mounts;      // folders that are other volumes, where the pod has one there

  friend bool operator==(const Layout&, const Layout&) = default;
};

// 1 to 63 of a-z, 0-9 and -, neither first nor last a -.
bool IsLabel(std::string_view name);

// kInvalid: a name that is no DNS label, a folder that may not be mounted, or one within another.
Result<void> CheckLayout(const Layout& layout);

std::string LayoutText(const Layout& layout);
// kInvalid: it is no such text, or a later version's.
Result<Layout> ParseLayout(std::string_view text);

// --- Places on a volume ----------------------------------------------------------------------------------------------
std::string CurrentFile(const std::string& volume);
std::string RootFolder(const std::string& volume, const std::string& generation);
std::string PartialFolder(const std::string& volume, const std::string& generation);
std::string RemovedFolder(const std::string& volume, const std::string& generation);
std::string KeptFolder(const std::string& volume, const std::string& folder);

// Folders of the pod in every tree: devices, processes, sockets (SSSD's, too), and what daemons write. Of these, and of the node-local ones, those
// that `is_folder` finds, and the mounts: where `is_mounted` finds none there is `nothing`, an empty folder, read-only, so that nobody writes where a volume will
// be. No other mount than of a folder, and none over a program: a session needs nothing of the image.
using Finds = std::function<bool(const std::string& path)>;
Tree TreeOf(const Layout& layout, const std::string& volume, const Finds& is_folder, const Finds& is_mounted,
            const std::string& nothing);

}  // namespace capstan::entry
