// One program run to its end, for the few that a client must ask (exec_plugin.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace capstan::kube {

struct ChildProcess {
  std::string path = {};                      // of the program
  std::vector<std::string> arguments = {};    // without the program itself
  std::vector<std::string> environment = {};  // all of it, as "NAME=value"
  Duration limit = 60s;                       // it and its own children are killed then
  size_t output_limit = 1 << 20;              // bytes of standard output; who says more is killed
  int stop_fd = -1;                           // it is killed once this can be read; -1: nobody stops it
};

struct ChildOutput {
  Secret text = {};            // standard output
  std::string last_line = {};  // of standard error, in printable characters, at most 300 bytes
  int status = 0;              // its exit status; 128 and the signal's number when a signal ended it
};

// Blocks until the program has ended, and never longer than the limit: call it on a thread of its own. The
// program reads /dev/null, has no open file of ours but its three, default signal handling, and a process
// group of its own. What it leaves running in the background is not waited for.
//
// kInvalid: it cannot be started, or says too much; kDeadline: it took too long; kCancelled: stop_fd.
Result<ChildOutput> RunChild(const ChildProcess& child);

// The path of the program called `name`: itself when there is a '/' in it, else the first executable file of
// that name in the absolute folders of `search_path` ($PATH). kNotFound when there is none.
Result<std::string> FindProgram(const std::string& name, std::string_view search_path);

}  // namespace capstan::kube
