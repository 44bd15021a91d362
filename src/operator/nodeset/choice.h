// Who goes of those that are too many, and when that is certain. Pure.
#pragma once

#include <string>
#include <vector>

#include "operator/nodeset/look.h"
#include "operator/nodeset/scale.h"

namespace capstan::op::nodeset {

struct Choice {
  plan::Plan wants;               // what is needed to know more
  std::vector<const Worker*> go;  // may be told so, or have been before
  bool open = false;              // not all are known, or have been told: who was chosen before stays so
};

// Who goes depends on who is busy: a new choice is made on what Slurm said after it became necessary, so that a worker
// that has just got a job is not drained for nothing. Not for ever: a drain costs no job.
Choice ChooseToGo(const Look& look, const Scale& scale);

// True: `choice`, which has been needed for so long, hangs on jobs that are not known yet; `wants` asks for them. They are wanted
// until those who go are marked, since only then does the choice no longer hang on them; and not for ever: they may be what
// slurmrestd dies of each time that it is heard.
bool AwaitsJobs(const Look& look, Duration needed, const std::string& choice, plan::Plan& wants);

}  // namespace capstan::op::nodeset
