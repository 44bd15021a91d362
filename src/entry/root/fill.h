// A new generation of a shared root, from the files of the container that this runs in.
//
// Its image may be any: no program of it is run, and it needs none. What is made is whole or not there: it has another name
// (Layout: G.partial) until the volume has stored it, and what an earlier try left is removed first.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "entry/root/copy.h"
#include "entry/root/layout.h"

namespace capstan::entry {

struct Fill {
  std::string volume;  // "/capstan/root"
  std::string generation;
  std::string from = "/";
  int writers = 32;
};

struct Filled {
  Copied copied;  // nothing where it was there already
  bool was_there = false;
  bool has_slurm = false;  // its own commands; else links lead to the image's of each pod

  friend bool operator==(const Filled&, const Filled&) = default;
};

// What others read: {"generation":"g","files":1,"bytes":2,"slurm":"Image"}.
std::string FilledText(const std::string& generation, const Filled& filled);

// kInvalid: the layout, an image for another kind of machine or without /bin/sh, or a volume that cannot hold a root. kUnavailable: it is
// full, or somebody else writes to it. Blocks for minutes. REQUIRES: root with the capabilities of CopyTree.
Result<Filled> FillRoot(const Fill& fill);

}  // namespace capstan::entry
