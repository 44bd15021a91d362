#include "footer.h"

#include <memory>
#include <optional>

#include "base/hash.h"
#include "json/schema.h"
#include "kube/client.h"
#include "plan/services.h"

namespace website {

using namespace capstan;  // NOLINT: this file is all of it

namespace {

struct FooterData {
  std::string footer;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<FooterData>({json::Field<&FooterData::footer>("footer.html")});
    return schema;
  }
};

struct FooterConfigMap {
  FooterData data;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<FooterConfigMap>({json::Field<&FooterConfigMap::data>("data")});
    return schema;
  }
};

}  // namespace

async::Task<Result<std::optional<plan::Question::Fetched>>> Footer::Fetch(plan::Services& services,
                                                                          async::Deadline deadline) const {
  const auto map = co_await services.client.Get<FooterConfigMap>(kube::kConfigMaps, key, {}, deadline);
  if (map) {
    const std::string& text = map->data.footer;
    co_return std::optional(Fetched{.value = std::make_shared<const std::string>(text), .digest = Fnv64(text)});
  }
  if (map.error().code() == Code::kNotFound) co_return std::optional<Fetched>();
  co_return Fail(map.error());
}

}  // namespace website
