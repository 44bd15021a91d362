// Whatever is posted to a webhook: no crash, an answer that the API server can read with the review's own uid, and a
// patch that does what it says. A text of two lines is also an object before and after.
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/log.h"
#include "json/patch_diff.h"
#include "kube/testing/json_patch.h"
#include "kube/webhook/admission.h"
#include "kube/webhook/trust.h"

using namespace capstan;  // NOLINT: a program of few functions

namespace {

Result<kube::AdmissionAnswer> Relabel(const kube::AdmissionRequest& request) {
  if (request.operation == "DELETE") return kube::Deny(request.name);
  return kube::AllowChanged(request, [](json::Value& object) {
    json::MakeObject(object, {"metadata", "labels"})["seen"] = "yes";
    object.get_object().erase("status");
  });
}

json::Value ResponseIn(const net::Response& response, std::string_view uid) {
  const auto review = json::Parse(response.body);
  if (!review || json::FindText(*review, {"response", "uid"}) != uid) abort();
  return *json::Find(*review, {"response"});
}

void CheckAdmission(const net::Request& http) {
  static const auto serve = kube::ServeAdmission("fuzz", Relabel, nullptr);
  const net::Response response = serve(http);
  const auto request = kube::ReadAdmissionReview(http.body);
  if (!request) {
    if (response.status != 400) abort();
    return;
  }
  if (response.status != 200) return;  // an object that is none
  const json::Value answer = ResponseIn(response, request->uid);
  const json::Value* const patch = json::Find(answer, {"patch"});
  if (!patch) return;
  const auto operations = json::Parse(*FromBase64(patch->get_string()));
  const auto patched = kube::testing::ApplyJsonPatch(*json::Parse(request->object.text), *operations);
  if (!patched || json::FindText(*patched, {"metadata", "labels", "seen"}) != "yes") abort();
}

void CheckDifference(std::string_view first, std::string_view second) {
  const auto from = json::Parse(first), to = json::Parse(second);
  if (!from || !to || !from->is_object() || !to->is_object()) return;
  const auto operations = json::Parse(json::JsonPatchBetween(*from, *to).text());
  if (!operations) abort();
  const auto patched = kube::testing::ApplyJsonPatch(*from, *operations);
  if (!patched || json::SerializeCanonical(*patched) != json::SerializeCanonical(*to)) abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  log::SetLevel(log::Level::kError);  // each denial would be a line
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const net::Request http{
      .method = "POST", .target = "/", .headers = {{"Content-Type", "application/json"}}, .body = std::string(text)};
  CheckAdmission(http);
  if (const auto object = kube::ReadTrust({kube::kMutatingWebhookConfigurations, "x", {"x"}}, text))
    kube::TrustPatch(*object, "bundle");
  if (const size_t line = text.find('\n'); line != text.npos)
    CheckDifference(text.substr(0, line), text.substr(line + 1));
  return 0;
}
