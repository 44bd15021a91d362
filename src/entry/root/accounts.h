// People who have an account in a shared root: the accounts and groups with ids from 1000 on, without nobody.
//
// Accounts of programs are those of each image. People are the same in all generations: a switch takes them along from the current
// root. Whoever is root in a root may write there what he likes: a line that is not well formed counts as none and stays where it is.
// For any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "entry/descriptor.h"

namespace capstan::entry {

// Contents of the files of /etc that are called so. Empty: there is none.
struct Accounts {
  std::string passwd, shadow, group, gshadow, subuid, subgid;

  friend bool operator==(const Accounts&, const Accounts&) = default;
};

// Those of people alone, in passwd, shadow and group. Who has no line in shadow gets one that no password fits.
Accounts PeopleOf(const Accounts& accounts);

// `to` with the people of `from`: with their lines in all files, and in the groups of programs in which they are in `from`. People who
// are in `to` alone stay. kInvalid: a name or an id would have two meanings.
Result<Accounts> CarryPeople(const Accounts& from, const Accounts& to);

enum class AccountFiles { kOfLogins, kAll };  // passwd, shadow, group; or all

// Of the folder /etc that is open as `etc`. kNotFound: it has no passwd. kInvalid: what is there is not a file, or larger than 16 MiB.
Result<Accounts> ReadAccounts(int etc, AccountFiles which);

// Keep useradd and its like from changing accounts while they live.
using AccountLocks = std::vector<Descriptor>;

// Takes the people of one root into another. Those of a root whose accounts cannot be read are not known, and nobody is taken.
// kUnavailable: somebody changes accounts just now. kInvalid: as CarryPeople.
Result<AccountLocks> CarryAccounts(int from_root, int to_root);

}  // namespace capstan::entry
