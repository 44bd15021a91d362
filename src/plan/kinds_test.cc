// Kinds that share a name.
#include <gmock/gmock.h>

#include "plan/testing/shelves.h"

namespace capstan::plan {
namespace {

using ::testing::HasSubstr;
using testing::Shelf;
using testing::ShelfTest;

// Objects of which nothing but the metadata is in use.
template <const kube::Resource& resource>
struct Bare {
  json::ObjectMeta metadata;
  static constexpr const kube::Resource& kResource = resource;
  friend bool operator==(const Bare&, const Bare&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<Bare>({json::Field<&Bare::metadata>("metadata")});
    return schema;
  }
};

// --- Kinds of one plural ---------------------------------------------------------------------------------------------

constexpr kube::Resource kWebServices{"serving.test", "v1", "services", "Service", true};
constexpr kube::Resource kOtherShelves{"furniture.test", "v1", "shelves", "Shelf", true};
using CoreService = Bare<kube::kServices>;
using WebService = Bare<kWebServices>;
using OtherShelf = Bare<kOtherShelves>;

// Reads a core Service by name, and those of an owner.
Plan ReadCoreServices(const World& world, const kube::Key& key) {
  if (world.Find<Shelf>(key) == nullptr) return {};
  (void)world.Find<CoreService>({"ns", "read"});
  (void)world.OwnedBy<CoreService>("owner-1");
  return {};
}

class NamesakesTest : public ShelfTest {
 protected:
  NamesakesTest() {
    server.objects().Serve(kWebServices);
    server.objects().Serve(kOtherShelves);
    add_kinds = [](Stores& stores) {
      stores.Add<CoreService>();
      stores.Add<WebService>();
      stores.Add<OtherShelf>();
    };
    PutShelf("[]");
  }
  void Put(const kube::Resource& resource, const std::string& name, const std::string& owner = "nobody") {
    server.Put(resource, R"({"metadata":{"namespace":"ns","name":")" + name +
                             R"(","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":")" + owner +
                             R"(","controller":true}]}})");
  }
};

// Each change of the one woke the readers of the other, and made keys of objects that nobody reconciles.
TEST_F(NamesakesTest, WakeOnlyTheirOwnReaders) {
  const auto life = Start(server, &ReadCoreServices);
  const auto decides_after = [&](const kube::Resource& resource, const std::string& name, const std::string& owner) {
    const uint64_t before = life->engine().decides();
    Put(resource, name, owner);
    loop.Advance(1s);
    return life->engine().decides() - before;
  };
  EXPECT_EQ(decides_after(kWebServices, "read", "owner-1"), 0u);
  EXPECT_EQ(decides_after(kOtherShelves, "main", "nobody"), 0u);
  EXPECT_EQ(decides_after(kOtherShelves, "another", "nobody"), 0u);
  EXPECT_EQ(life->engine().keys(), 1u);
  EXPECT_EQ(decides_after(kube::kServices, "read", "nobody"), 1u);
  EXPECT_EQ(decides_after(kube::kServices, "owned", "owner-1"), 1u);
}

TEST_F(NamesakesTest, AreCountedApart) {
  net::Metrics metrics;
  options.metrics = &metrics;
  const auto life = Start(server, &ReadCoreServices);
  Put(kube::kServices, "a");
  Put(kWebServices, "a");
  Put(kWebServices, "b");
  loop.Advance(1min);
  const std::string text = metrics.Exposition();
  for (const char* line : {R"(capstan_store_objects{resource="services"} 1)",
                           R"(capstan_store_objects{resource="services.serving.test"} 2)",
                           R"(capstan_watches{resource="services",phase="live"} 1)",
                           R"(capstan_watches{resource="services.serving.test",phase="live"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

}  // namespace
}  // namespace capstan::plan
