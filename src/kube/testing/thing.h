// A small kind for tests: an object with a phase, and the texts in which the API server would speak of it.
#pragma once

#include <string>

#include "json/codec.h"
#include "json/object_meta.h"
#include "kube/resource.h"

namespace capstan::kube::testing {

struct Thing {
  json::ObjectMeta metadata;
  std::string phase;

  friend bool operator==(const Thing&, const Thing&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Thing>({
        json::Field<&Thing::metadata>("metadata"),
        json::Field<&Thing::phase>("phase"),
    });
    return schema;
  }
};

inline constexpr Resource kThings{"test.capstan", "v1", "things", "Thing", true};

// Named like its UID, which is what most tests want: Make("a", 5), and Make("a", 7, "Ready", "a2") for a
// namesake.
inline Thing Make(std::string name, uint64_t version, std::string phase = {}, std::string uid = {}) {
  Thing thing;
  thing.metadata.namespace_ = "ns";
  thing.metadata.uid = uid.empty() ? name : std::move(uid);
  thing.metadata.name = std::move(name);
  thing.metadata.resource_version = version;
  thing.phase = std::move(phase);
  return thing;
}

inline std::string Line(std::string_view type, std::string_view object) {
  return "{\"type\":\"" + std::string(type) + "\",\"object\":" + std::string(object) + "}";
}
inline std::string Line(std::string_view type, const Thing& thing) { return Line(type, json::Encode(thing)); }

// A bookmark up to `version`; with `list_complete`, the one that ends the initial events.
inline std::string Bookmark(uint64_t version, bool list_complete = false) {
  std::string metadata = "\"resourceVersion\":\"" + std::to_string(version) + "\"";
  if (list_complete) metadata += ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
  return Line("BOOKMARK", "{\"metadata\":{" + metadata + "}}");
}

// A Status as the body of an error answer or the object of an ERROR event.
inline std::string StatusText(int code, std::string_view reason, std::string_view message) {
  return "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\",\"message\":\"" +
         std::string(message) + "\",\"reason\":\"" + std::string(reason) + "\",\"code\":" + std::to_string(code) + "}";
}

}  // namespace capstan::kube::testing
