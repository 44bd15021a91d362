#include "entry/role.h"

#include <string>

namespace capstan::entry {
namespace {

constexpr Directory kSlurmctldDirectories[] = {{"/run/slurmctld", kSlurmUser}, {"/var/spool/slurmctld", kSlurmUser}};
// slurmd refuses a /run/slurm that is not its own.
constexpr Directory kSlurmdDirectories[] = {{"/run/slurm", 0}, {"/var/spool/slurmd", 0}};

constexpr Role kRoles[] = {
    {.name = "slurmctld",
     .options_variable = "SLURMCTLD_OPTIONS",
     .notifies = true,
     .sizes_node = false,
     .keeps_jobs = false,
     .directories = kSlurmctldDirectories},
    {.name = "slurmd",
     .options_variable = "SLURMD_OPTIONS",
     .notifies = true,
     .sizes_node = true,
     .keeps_jobs = true,
     .directories = kSlurmdDirectories},
    {.name = "slurmrestd",
     .options_variable = "SLURMRESTD_OPTIONS",
     .notifies = false,
     .sizes_node = false,
     .keeps_jobs = false,
     .directories = {}},
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
