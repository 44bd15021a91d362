// Answers of an API server for net::testing::ScriptedServer, which serves them over real HTTP.
//
//   ScriptedServer server;
//   server.Expect("GET /api/v1/pods?limit=500", Json(ListJson("PodList", "v1", "7", {pod})));
//   server.Expect("GET /api/v1/pods?watch=true&...", WatchAnswer({EventLine("ADDED", pod)}).Hold());
//   server.Expect("DELETE /api/v1/namespaces/a/pods/p", StatusAnswer(409, "Conflict", "uid does not match"));
//   server.Push(net::testing::Chunk(EventLine("MODIFIED", pod)));
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/testing/scripted_server.h"

namespace capstan::kube::testing {

using net::testing::Answer;
using net::testing::Chunk;
using net::testing::Json;
using net::testing::ScriptedServer;

// A metav1.Status of a failure. `details` is the JSON of its details, or "".
std::string StatusJson(int code, std::string_view reason, std::string_view message, std::string_view details = {});
Answer StatusAnswer(int code, std::string_view reason, std::string_view message, std::string_view details = {},
                    const net::Headers& headers = {});

// {"kind":..,"metadata":{"resourceVersion":..,"continue":..},"items":[..]}; the items are JSON.
std::string ListJson(std::string_view kind, std::string_view api_version, std::string_view resource_version,
                     const std::vector<std::string>& items, std::string_view continue_token = {});

// One line of a watch, newline included: {"type":"ADDED","object":{...}}.
std::string EventLine(std::string_view type, std::string_view object_json);
// A BOOKMARK line; `initial_end` marks the end of a streaming list.
std::string BookmarkLine(std::string_view kind, std::string_view api_version, std::string_view resource_version,
                         bool initial_end = false);
// An ERROR line around a Status.
std::string ErrorLine(int code, std::string_view reason, std::string_view message);

// A watch's answer that has sent these lines, each a chunk, and is not over: add Hold(), Close(), Reset(), or
// Then(kLastChunk) for an orderly end.
Answer WatchAnswer(const std::vector<std::string>& lines);

}  // namespace capstan::kube::testing
