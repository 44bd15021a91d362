// Who may come into a worker by ssh: whoever has a job there, and root. pam_slurm_adopt decides, and puts the session into
// the job.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace capstan::entry {

// The PAM service file `text` with pam_slurm_adopt in front of the first rule that may let somebody in before it would be asked: those of
// common-account let local users in. Whom it refuses is out at once, whatever comes behind. The same text when the module is there already: as a
// rule for accounts that must succeed, behind lines alone that let nobody in and that each libpam reads alike, and where no rule takes a
// refusal back. kInvalid when the file has no rule for accounts, or `options` are not words of one line.
Result<std::string> WithSlurmAdopt(std::string_view text, std::string_view options);

// Makes /etc/pam.d/sshd so, with the options of PAM_SLURM_ADOPT_OPTIONS; without it, a session that cannot be adopted is
// refused.
Result<void> LetInOnlyWithJob();

}  // namespace capstan::entry
