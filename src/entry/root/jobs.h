// What Jobs, and the pods of `capstan doctor sharedroot`, run for a shared root, and how a person gets into it.
//
//   capstan-entry root fill --volume V --generation G [--from D] [--report FILE]
//   capstan-entry root switch --volume V --generation G [--keep F]... [--node-local F]... [--mount F]... [--order UID/NUMBER] [--report FILE]
//   capstan-entry root files --volume V --generation G --file MODE:SHA256:FROM:TO... [--report FILE]
//   capstan-entry root remove --volume V --generation G... --order UID/NUMBER [--pod NAME/UID]... [--report FILE]
//   capstan-entry root probe --volume V --id ID --side first|second [--report FILE]
//   capstan-entry enter [--] COMMAND [ARGUMENT]...
//
// The outcome is a line in the report, by default the container's termination message: that of FilledText (fill.h), RemovedText (removal.h) or ProbedText (probe.h),
// or why there is none, in a sentence.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace capstan::entry {

inline constexpr int kNotOnVolume =
    66;  // exit status of a switch, or of files, for a generation that is not there; after one of a switch it is filled

// `arguments` after "root". Returns an exit status, 0 or kNotOnVolume; kInvalid is for good, all else may pass.
Result<int> RunRootJob(const std::vector<std::string>& arguments);

// `arguments` after "enter": becomes the command, in the tree that new sessions of this container have. Returns only an Error.
Result<int> EnterRoot(const std::vector<std::string>& arguments);

}  // namespace capstan::entry
