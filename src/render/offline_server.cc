#include "render/offline_server.h"

#include <boost/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "kube/errors.h"

namespace capstan::render {
namespace {

constexpr std::string_view kMadeValue = "made by the operator";

std::string PluralOf(std::string_view kind) {
  for (const kube::Resource* resource :
       {&kube::kSecrets, &kube::kConfigMaps, &kube::kPersistentVolumeClaims, &kube::kPods}) {
    if (resource->kind == kind) return std::string(resource->plural);
  }
  return "";
}

// "/api/v1/namespaces/NS/PLURAL[/NAME]", "/apis/GROUP/VERSION/namespaces/NS/PLURAL[/NAME]", and without a namespace. A
// list has no name.
OfflineServer::Name NameOf(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : Split(path, '/')) parts.push_back(PercentDecoded(part).value_or(""));
  size_t at = parts.size() > 1 && parts[1] == "apis" ? 4 : 3;
  OfflineServer::Name name;
  if (parts.size() > at + 1 && parts[at] == "namespaces") {
    name.key.ns = parts[at + 1];
    at += 2;
  }
  if (parts.size() > at) name.plural = parts[at];
  if (parts.size() > at + 1) name.key.name = parts[at + 1];
  return name;
}

OfflineServer::Name NameOf(const json::Value& object) {
  return {PluralOf(json::FindText(object, {"kind"})),
          {std::string(json::FindText(object, {"metadata", "namespace"})),
           std::string(json::FindText(object, {"metadata", "name"}))}};
}

net::Response Answer(int status, const json::Value& body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = boost::json::serialize(body)};
}

net::Response Refusal(int status, std::string_view reason, const std::string& message) {
  return Answer(status, boost::json::object{{"apiVersion", "v1"},
                                            {"kind", "Status"},
                                            {"status", "Failure"},
                                            {"code", status},
                                            {"reason", reason},
                                            {"message", message}});
}

}  // namespace

void OfflineServer::Put(json::Value object, const std::string& default_ns) {
  boost::json::object& metadata = json::MakeObject(object, {"metadata"});
  if (!metadata.contains("namespace")) metadata["namespace"] = default_ns;
  const Name name = NameOf(object);
  if (name.plural.empty()) return;
  if (const json::Value* texts = json::Find(object, {"stringData"}); texts != nullptr && texts->is_object()) {
    const boost::json::object given = texts->get_object();
    boost::json::object& data = json::MakeObject(object, {"data"});
    for (const auto& [key, text] : given) {
      if (text.is_string()) data[key] = Base64(std::string_view(text.get_string()));
    }
  }
  metadata["uid"] = "of-" + name.key.ToString();
  objects_[name] = std::move(object);
}

void OfflineServer::PutMade(const Name& name, json::Value object) {
  boost::json::object& metadata = json::MakeObject(object, {"metadata"});
  metadata["namespace"] = name.key.ns;
  metadata["name"] = name.key.name;
  metadata["uid"] = "of-" + name.key.ToString();
  objects_[name] = std::move(object);
  made_.insert(name);
  if (const auto missing = missing_.find(name); missing != missing_.end() && missing->second.empty())
    missing_.erase(missing);
}

async::Task<Result<net::Response>> OfflineServer::Send(net::Request request, async::Deadline deadline) {
  const std::string_view target = request.target;
  const size_t mark = target.find('?');
  if (request.method == "POST") co_return Create(request, mark == target.npos ? "" : target.substr(mark + 1));
  if (request.method != "GET") co_return Refusal(405, "MethodNotAllowed", "nothing is changed by a rendering");
  Name name = NameOf(target.substr(0, mark));
  if (name.key.name.empty()) {
    co_return Answer(200, boost::json::object{{"metadata", boost::json::object{{"resourceVersion", "1"}}},
                                              {"items", boost::json::array()}});
  }
  co_return co_await Get(std::move(request), std::move(name), deadline);
}

async::Task<Result<net::Response>> OfflineServer::Get(net::Request request, Name name, async::Deadline deadline) {
  if (const auto found = objects_.find(name); found != objects_.end()) co_return Answer(200, found->second);
  if (behind_ != nullptr && !missing_.contains(name)) {
    const auto answer = co_await behind_->Send(std::move(request), deadline);
    if (!answer) co_return Fail(answer.error());
    if (answer->status == 200) {
      if (auto object = json::Parse(answer->body)) objects_[name] = *std::move(object);
      co_return *answer;
    }
    if (answer->status != 404) missing_[name] = kube::ErrorFromResponse(*answer, kube::Effect::kRead).message();
  }
  missing_.try_emplace(name);
  co_return Refusal(404, "NotFound", name.plural + " \"" + name.key.name + "\" not found");
}

net::Response OfflineServer::Create(const net::Request& request, std::string_view query) {
  auto object = json::Parse(request.body);
  if (!object || !object->is_object()) return Refusal(400, "BadRequest", "not an object");
  if (query.contains("dryRun")) return Answer(201, *object);
  const Name name = NameOf(*object);
  if (objects_.contains(name)) return Refusal(409, "AlreadyExists", "it is there");
  created_.push_back(*object);
  if (json::Value* data = json::Find(*object, {"data"}); name.plural == kube::kSecrets.plural && data != nullptr) {
    for (auto& member : data->as_object()) member.value() = Base64(kMadeValue);
  }
  boost::json::object& metadata = json::MakeObject(*object, {"metadata"});
  metadata["resourceVersion"] = "1";
  if (!name.plural.empty()) PutMade(name, *object);
  return Answer(201, *object);
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> OfflineServer::Open(net::Request, async::Deadline) {
  co_return Fail(Code::kInvalid, "a rendering watches nothing");
}

}  // namespace capstan::render
