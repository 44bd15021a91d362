// The text of slurmdbd.conf. Pure.
#pragma once

#include <string>
#include <string_view>

#include "api/accounting.h"
#include "base/result.h"

namespace capstan::op::accounting {

// Everything but the value of StoragePass, which stands between the two: the text ends with that key's "=", and goes on
// behind its value. The password is never part of it.
struct SlurmdbdConf {
  std::string before, after;
};

// `accounting` has its defaults. kInvalid: a value or spec.extraConf that slurmdbd.conf cannot hold.
Result<SlurmdbdConf> MakeSlurmdbdConf(const api::Accounting& accounting);

// The password as slurmdbd.conf wants it. kInvalid when it cannot be written there; the error does not show it.
Result<std::string> PasswordValue(std::string_view password);

}  // namespace capstan::op::accounting
