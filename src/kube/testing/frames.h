// A small kind that is read as protobuf too, and the messages in which the API server would speak of it. As thing.h,
// which has the same in JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/testing/message.h"
#include "kube/protobuf.h"
#include "kube/testing/thing.h"
#include "net/http.h"

namespace capstan::kube::testing {

struct Numbered {
  json::ObjectMeta metadata;
  std::string phase;

  friend bool operator==(const Numbered&, const Numbered&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Numbered>({
        json::Field<&Numbered::metadata>("metadata").Number(1),
        json::Field<&Numbered::phase>("phase").Number(2),
    });
    return schema;
  }
};

inline const net::Headers kFrames = {{"Content-Type", "application/vnd.kubernetes.protobuf;stream=watch"}};

inline json::testing::Message MessageOf(const Thing& thing) {
  json::testing::Message metadata;
  metadata.Text(1, thing.metadata.name).Text(3, thing.metadata.namespace_).Text(5, thing.metadata.uid);
  metadata.Text(6, std::to_string(thing.metadata.resource_version));
  for (const auto& [key, value] : thing.metadata.annotations) metadata.Entry(12, key, value);
  return json::testing::Message().Inside(1, metadata).Text(2, thing.phase);
}

inline std::string Enveloped(std::string_view kind, const json::testing::Message& message) {
  return std::string("k8s\0", 4) + json::testing::Message()
                                       .Inside(1, json::testing::Message().Text(1, "v1").Text(2, kind))
                                       .Inside(2, message)
                                       .Text(3, "")
                                       .Text(4, "")
                                       .bytes();
}

// A WatchEvent without the length that stands before it on the wire.
inline std::string Event(std::string_view type, std::string_view enveloped) {
  return json::testing::Message().Text(1, type).Inside(2, json::testing::Message().Text(1, enveloped)).bytes();
}
inline std::string Event(std::string_view type, const Thing& thing) {
  return Event(type, Enveloped("Thing", MessageOf(thing)));
}
inline std::string BookmarkEvent(uint64_t version, bool list_complete = false) {
  Thing thing;
  thing.metadata.resource_version = version;
  if (list_complete) thing.metadata.annotations["k8s.io/initial-events-end"] = "true";
  return Event("BOOKMARK", thing);
}

inline std::string Framed(std::string_view event) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += char(event.size() >> shift);
  return frame.append(event);
}

// One page of a list.
inline std::string ListMessage(uint64_t version, std::string_view continue_token, const std::vector<Thing>& things) {
  json::testing::Message list;
  list.Inside(1, json::testing::Message().Text(1, "").Text(2, std::to_string(version)).Text(3, continue_token));
  for (const Thing& thing : things) list.Inside(2, MessageOf(thing));
  return Enveloped("ThingList", list);
}

inline std::string StatusMessage(int code, std::string_view reason, std::string_view message) {
  return Enveloped("Status", json::testing::Message()
                                 .Text(2, "Failure")
                                 .Text(3, message)
                                 .Text(4, reason)
                                 .Inside(5, json::testing::Message().Inside(
                                                4, json::testing::Message().Text(2, "a cause").Text(3, "spec.x")))
                                 .Number(6, code));
}

}  // namespace capstan::kube::testing
