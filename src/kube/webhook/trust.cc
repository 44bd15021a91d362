#include "kube/webhook/trust.h"

#include <algorithm>

#include "base/hash.h"
#include "json/codec.h"
#include "json/merge.h"
#include "json/object_meta.h"

namespace capstan::kube {
namespace {

struct ClientConfig {
  std::string ca_bundle;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ClientConfig>({json::Field<&ClientConfig::ca_bundle>("caBundle")});
    return schema;
  }
};

struct NamedWebhook {
  std::string name;
  ClientConfig client_config;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<NamedWebhook>(
        {json::Field<&NamedWebhook::name>("name"), json::Field<&NamedWebhook::client_config>("clientConfig")});
    return schema;
  }
};

struct WebhookConfiguration {
  json::ObjectMeta metadata;
  std::vector<NamedWebhook> webhooks;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<WebhookConfiguration>({json::Field<&WebhookConfiguration::metadata>("metadata"),
                                            json::Field<&WebhookConfiguration::webhooks>("webhooks")});
    return schema;
  }
};

}  // namespace

Result<TrustObject> ReadTrust(const TrustTarget& target, std::string_view object_json) {
  CAPSTAN_TRY(const auto configuration, json::Decode<WebhookConfiguration>(object_json));
  TrustObject object{.resource_version = configuration.metadata.resource_version, .missing = target.webhooks};
  for (size_t i = 0; i < configuration.webhooks.size(); ++i) {
    const NamedWebhook& webhook = configuration.webhooks[i];
    if (std::erase(object.missing, webhook.name) == 0) continue;
    object.places.push_back(
        {"/webhooks/" + std::to_string(i) + "/clientConfig/caBundle", webhook.client_config.ca_bundle});
  }
  return object;
}

bool Holds(const TrustObject& object, std::string_view bundle_pem) {
  const std::string wanted = Base64(bundle_pem);
  return std::ranges::all_of(object.places, [&](const TrustPlace& place) { return place.ca_bundle == wanted; });
}

std::string TrustPatch(const TrustObject& object, std::string_view bundle_pem) {
  const std::string wanted = Base64(bundle_pem);
  json::JsonPatch patch;
  // A patch that sets another resourceVersion than the present one is a conflict.
  patch.Replace("/metadata/resourceVersion", "\"" + std::to_string(object.resource_version) + "\"");
  for (const TrustPlace& place : object.places) {
    if (place.ca_bundle == wanted) continue;
    patch.Add(place.pointer, "\"" + wanted + "\"");
  }
  return patch.text();
}

}  // namespace capstan::kube
