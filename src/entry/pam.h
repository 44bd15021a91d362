// Who may come into a worker by ssh: whoever has a job there, and root. pam_slurm_adopt decides, and puts the session into
// the job.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace capstan::entry {

// The PAM service file `text` with pam_slurm_adopt in front of the line that asks whether the account may be used: the rules
// that are included there let local users in before it would be asked. The same text when it has the module. kInvalid when it
// has no such line, or `options` more than one.
Result<std::string> WithSlurmAdopt(std::string_view text, std::string_view options);

// Makes /etc/pam.d/sshd so, with the options of PAM_SLURM_ADOPT_OPTIONS; without it, a session that cannot be adopted is
// refused.
Result<void> LetInOnlyWithJob();

}  // namespace capstan::entry
