// Names that two tries of the same creation agree on.
//
// A name that the server chooses (generateName) makes two objects out of a creation whose answer was lost. A derived one
// makes the second try meet the first one's object: AlreadyExists, which counts as done.
#pragma once

#include <string>
#include <string_view>

namespace capstan::plan {

// `prefix`-xxxxxxxxxx: ten letters and digits from the owner's uid, the slot that the object is to fill ("3", "login"),
// and the uid of the object that filled it before ("" for the first), which makes a successor's name another one. The
// prefix is cut so that the whole is a DNS label (63 characters). The alphabet has no vowels, as Kubernetes' own.
std::string DerivedName(std::string_view prefix, std::string_view owner_uid, std::string_view slot,
                        std::string_view predecessor_uid);

}  // namespace capstan::plan
