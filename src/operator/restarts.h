// Which changes of slurm.conf start a daemon anew. All others reach it while it runs, or do not concern it.
//
// A workload's pods bear an annotation, slinky.slurm.net/slurm-config-hash, whose change replaces them; the workload itself
// remembers which options it was made with (capstan.dev/restart-options). As long as these are the same, the annotation
// stays whatever it is: a release that makes it otherwise, or a former operator's, starts nothing anew. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/object_meta.h"
#include "operator/objects.h"

namespace capstan::op {

// An option of slurm.conf that a running slurmctld does not take, or only to its harm. docs/configuration.md has the table.
struct RestartOption {
  std::string_view key;
  std::string_view why;
};
std::span<const RestartOption> RestartOptions();

// Of these options in a slurm.conf, which is well-formed: SHA-256 in hex.
std::string SlurmctldOptions(std::string_view slurm_conf);

// Of all that slurmrestd reads for itself: everything but partitions, nodes and node sets, of which it asks slurmctld.
std::string SlurmrestdOptions(std::string_view slurm_conf);

struct TemplateHash {
  std::string pods;      // of their annotation; "": none
  bool changed = false;  // what is there is started anew for options that have changed
};

// `options` are those that are wanted. Of the workload that is there: its metadata, its template's, and the options that
// it has if it does not remember any. Without one, both are nullptr.
TemplateHash HashFor(const std::string& options, const json::ObjectMeta* present, const PodTemplateMeta* pods,
                     const std::string& unless_remembered);

}  // namespace capstan::op
