#include "plan/objects/managed_fields.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/text.h"

namespace capstan::plan {
namespace {

namespace bj = boost::json;

std::string_view Text(const json::Value& entry, std::string_view member) { return json::FindText(entry, {member}); }

// The member itself, which its children do not imply.
void AddSelf(bj::object& fields) { fields.emplace(".", bj::object()); }

void Merge(bj::object& into, const bj::object& from) {
  for (const auto& [name, children] : from) {
    const bj::object more = children.is_object() ? children.get_object() : bj::object();
    const auto [known, is_new] = into.emplace(name, more);
    if (is_new) continue;
    bj::object& mine = known->value().is_object() ? known->value().get_object() : known->value().emplace_object();
    // No children means the member as a whole: it stays said when the other side brings children.
    if (mine.empty() != more.empty() && name != ".") AddSelf(mine);
    Merge(mine, more);
  }
}

// Takes the field at `path` out of `fields`, with what held nothing else: a member without children means itself. False: it is
// not there.
bool Remove(bj::object& fields, std::span<const std::string_view> path) {
  const auto found = fields.find("f:" + std::string(path.front()));
  if (found == fields.end() || !found->value().is_object()) return false;
  bj::object& inner = found->value().get_object();
  if (path.size() > 1 && !Remove(inner, path.subspan(1))) return false;
  if (path.size() == 1 || inner.empty()) fields.erase(found);
  return true;
}

}  // namespace

std::optional<json::Value> FoldFormerManagers(const json::Value& managed_fields, const Successor& successor,
                                              std::string_view api_version, std::string_view applied) {
  if (!managed_fields.is_array()) return std::nullopt;
  bj::array folded;
  std::optional<json::Value> ours;
  bj::object taken;
  bool any = false;
  for (const json::Value& entry : managed_fields.get_array()) {
    const bool same_version = Text(entry, "apiVersion") == api_version;
    const std::string_view manager = Text(entry, "manager"), operation = Text(entry, "operation");
    const std::string_view subresource = Text(entry, "subresource");
    const bool former = same_version && successor.Follows(manager, operation, subresource, applied);
    const bool own = same_version && manager == successor.manager && operation == "Apply" && subresource == applied;
    if (former || own) {
      const json::Value* fields = json::Find(entry, {"fieldsV1"});
      if (fields != nullptr && fields->is_object()) Merge(taken, fields->get_object());
      if (own || !ours) ours = entry;  // a time is among what is kept of it
      any |= former;
    } else {
      folded.push_back(entry);
    }
  }
  if (!any) return std::nullopt;
  bj::object& entry = ours->as_object();
  entry["manager"] = successor.manager;
  entry["operation"] = "Apply";
  entry["fieldsV1"] = std::move(taken);
  folded.push_back(*std::move(ours));
  return json::Value(std::move(folded));
}

std::optional<json::Value> WithoutMembers(const json::Value& managed_fields, std::string_view manager,
                                          std::span<const std::string> members) {
  if (!managed_fields.is_array()) return std::nullopt;
  json::Value changed = managed_fields;
  bool any = false;
  for (json::Value& entry : changed.get_array()) {
    // Of whatever version: to the API server all applies of a manager are one.
    if (Text(entry, "manager") != manager || Text(entry, "operation") != "Apply") continue;
    if (!Text(entry, "subresource").empty()) continue;
    bj::object& held = json::MakeObject(entry, {"fieldsV1"});
    for (const std::string& member : members) any |= Remove(held, Split(member, '/'));
  }
  return any ? std::optional(std::move(changed)) : std::nullopt;
}

std::string LastOtherManager(const json::Value& managed_fields, std::string_view manager,
                             std::string_view subresource) {
  std::string_view last, last_time;
  if (!managed_fields.is_array()) return {};
  for (const json::Value& entry : managed_fields.get_array()) {
    const bool of_status = Text(entry, "subresource") == "status";
    if (Text(entry, "manager") == manager || of_status != (subresource == "status")) continue;
    const std::string_view time = Text(entry, "time");  // RFC 3339 in UTC with whole seconds: ordered as text
    if (last.empty() || time > last_time) {
      last = Text(entry, "manager");
      last_time = time;
    }
  }
  return std::string(last);
}

}  // namespace capstan::plan
