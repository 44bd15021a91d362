#include "entry/role.h"

#include <signal.h>

#include <string>

namespace capstan::entry {
namespace {

constexpr const char* kSystemd[] = {"--systemd"};
constexpr const char* kForeground[] = {"-D"};
constexpr const char* kSshd[] = {"-D", "-e"};
constexpr const char* kSssd[] = {"-i", "--logger=stderr"};

constexpr Directory kSlurmctldDirectories[] = {{"/run/slurmctld", kSlurmUser}, {"/var/spool/slurmctld", kSlurmUser}};
constexpr Directory kSlurmdbdDirectories[] = {{"/run/slurmdbd", kSlurmUser}};
// slurmd refuses a /run/slurm that is not its own.
constexpr Directory kSlurmdDirectories[] = {{"/run/slurm", 0}, {"/var/log/slurm", 0}, {"/var/spool/slurmd", 0}};
constexpr Directory kSackdDirectories[] = {{"/run/slurm", kSlurmUser}};
constexpr Directory kSshdDirectories[] = {{"/run/sshd", 0}};
// SSSD does not start where a volume hides it.
constexpr Directory kSssdDirectories[] = {{"/var/lib/sss/pipes/private", 0}};

constexpr std::string_view kPeople[] = {"sssd", "sshd"};

// sshd refuses an authorized_keys below a folder that others may write to, as a mounted one is, and host keys that others
// may read. It reads authorized_keys at every login.
constexpr MountedFile kSshdFiles[] = {
    {.from = "/mnt/ssh-config/sshd_config", .to = "/etc/ssh/sshd_config", .check = "sshd"},
    {.from = "/mnt/ssh-config/authorized_keys", .to = "/root/.ssh/authorized_keys", .reload = false},
    {.from = "/mnt/ssh-host-keys/ssh_host_rsa_key", .to = "/etc/ssh/ssh_host_rsa_key"},
    {.from = "/mnt/ssh-host-keys/ssh_host_rsa_key.pub", .to = "/etc/ssh/ssh_host_rsa_key.pub", .mode = 0644},
    {.from = "/mnt/ssh-host-keys/ssh_host_ecdsa_key", .to = "/etc/ssh/ssh_host_ecdsa_key"},
    {.from = "/mnt/ssh-host-keys/ssh_host_ecdsa_key.pub", .to = "/etc/ssh/ssh_host_ecdsa_key.pub", .mode = 0644},
    {.from = "/mnt/ssh-host-keys/ssh_host_ed25519_key", .to = "/etc/ssh/ssh_host_ed25519_key"},
    {.from = "/mnt/ssh-host-keys/ssh_host_ed25519_key.pub", .to = "/etc/ssh/ssh_host_ed25519_key.pub", .mode = 0644},
};
constexpr MountedFile kSssdFiles[] = {{.from = "/mnt/sssd-conf/sssd.conf", .to = "/etc/sssd/sssd.conf"}};

constexpr Role kRoles[] = {
    {.name = "slurmctld",
     .program = "slurmctld",
     .options_variable = "SLURMCTLD_OPTIONS",
     .ask = kSystemd,
     .notifies = true,
     .directories = kSlurmctldDirectories,
     .reconfigures = true},
    {.name = "slurmd",
     .program = "slurmd",
     .options_variable = "SLURMD_OPTIONS",
     .ask = kSystemd,
     .notifies = true,
     .sizes_node = true,
     .on_end = OnEnd::kEndUnlessJobs,
     .directories = kSlurmdDirectories,
     .may_have_people = true},
    {.name = "slurmrestd",
     .program = "slurmrestd",
     .options_variable = "SLURMRESTD_OPTIONS",
     .ask = {},
     .waits = true,
     .probed = true},
    // It waits by itself for a database that is away, or refuses it.
    {.name = "slurmdbd",
     .program = "slurmdbd",
     .options_variable = "SLURMDBD_OPTIONS",
     .ask = kForeground,
     .directories = kSlurmdbdDirectories,
     .waits = true},
    {.name = "sackd",
     .program = "sackd",
     .options_variable = "SACKD_OPTIONS",
     .ask = kSystemd,
     .notifies = true,
     .as_slurm = true,
     .directories = kSackdDirectories},
    // No end of any of the three is the container's: it would end the sessions of people.
    {.name = "login",
     .program = "sackd",
     .options_variable = "SACKD_OPTIONS",
     .ask = kSystemd,
     .notifies = true,
     .as_slurm = true,
     .on_end = OnEnd::kStartAgain,
     .directories = kSackdDirectories,
     .beside = kPeople},
    {.name = "sshd",
     .program = "sshd",
     .options_variable = "SSHD_OPTIONS",
     .ask = kSshd,
     .notifies = true,
     .on_end = OnEnd::kStartAgain,
     .directories = kSshdDirectories,
     .files = kSshdFiles,
     .reload_signal = SIGHUP},
    {.name = "sssd",
     .program = "sssd",
     .options_variable = "SSSD_OPTIONS",
     .ask = kSssd,
     .notifies = true,
     .on_end = OnEnd::kStartAgain,
     .may_fail = true,  // an sssd.conf that it refuses shuts nobody out who needs no SSSD
     .directories = kSssdDirectories,
     .files = kSssdFiles,
     .reload_signal = SIGTERM},
};

}  // namespace

Result<const Role*> FindRole(std::string_view name) {
  std::string known;
  for (const Role& role : kRoles) {
    if (role.name == name) return &role;
    known += (known.empty() ? "" : ", ") + std::string(role.name);
  }
  return Fail(Code::kInvalid, "unknown role '" + std::string(name) + "'; known roles: " + known);
}

}  // namespace capstan::entry
