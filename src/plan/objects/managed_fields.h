// metadata.managedFields: who set which fields of an object, as the API server keeps it. Pure: managedFields in,
// managedFields out.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"
#include "plan/ownership.h"

namespace capstan::plan {

// `managed_fields` with the former managers' entries of `api_version` folded into ours, for the object itself or for the
// subresource `applied`; nullopt when there are none. Entries of other versions and subresources stay as they are.
std::optional<json::Value> FoldFormerManagers(const json::Value& managed_fields, const Successor& successor,
                                              std::string_view api_version, std::string_view applied = {});

// `managed_fields` without those of `members` ("spec/replicas") in our apply of the object; nullopt when it holds none of them. An
// apply that does not name them any more leaves them as they are then, where it would remove them otherwise.
std::optional<json::Value> WithoutMembers(const json::Value& managed_fields, std::string_view manager,
                                          std::span<const std::string> members);

// Who but `manager` wrote last what an apply to `subresource` writes: with "status" the status, else all but the status,
// a scale included; "" when nobody did.
std::string LastOtherManager(const json::Value& managed_fields, std::string_view manager, std::string_view subresource);

}  // namespace capstan::plan
