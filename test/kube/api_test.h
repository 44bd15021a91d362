// What the tests against the real API server have in common: a namespace of its own for each test, the admin's client,
// and a ConfigMap.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver.h"
#include "async/timer.h"
#include "base/text.h"
#include "json/codec.h"
#include "kube/client.h"
#include "net/client.h"
#include "net/testing/run.h"
#include "patience.h"

namespace capstan::kube::testing {

struct ConfigMap {
  struct Entry {
    std::string manager, operation, subresource;
    static const json::Schema& Schema() {
      static const json::Schema schema =
          json::Object<Entry>({json::Field<&Entry::manager>("manager"), json::Field<&Entry::operation>("operation"),
                               json::Field<&Entry::subresource>("subresource")});
      return schema;
    }
  };
  struct Metadata {
    std::string name, uid, resource_version, deletion_timestamp;
    std::vector<Entry> managed_fields;
    static const json::Schema& Schema() {
      static const json::Schema schema =
          json::Object<Metadata>({json::Field<&Metadata::name>("name"), json::Field<&Metadata::uid>("uid"),
                                  json::Field<&Metadata::resource_version>("resourceVersion"),
                                  json::Field<&Metadata::deletion_timestamp>("deletionTimestamp"),
                                  json::Field<&Metadata::managed_fields>("managedFields")});
      return schema;
    }
  };
  struct Spec {
    int replicas = 0;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Spec>({json::Field<&Spec::replicas>("replicas")});
      return schema;
    }
  };
  Metadata metadata;
  std::map<std::string, std::string> data;
  Spec spec;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<ConfigMap>({json::Field<&ConfigMap::metadata>("metadata"), json::Field<&ConfigMap::data>("data"),
                                 json::Field<&ConfigMap::spec>("spec")});
    return schema;
  }
};

inline std::string ConfigMapJson(const std::string& name, const std::string& data = "{}") {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
         R"(","labels":{"part":"it"}},"data":)" + data + "}";
}

inline constexpr std::string_view kPodSpec =
    R"({"terminationGracePeriodSeconds":0,"containers":[{"name":"c","image":"x"}]})";

// A namespace of its own for each test, and the admin's client.
class ApiTest : public ::testing::Test {
 protected:
  ApiTest() : admin_(Connected(Apiserver().Admin())) {
    static int count = 0;
    ns_ = "it-" + std::to_string(++count);
    CreateNamespace(ns_);
  }

  struct Connection {
    Connection(async::Loop& loop, const Config& config)
        : http(loop, {.server = config.server, .credentials = config.credentials}),
          client(loop, http, {.metrics = &metrics, .host = "it"}) {}
    net::Metrics metrics;
    net::HttpClient http;
    Client client;
  };
  std::unique_ptr<Connection> Connected(const Config& config) { return std::make_unique<Connection>(loop_, config); }

  template <class T>
  T Run(async::Task<T> task) {
    return net::testing::RunTask(loop_, std::move(task));
  }
  async::Deadline Soon() { return loop_.After(capstan::testing::Patient(20s)); }
  Client& client() { return admin_->client; }
  Key KeyOf(const std::string& name) const { return {ns_, name}; }

  // Creates what must work; the object as the server has it.
  std::string Create(const Resource& resource, const Key& key, const std::string& object) {
    const Result<std::string> created = Run(client().Create(resource, key, object, {}, Soon()));
    EXPECT_TRUE(created) << created.error().message();
    return created.value_or("");
  }
  void Delete(const Resource& resource, const Key& key) {
    const Result<std::string> deleted = Run(client().Delete(resource, key, {}, Soon()));
    EXPECT_TRUE(deleted) << deleted.error().message();
  }
  void CreateNamespace(const std::string& name) {
    Create(kNamespaces, {}, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + R"("}})");
  }

  // Lets the loop go on until `done` says so; false when it did not within `limit`, times the tests' patience. `done` only looks: it must not Run,
  // the loop runs already.
  bool Until(std::function<bool()> done, Duration limit = 60s) {
    const auto wait = [](async::Loop& loop, std::function<bool()> condition,
                         async::Deadline deadline) -> async::Task<bool> {
      while (!condition()) {
        if (deadline.Passed(loop.Now())) co_return false;
        co_await async::Sleep(loop, 10ms);
      }
      co_return true;
    };
    return Run(wait(loop_, std::move(done), loop_.After(capstan::testing::Patient(limit))));
  }

  // Calls `ask` for tasks until one of them returns `wanted`; false when none did within a minute. (Until would run the
  // loop inside itself, which may wait for ever.)
  template <class T, class Ask>
  bool UntilSaid(T wanted, Ask ask) {
    const auto wait = [](async::Loop& loop, T answer, Ask question, async::Deadline deadline) -> async::Task<bool> {
      while (co_await question() != answer) {
        if (deadline.Passed(loop.Now())) co_return false;
        co_await async::Sleep(loop, 20ms);
      }
      co_return true;
    };
    return Run(wait(loop_, wanted, std::move(ask), loop_.After(capstan::testing::Patient(60s))));
  }
  static async::Task<bool> MayList(Client& client, Resource resource, std::string ns, async::Deadline deadline) {
    const Result<std::string> listed = co_await client.List(resource, {.ns = std::move(ns)}, deadline);
    co_return listed.has_value();
  }

  ConfigMap Created(const std::string& name, const std::string& data = "{}") {
    const Result<ConfigMap> created =
        Run(client().Create<ConfigMap>(kConfigMaps, {ns_, ""}, ConfigMapJson(name, data), {}, Soon()));
    EXPECT_TRUE(created) << created.error().message();
    return created ? *created : ConfigMap();
  }
  Result<ConfigMap> Get(const std::string& name) {
    return Run(client().Get<ConfigMap>(kConfigMaps, KeyOf(name), {}, Soon()));
  }
  Result<ConfigMap> Apply(const std::string& name, const std::string& data, ApplyOptions options) {
    return Run(
        client().Apply<ConfigMap>(kConfigMaps, KeyOf(name), ConfigMapJson(name, data), std::move(options), Soon()));
  }
  template <class T>
  void ExpectCode(const Result<T>& result, Code code) {
    ASSERT_FALSE(result);
    EXPECT_EQ(Name(result.error().code()), Name(code)) << result.error().message();
  }

  async::RealLoop loop_;
  std::unique_ptr<Connection> admin_;
  std::string ns_;
};

}  // namespace capstan::kube::testing
