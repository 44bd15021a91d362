#include "operator/kind.h"

#include "api/accounting.h"
#include "operator/accounting/decide.h"

namespace capstan::op::accounting {

extern const Kind kKind;
constinit const Kind kKind{.name = "accounting",
                           .resource = &api::Accounting::kResource,
                           .decide = &Decide,
                           .add_store = &AddStore<api::Accounting>};

}  // namespace capstan::op::accounting
