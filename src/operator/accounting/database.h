// The database of a trial: MariaDB beside slurmdbd, for an Accounting with the annotation capstan.dev/embedded-database,
// which is the size of its claim. Not for production: nobody saves it, and one pod has it.
//
// Its StatefulSet, its Service and the Secret with its password are called N-accounting-db. The claim outlives all of them.
// Pure functions, given an Accounting whose spec has its defaults.
#pragma once

#include <string>
#include <vector>

#include "api/accounting.h"
#include "base/result.h"
#include "operator/objects.h"
#include "operator/settings.h"
#include "plan/action.h"
#include "plan/plan.h"

namespace capstan::op::accounting {

// The annotation; "" when there is none.
const std::string& EmbeddedDatabase(const api::Accounting& accounting);

// How slurmdbd reaches it.
api::StorageConfig StorageOfDatabase(const api::Accounting& accounting);

// The StatefulSet and the Service. `present`: the StatefulSet that is there, nullptr for none. kInvalid: the annotation is
// no size.
Result<std::vector<plan::Child>> DatabaseObjects(const api::Accounting& accounting, const Settings& settings,
                                                 const StatefulSet* present);

// Makes the Secret with the password, once.
plan::Action MakePassword(const api::Accounting& accounting);

}  // namespace capstan::op::accounting
