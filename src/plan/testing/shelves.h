// A small kind, and an engine for it on the modelled API server in virtual time: for tests of what the engine promises
// whatever it runs.
//
// A Shelf names books; each is a ConfigMap that the shelf controls, "<shelf>-<book>". Others that it controls are pruned.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "plan/engine.h"

namespace capstan::plan::testing {

struct Shelf {
  struct Spec {
    std::vector<std::string> books;
    friend bool operator==(const Spec&, const Spec&) = default;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Spec>({json::Field<&Spec::books>("books")});
      return schema;
    }
  };
  json::ObjectMeta metadata;
  Spec spec;

  static constexpr kube::Resource kResource{"test.capstan", "v1", "shelves", "Shelf", true};
  friend bool operator==(const Shelf&, const Shelf&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Shelf>({json::Field<&Shelf::metadata>("metadata"), json::Field<&Shelf::spec>("spec")});
    return schema;
  }
};

struct Book {
  json::ObjectMeta metadata;
  std::map<std::string, std::string> data;

  static constexpr const kube::Resource& kResource = kube::kConfigMaps;
  friend bool operator==(const Book&, const Book&) = default;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<Book>({json::Field<&Book::metadata>("metadata"), json::Field<&Book::data>("data")});
    return schema;
  }
};

inline std::string BookJson(const std::string& shelf, const std::string& shelf_uid, const std::string& book) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns","name":")" + shelf + "-" + book +
         R"(","ownerReferences":[{"apiVersion":"test.capstan/v1","kind":"Shelf","name":")" + shelf + R"(","uid":")" +
         shelf_uid + R"(","controller":true}]},"data":{"title":")" + book + "\"}}";
}

// What a shelf wants; its status says what failed.
inline Plan WantBooks(const World& world, const kube::Key& key) {
  Plan plan;
  const Shelf* shelf = world.Find<Shelf>(key);
  if (shelf == nullptr) return plan;
  for (const std::string& book : shelf->spec.books)
    plan.children.push_back({.resource = &kube::kConfigMaps,
                             .key = {key.ns, key.name + "-" + book},
                             .body = BookJson(key.name, shelf->metadata.uid, book),
                             .reason = "the shelf names it",
                             .after = {}});
  std::string note;
  for (const Failure& failure : world.failures()) note += failure.message;
  plan.status = R"({"note":)" + JsonQuoted(note) + "}";
  return plan;
}

// One life of a process: everything it knows goes with it.
class Life {
 public:
  // `add_kinds` adds stores beside those of shelves and books, `add_reconcilers` what is decided beside shelves; empty: none.
  Life(async::VirtualLoop& loop, net::Transport& wire, Decide decide, Engine::Options options,
       const std::function<void(Stores&)>& add_kinds = {}, const std::function<void(Engine&)>& add_reconcilers = {})
      : loop_(loop),
        client_(loop, wire, {.field_manager = options.field_manager, .metrics = options.metrics}),
        engine_(loop, client_, std::move(options)),
        group_(loop) {
    engine_.stores().Add<Shelf>({.everywhere = true});
    engine_.stores().Add<Book>();
    if (add_kinds) add_kinds(engine_.stores());
    engine_.Add({.kind = "shelf", .resource = &Shelf::kResource, .decide = decide, .children = {&kube::kConfigMaps}});
    if (add_reconcilers) add_reconcilers(engine_);
    group_.Spawn("engine", engine_.Run());
  }
  // Ends as if killed.
  ~Life() { Stop(Duration(0)); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  // What has begun may end within `patience`.
  void Stop(Duration patience) {
    if (std::exchange(stopped_, true)) return;
    group_.Spawn("stop", engine_.Stop(patience));
    EXPECT_TRUE(loop_.RunUntil([this] { return group_.size() == 0; }, 1min)) << "the engine does not end";
  }
  Engine& engine() { return engine_; }
  const Book* Shown(const std::string& name) { return engine_.stores().Of<Book>().Find({"ns", name}); }

 private:
  async::VirtualLoop& loop_;
  kube::Client client_;
  Engine engine_;
  async::TaskGroup group_;
  bool stopped_ = false;
};

class ShelfTest : public ::testing::Test {
 protected:
  ShelfTest() { server.objects().Serve(Shelf::kResource); }

  // A process over `wire`, which is given `settle` to do what it finds to do.
  std::unique_ptr<Life> Start(net::Transport& wire, Decide decide = &WantBooks, Duration settle = 10s) {
    Engine::Options started = options;
    started.field_manager = "capstan";
    auto life = std::make_unique<Life>(loop, wire, decide, std::move(started), add_kinds, add_reconcilers);
    loop.Advance(settle);
    return life;
  }
  std::unique_ptr<Life> Start() { return Start(server); }

  // A person writes the shelf "main"; `books` is JSON.
  void PutShelf(std::string_view books, std::string_view name = "main") {
    server.Put(Shelf::kResource, R"({"metadata":{"namespace":"ns","name":")" + std::string(name) +
                                     R"("},"spec":{"books":)" + std::string(books) + "}}");
  }
  std::string ShelfUid() { return Text(Shelf::kResource, "main", {"metadata", "uid"}); }

  // What the server has. "" when it is not there.
  std::string Text(const kube::Resource& resource, const std::string& name,
                   std::initializer_list<std::string_view> path) {
    const json::Value* object = server.Find(resource, {"ns", name});
    return object == nullptr ? "" : std::string(json::FindText(*object, path));
  }
  std::string BookUid(const std::string& name) { return Text(kube::kConfigMaps, name, {"metadata", "uid"}); }
  std::string Title(const std::string& name) { return Text(kube::kConfigMaps, name, {"data", "title"}); }
  std::string Note() { return Text(Shelf::kResource, "main", {"status", "note"}); }
  void Retitle(const std::string& name, std::string_view title) {
    server.Edit(
        kube::kConfigMaps, {"ns", name}, "",
        [&](json::Value& object) { json::MakeObject(object, {"data"})["title"] = title; }, "person");
  }
  // How many of the writes so far were of that verb and succeeded.
  size_t Done(std::string_view verb) const {
    size_t count = 0;
    for (const kube::testing::ApiWrite& write : server.writes()) count += write.verb == verb && write.status < 300;
    return count;
  }

  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  Engine::Options options;
  std::function<void(Stores&)> add_kinds;
  std::function<void(Engine&)> add_reconcilers;
};

}  // namespace capstan::plan::testing
