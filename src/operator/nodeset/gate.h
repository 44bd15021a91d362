// What an update of workers waits for besides its budget. Pure.
#pragma once

#include <string>

#include "operator/nodeset/look.h"

namespace capstan::op::nodeset {

// Why no further worker is renewed now, in words; "": nothing but the budget holds one. Slurm must be heard. slurmctld comes
// first: a slurmd may be older than it, never newer, and what the Controller is about to publish is of the same hand as the
// workers' new template. A slurmctld that stands by and is not there holds up nobody while another one is in charge.
std::string WhyNoneIsRenewed(const Look& look);

}  // namespace capstan::op::nodeset
