// pam_capstan_root.so: the session module by which people's sessions and Slurm's steps have the shared root as /.
//
//   session required /usr/local/lib/capstan/pam_capstan_root.so [drop_sys_admin]
//
// capstan-entry holds a mount namespace for the root, and the link /run/capstan/root/current leads there by that process's folder in
// /proc, which opens for who has the capabilities that it has. The module makes its own process join the namespace, and with it all
// that the process starts: sshd's monitor before it starts the session, and slurmstepd (UsePAM=1) before it opens files, changes
// folder and starts tasks. Both call it as root.
//
// | there is                                          | the session                                                    |
// |---------------------------------------------------|----------------------------------------------------------------|
// | no folder /run/capstan/root                       | begins as it is: no root is shared here                        |
// | the user `rescue`                                 | begins as it is: to mend a root that is broken                 |
// | `current`, and it leads to a mount namespace      | begins within                                                  |
// | anything else                                     | is refused, with a line in the log: it would be somewhere else |
//
// drop_sys_admin: takes CAP_SYS_ADMIN, which a login needs for the join, from what the session can ever have.
//
// It needs libc alone, and of libpam what whoever loads it has loaded.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <syslog.h>
#include <unistd.h>

namespace {

constexpr const char* kFolder = "/run/capstan/root";
constexpr const char* kCurrent = "/run/capstan/root/current";
constexpr const char* kRescue = "rescue";
constexpr const char* kDropSysAdmin = "drop_sys_admin";

int Refuse(pam_handle_t* pam, const char* what) {
  const char* why = strerror(errno);
  pam_syslog(pam, LOG_ERR, "no session begins: %s: %s", what, why);
  // No syslogd runs in a container, and slurmstepd has no standard error: where the container's log is.
  const int log = open("/proc/1/fd/2", O_WRONLY | O_APPEND | O_CLOEXEC);
  dprintf(log >= 0 ? log : STDERR_FILENO, "pam_capstan_root: no session begins: %s: %s\n", what, why);
  if (log >= 0) close(log);
  return PAM_SESSION_ERR;
}

// setns() to a mount namespace is refused to a process that shares its root and folder with others, as threads do.
bool Join(int tree) { return unshare(CLONE_FS) == 0 && setns(tree, CLONE_NEWNS) == 0; }

bool Asks(const char* word, int count, const char** words) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(words[i], word) == 0) return true;
  }
  return false;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int pam_sm_open_session(pam_handle_t* pam, int, int count, const char** words) {
  if (access(kFolder, F_OK) != 0) return errno == ENOENT ? PAM_SUCCESS : Refuse(pam, kFolder);
  const char* user = nullptr;
  if (pam_get_user(pam, &user, nullptr) != PAM_SUCCESS || user == nullptr) {
    errno = ESRCH;
    return Refuse(pam, "whose it is");
  }
  if (strcmp(user, kRescue) == 0) return PAM_SUCCESS;
  const int tree = open(kCurrent, O_RDONLY | O_CLOEXEC);
  if (tree < 0) return Refuse(pam, kCurrent);
  const bool joined = Join(tree);
  const int why = errno;
  close(tree);
  errno = why;
  if (!joined) return Refuse(pam, "joining the shared root");
  if (Asks(kDropSysAdmin, count, words) && prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) != 0)
    return Refuse(pam, "giving up CAP_SYS_ADMIN");
  return PAM_SUCCESS;
}

// What was joined ends with the process.
__attribute__((visibility("default"))) int pam_sm_close_session(pam_handle_t*, int, int, const char**) {
  return PAM_SUCCESS;
}
}
