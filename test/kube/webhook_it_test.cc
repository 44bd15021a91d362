// Webhooks that a real API server calls: our server, certificates of our own CA, and what users then see. That any
// call arrives shows as well that the API server settles for HTTP/1.1 by ALPN, since we speak nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "apiserver.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/hash.h"
#include "json/value.h"
#include "kube/client.h"
#include "kube/webhook/admission.h"
#include "kube/webhook/keeper.h"
#include "net/client.h"
#include "net/server.h"
#include "net/testing/run.h"

namespace capstan::kube {
namespace {

using net::testing::RunTask;
using testing::Apiserver;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Result<AdmissionAnswer> Label(const AdmissionRequest& request) {
  return AllowChanged(request, [&](json::Value& object) {
    auto& labels = json::MakeObject(object, {"metadata", "labels"});
    labels["example.com/by"] = request.user.username;
  });
}

Result<AdmissionAnswer> Judge(const AdmissionRequest& request) {
  if (request.name == "unjudged") return Fail(Code::kUnavailable, "nobody knows");
  return request.name == "bad" ? Deny("things must not be called bad", 422, "Invalid") : Allow();
}

// A kind of its own for each test, with both kinds of webhooks, served here.
class WebhookTest : public ::testing::Test {
 protected:
  WebhookTest()
      : http_(loop_, {.server = admin_.server, .credentials = admin_.credentials}), client_(loop_, http_, {}) {
    static int count = 0;
    group_ = "hook" + std::to_string(++count) + ".capstan";
    server_ = *net::HttpServer::Start({.address = "127.0.0.1", .identity = identity_, .metrics = &metrics_},
                                      {{"/label", ServeAdmission("label." + group_, Label, &metrics_)},
                                       {"/judge", ServeAdmission("judge." + group_, Judge, &metrics_)}});
    Install();
  }
  ~WebhookTest() override { StopKeepers(); }

  void Install() {
    Create(kCustomResourceDefinitions,
           R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.)" +
               group_ + R"("},"spec":{"group":")" + group_ +
               R"(","scope":"Namespaced","names":{"plural":"things","singular":"thing","kind":"Thing"},)"
               R"("versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
               R"("properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}})");
    Create(kMutatingWebhookConfigurations, ConfigurationJson(kMutatingWebhookConfigurations, "label", "/label"));
    Create(kValidatingWebhookConfigurations, ConfigurationJson(kValidatingWebhookConfigurations, "judge", "/judge"));
  }
  std::string Url(const std::string& path) const {
    return "https://127.0.0.1:" + std::to_string(server_->port()) + path;
  }
  std::string ConfigurationJson(const Resource& resource, const std::string& name, const std::string& path) {
    return R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":")" + std::string(resource.kind) +
           R"(","metadata":{"name":")" + group_ + R"("},"webhooks":[{"name":")" + name + "." + group_ +
           R"(","clientConfig":{"url":")" + Url(path) +
           R"("},"admissionReviewVersions":["v1"],"sideEffects":"None","failurePolicy":"Fail","timeoutSeconds":10,)"
           R"("rules":[{"apiGroups":[")" +
           group_ + R"("],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["things"]}]}]})";
  }
  void Create(const Resource& resource, std::string object) {
    const auto created = Run(client_.Create(resource, {}, std::move(object), {}, Soon()));
    ASSERT_TRUE(created) << created.error().message();
  }

  WebhookKeeper& StartKeeper(CertificatePolicy policy) {
    policy.name = "hook";
    policy.names = {"127.0.0.1"};
    keepers_.push_back(std::make_unique<WebhookKeeper>(
        loop_, client_, identity_,
        WebhookKeeper::Options{.secret = {"default", group_},
                               .policy = std::move(policy),
                               .targets = {{kMutatingWebhookConfigurations, group_, {"label." + group_}},
                                           {kValidatingWebhookConfigurations, group_, {"judge." + group_}}},
                               .interval = 200ms,
                               .seed = keepers_.size() + 1,
                               .metrics = &metrics_}));
    running_.Spawn("keeper", keepers_.back()->Run());
    return *keepers_.back();
  }
  void StopKeepers() {
    running_.Cancel();
    Run([](async::TaskGroup& group) -> async::Task<bool> {
      co_await group.Join();
      co_return true;
    }(running_));
  }

  template <class T>
  T Run(async::Task<T> task) {
    return RunTask(loop_, std::move(task));
  }
  async::Deadline Soon() { return loop_.After(20s); }
  Resource Things() const { return {group_, "v1", "things", "Thing", true}; }

  Result<json::Value> Thing(const std::string& name, int size, bool dry_run = false) {
    const std::string object = R"({"apiVersion":")" + group_ + R"(/v1","kind":"Thing","metadata":{"name":")" + name +
                               R"("},"spec":{"size":)" + std::to_string(size) + "}}";
    const auto created = Run(client_.Create(Things(), {"default", ""}, object, {.dry_run = dry_run}, Soon()));
    if (!created) return Fail(created.error());
    return json::Parse(*created);
  }
  std::string Refusal(const std::string& name) {
    const auto created = Thing(name, 1, true);
    return created ? "" : created.error().message();
  }
  // Until `done`, which asks the API server, says so: it learns of new configurations in its own time.
  bool Eventually(const std::function<bool()>& done) {
    for (const async::Deadline limit = loop_.After(60s); !limit.Passed(loop_.Now());) {
      if (done()) return true;
    }
    return false;
  }
  void StartServing() {
    StartKeeper({});
    ASSERT_TRUE(Eventually([&] { return Refusal("bad").find("must not be called bad") != std::string::npos; }));
    ASSERT_TRUE(Eventually([&] {
      const auto thing = Thing("probe", 1, true);
      return thing && json::FindText(*thing, {"metadata", "labels", "example.com/by"}) == "admin";
    }));
  }
  CertificateRecord Record() {
    return *ReadCertificateRecord(*Run(client_.Get(kSecrets, {"default", group_}, {}, Soon())));
  }
  std::string BundleOf(const Resource& resource) {
    const auto object = json::Parse(*Run(client_.Get(resource, {"", group_}, {}, Soon())));
    return *FromBase64(json::FindText(json::Find(*object, {"webhooks"})->get_array()[0], {"clientConfig", "caBundle"}));
  }

  async::RealLoop loop_;
  Config admin_ = Apiserver().Admin();
  net::HttpClient http_;
  Client client_;
  net::Metrics metrics_;
  std::shared_ptr<net::ServingIdentity> identity_ = std::make_shared<net::ServingIdentity>();
  std::string group_;
  std::unique_ptr<net::HttpServer> server_;
  std::vector<std::unique_ptr<WebhookKeeper>> keepers_;
  async::TaskGroup running_{loop_};
};

TEST_F(WebhookTest, TheApiServerAsksAndHeeds) {
  StartServing();
  const auto thing = Thing("good", 3);
  ASSERT_TRUE(thing) << thing.error().message();
  EXPECT_EQ(json::FindText(*thing, {"metadata", "labels", "example.com/by"}), "admin");

  const auto bad = Thing("bad", 3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), Code::kInvalid);
  EXPECT_THAT(bad.error().message(), HasSubstr("admission webhook \"judge." + group_ +
                                               "\" denied the request: things must not be called bad"));
  EXPECT_THAT(Refusal("unjudged"), HasSubstr("nobody knows"));

  server_.reset();  // an answer is counted after its last byte was sent
  const std::string counted = metrics_.Exposition();
  EXPECT_THAT(counted,
              HasSubstr("capstan_admission_reviews_total{webhook=\"label." + group_ + "\",verdict=\"patched\"}"));
  EXPECT_THAT(counted, HasSubstr("capstan_http_requests_total{path=\"/judge\",code=\"500\"}"));
}

TEST_F(WebhookTest, TwoThatStartTogetherMakeOneCa) {
  const WebhookKeeper& one = StartKeeper({});
  const WebhookKeeper& other = StartKeeper({});
  ASSERT_TRUE(Eventually([&] { return !Refusal("bad").empty() && one.ready() && other.ready(); }));
  const CertificateRecord record = Record();
  EXPECT_EQ(one.served_certificate(), record.serving.certificate_pem);
  EXPECT_EQ(other.served_certificate(), record.serving.certificate_pem);
  EXPECT_EQ(net::ReadCertificates(record.trusted_pem)->size(), 1u);
  EXPECT_THAT(metrics_.Exposition(), HasSubstr("capstan_webhook_certificate_steps_total{step=\"absent\"} 1\n"));
  EXPECT_EQ(BundleOf(kMutatingWebhookConfigurations), record.trusted_pem);
}

TEST_F(WebhookTest, RotationWhileRequestsGoOnLosesNone) {
  StartServing();
  server_->Retire();  // each call is a handshake of its own
  const CertificateRecord before = Record();
  // To a replica that wants CAs of three years, one of a year is due.
  StartKeeper({.authority_life = 3 * 366 * 24h, .settle = 5s});
  int calls = 0;
  const auto rotated = [&] {
    const auto thing = Thing("busy", ++calls, true);
    EXPECT_TRUE(thing) << thing.error().message();
    return HasFailure() || !net::SignedBy(keepers_[0]->served_certificate(), before.trusted_pem);
  };
  ASSERT_TRUE(Eventually(rotated));
  for (int i = 0; i < 50; ++i) rotated();
  const CertificateRecord after = Record();
  EXPECT_THAT(after.trusted_pem, Not(StartsWith(before.trusted_pem)));
  EXPECT_THAT(after.trusted_pem, HasSubstr(before.trusted_pem));  // still good, still trusted
  EXPECT_EQ(BundleOf(kValidatingWebhookConfigurations), after.trusted_pem);
  EXPECT_GT(calls, 50);
}

TEST_F(WebhookTest, AWrongBundleIsRepaired) {
  StartServing();
  server_->Retire();
  StopKeepers();
  const std::string good = BundleOf(kValidatingWebhookConfigurations);
  const auto stranger = net::NewAuthority("stranger", {loop_.WallNow() - 1h, loop_.WallNow() + 24h});
  const std::string patch = R"([{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":")" +
                            Base64(stranger->certificate_pem) + R"("}])";
  ASSERT_TRUE(Run(client_.Patch(kValidatingWebhookConfigurations, {"", group_}, PatchType::kJson, patch, {}, Soon())));
  ASSERT_TRUE(
      Eventually([&] { return Refusal("fine").find("certificate signed by unknown authority") != std::string::npos; }));
  StartKeeper({});
  ASSERT_TRUE(Eventually([&] { return Refusal("fine").empty(); }));
  EXPECT_EQ(BundleOf(kValidatingWebhookConfigurations), good);
}

}  // namespace
}  // namespace capstan::kube
