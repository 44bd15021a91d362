// Folders that a daemon trusts: whoever may write to one could put another file in the place of the daemon's.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace capstan::entry {

// Makes the folder where it is missing, and makes it `owner`'s (uid and gid), 0755, as far as this process may: a volume that is
// mounted there is everybody's to write to. A new one takes no group from the volume that it is made in (an fsGroup): SSSD refuses
// sockets of another group than its own. One that cannot be made is said and passed over, as the daemon may not need it. kInvalid:
// something else is there, as a link that somebody put there to lead the daemon elsewhere.
Result<void> OwnDirectory(const std::string& path, uid_t owner);

}  // namespace capstan::entry
