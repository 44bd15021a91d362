#include "kube/testing/scripted_server.h"

#include "base/text.h"

namespace capstan::kube::testing {

std::string StatusJson(int code, std::string_view reason, std::string_view message, std::string_view details) {
  std::string json = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)" +
                     JsonQuoted(message) + R"(,"reason":)" + JsonQuoted(reason);
  if (!details.empty()) json += R"(,"details":)" + std::string(details);
  return json + R"(,"code":)" + std::to_string(code) + "}";
}

Answer StatusAnswer(int code, std::string_view reason, std::string_view message, std::string_view details,
                    const net::Headers& headers) {
  return Json(StatusJson(code, reason, message, details), code, headers);
}

std::string ListJson(std::string_view kind, std::string_view api_version, std::string_view resource_version,
                     const std::vector<std::string>& items, std::string_view continue_token) {
  std::string json = R"({"kind":)" + JsonQuoted(kind) + R"(,"apiVersion":)" + JsonQuoted(api_version) +
                     R"(,"metadata":{"resourceVersion":)" + JsonQuoted(resource_version);
  if (!continue_token.empty()) json += R"(,"continue":)" + JsonQuoted(continue_token);
  json += R"(},"items":[)";
  for (size_t i = 0; i < items.size(); ++i) json += (i ? "," : "") + items[i];
  return json + "]}";
}

std::string EventLine(std::string_view type, std::string_view object_json) {
  return R"({"type":)" + JsonQuoted(type) + R"(,"object":)" + std::string(object_json) + "}\n";
}

std::string BookmarkLine(std::string_view kind, std::string_view api_version, std::string_view resource_version,
                         bool initial_end) {
  std::string object = R"({"kind":)" + JsonQuoted(kind) + R"(,"apiVersion":)" + JsonQuoted(api_version) +
                       R"(,"metadata":{"resourceVersion":)" + JsonQuoted(resource_version);
  if (initial_end) object += R"(,"annotations":{"k8s.io/initial-events-end":"true"})";
  return EventLine("BOOKMARK", object + "}}");
}

std::string ErrorLine(int code, std::string_view reason, std::string_view message) {
  return EventLine("ERROR", StatusJson(code, reason, message));
}

Answer WatchAnswer(const std::vector<std::string>& lines) { return net::testing::Chunked(lines, false); }

}  // namespace capstan::kube::testing
