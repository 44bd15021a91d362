#include "operator/questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run_virtual.h"
#include "operator/accounting/questions.h"
#include "operator/controller/questions.h"
#include "operator/ssh_files.h"
#include "operator/testing/world.h"
#include "operator/token/questions.h"
#include "operator/unknown_fields.h"
#include "plan/services.h"
#include "slurm/jwt.h"

namespace capstan::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

class QuestionsTest : public ::testing::Test {
 protected:
  // What `question` is answered; nullptr: it is not there.
  template <class Question>
  std::shared_ptr<const typename Question::Value> Ask(const Question& question) {
    auto fetched = kube::testing::RunVirtual(loop, question.Fetch(services, loop.After(5s)));
    EXPECT_TRUE(fetched) << fetched.error().message();
    if (!fetched || !*fetched) return nullptr;
    return std::static_pointer_cast<const typename Question::Value>((*fetched)->value);
  }
  void PutSecret(const std::string& data) {
    server.Put(
        kube::kSecrets,
        R"({"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"slurm","name":"keys"},"data":)" + data + "}");
  }
  std::string DigestOf(const std::string& key) {
    const auto value = Ask(SecretDigest({"slurm", "keys"}));
    return value && value->digests.contains(key) ? value->digests.at(key) : "";
  }

  const UnknownFields pod{{"slurm", "main"},
                          {"spec.template.spec", R"({"containers":[{"name":"side","imagee":"x"}],"hostnam":"a"})"},
                          {{"spec.slurmctld", R"({"image":"x","livenesProbe":{}})"}, {"spec.logfile", ""}}};
  async::VirtualLoop loop;
  kube::testing::FakeApiServer server{loop, 1};
  kube::Client client{loop, server, {.field_manager = "capstan"}};
  plan::Stores stores;
  plan::AppliedMemo memo;
  plan::SlurmClusters clusters{loop, client, nullptr, [](const std::string&, const std::vector<std::string>&) {}, 1};
  plan::Services services{loop, client, stores, memo, clusters, "capstan", nullptr, {}};
};

// The annotation of every pod carried the SHA-256 of the whole Secret: whoever reads pods could try passwords that lie beside
// the key, and a change beside the key restarted the cluster.
TEST_F(QuestionsTest, DigestOfASecretIsOfOneKeyAndKeyedByIt) {
  PutSecret(R"({"slurm.key":"a2V5","password":"MTIzNA=="})");
  const std::string digest = DigestOf("slurm.key");
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(digest, Hex(HmacSha256("key", "capstan: digest of a key"))) << "another one restarts every pod";
  EXPECT_NE(digest, Sha256Hex("key"));
  PutSecret(R"({"slurm.key":"a2V5","password":"NTY3OA=="})");
  EXPECT_EQ(DigestOf("slurm.key"), digest);
  PutSecret(R"({"slurm.key":"b3RoZXI="})");
  EXPECT_NE(DigestOf("slurm.key"), digest);
  EXPECT_EQ(DigestOf("password"), "");
}

TEST_F(QuestionsTest, AVolumeClaimSaysWhoseAndWhatItIs) {
  const auto ask = [&](const std::string& metadata, const std::string& spec) {
    server.Put(kube::kPersistentVolumeClaims, R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":)" +
                                                  metadata + R"(,"spec":)" + spec + "}");
    return Ask(VolumeClaim({"slurm", "main-root"}));
  };
  const auto strange = ask(R"({"namespace":"slurm","name":"main-root","labels":{"app.kubernetes.io/instance":"main"}})",
                           R"({"accessModes":["ReadWriteMany"],"volumeMode":"Block"})");
  EXPECT_EQ(strange->access_modes, std::vector<std::string>{"ReadWriteMany"});
  EXPECT_EQ(strange->root, "") << "of another program's";
  EXPECT_TRUE(strange->is_block);
  const auto ours = ask(R"({"namespace":"slurm","name":"main-root","labels":)"
                        R"({"app.kubernetes.io/name":"sharedroot","app.kubernetes.io/instance":"main"}})",
                        R"({"volumeMode":"Filesystem"})");
  EXPECT_EQ(ours->root, "main");
  EXPECT_FALSE(ours->is_block);
}

TEST_F(QuestionsTest, JwksFileSaysWhatIsWrongWithIt) {
  const JwksFile question({"slurm", "jwks"}, "jwks.json");
  EXPECT_EQ(Ask(question), nullptr);
  const auto with = [&](const boost::json::object& data) {
    server.Put(kube::kConfigMaps, json::Serialize(boost::json::object{
                                      {"apiVersion", "v1"},
                                      {"kind", "ConfigMap"},
                                      {"metadata", boost::json::object{{"namespace", "slurm"}, {"name", "jwks"}}},
                                      {"data", data}}));
    return *Ask(question);
  };
  EXPECT_EQ(with({{"other", "x"}}), "has no key \"jwks.json\"");
  EXPECT_THAT(with({{"jwks.json", "-----BEGIN"}}), HasSubstr("is no JSON in \"jwks.json\": "));
  EXPECT_THAT(with({{"jwks.json", R"({"kty":"RSA"})"}}), HasSubstr("has no list \"keys\""));
  EXPECT_EQ(with({{"jwks.json", R"({"keys":[{"kty":"RSA"}]})"}}), "");
}

TEST_F(QuestionsTest, AScriptThatNoKernelStartsIsNamed) {
  const ConfigMapDigest question({"slurm", "prologs"});
  server.Put(kube::kConfigMaps, json::Serialize(boost::json::object{
                                    {"metadata", boost::json::object{{"namespace", "slurm"}, {"name", "prologs"}}},
                                    {"data", boost::json::object{{"1-good.sh", "#!/bin/bash\ntrue\n"},
                                                                 {"2-blank.py", "#! /usr/bin/env python3"},
                                                                 {"3-none.sh", "echo $SLURM_JOB_ID\n"},
                                                                 {"4-empty.sh", ""},
                                                                 {"5-dos.sh", "#!/bin/bash\r\ntrue\r\n"},
                                                                 {"6-name.sh", "#!bash\n"}}},
                                    {"binaryData", boost::json::object{{"7-program", "f0VMRg=="}}}}));
  EXPECT_THAT(Ask(question)->no_scripts, ElementsAre(Pair("3-none.sh", StartsWith("does not begin with #!")),
                                                     Pair("4-empty.sh", StartsWith("does not begin")),
                                                     Pair("5-dos.sh", HasSubstr("end in CR and LF")),
                                                     Pair("6-name.sh", StartsWith("names no path behind #!"))));
}

// A slurmctld with such a cgroup.conf ended at once, and was started anew for ever.
TEST_F(QuestionsTest, FilesThatSlurmDoesNotStartWithAreNamed) {
  const ConfigMapDigest question({"slurm", "files"});
  const auto put = [this](const std::string& data) {
    server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"slurm","name":"files"},"data":)" + data + "}");
  };
  put(R"({"cgroup.conf":"ConstrainCores=yes\nFuture=1\n","note.txt":"no Slurm reads it"})");
  EXPECT_THAT(Ask(question)->refused, IsEmpty());
  put(R"({"cgroup.conf":"\nConstrainCores=perhaps\n"})");
  EXPECT_THAT(Ask(question)->refused, ElementsAre("cgroup.conf, line 2: ConstrainCores=perhaps must be YES or NO"));
}

TEST_F(QuestionsTest, PartitionsOfFilesAreKnown) {
  server.Put(
      kube::kConfigMaps,
      R"({"metadata":{"namespace":"slurm","name":"files"},"data":{"a.conf":"NodeSet=s Feature=s\npartitionname=p Nodes=s\n)"
      R"(PartitionName=DEFAULT MaxTime=5\nInclude b.conf\nPartitionName=q\n","b.conf":"NodeName=n","c.sh":"#!/bin/sh\ntrue"}})");
  const auto value = Ask(ConfigMapDigest({"slurm", "files"}));
  ASSERT_THAT(value->included, ElementsAre(Pair("a.conf", ::testing::_)));
  EXPECT_THAT(value->included.at("a.conf").partitions, ElementsAre("p", "q"));
  EXPECT_THAT(value->included.at("a.conf").files, ElementsAre("b.conf"));
}

TEST_F(QuestionsTest, AFileThatIsTooLargeIsNamed) {
  const auto put = [this](size_t bytes) {
    server.Put(kube::kConfigMaps, R"({"metadata":{"namespace":"slurm","name":"files"},"data":{"gres.conf":")" +
                                      std::string(bytes, '#') + R"(","other.conf":")" + std::string(bytes, '#') +
                                      "\"}}");
  };
  put(524'288);
  EXPECT_THAT(Ask(ConfigMapDigest({"slurm", "files"}))->refused, IsEmpty());
  put(524'289);
  EXPECT_THAT(Ask(ConfigMapDigest({"slurm", "files"}))->refused,
              ElementsAre("gres.conf, which has 524289 bytes, more than the 524288 that a file may have; shorten it"));
}

TEST_F(QuestionsTest, FilesThatOthersNameAreKnown) {
  server.Put(kube::kConfigMaps,
             R"({"metadata":{"namespace":"slurm","name":"files"},"data":{)"
             R"("plugstack.conf":"required /etc/slurm/x11.so\ninclude plugstack.d/*.conf\n#spank.conf",)"
             R"("a.lua":"b.lua"}})");
  EXPECT_THAT(Ask(ConfigMapDigest({"slurm", "files"}))->named,
              ElementsAre(".conf", "plugstack.d", "spank.conf", "x11.so"));
}

// --- Secrets that we write -------------------------------------------------------------------------------------------

// People choose passwords that can be guessed: whoever reads a plain digest could try them.
TEST_F(QuestionsTest, ThePasswordsDigestIsKeyedBySlurmsKey) {
  const accounting::ConfState question({"slurm", "db-accounting"}, {"slurm", "keys"}, "password", {"slurm", "keys"},
                                       "slurm.key");
  PutSecret(R"({"slurm.key":"a2V5","password":"MTIzNA=="})");
  const auto first = Ask(question);
  EXPECT_EQ(first->password_digest, Hex(HmacSha256("key", "1234")));
  EXPECT_EQ(first->password_wrong, "");
  EXPECT_FALSE(first->present);
  PutSecret(R"({"slurm.key":"a2V5","password":")" + Base64("12\"34") + "\"}");
  EXPECT_THAT(Ask(question)->password_wrong, HasSubstr("holds a password that is refused"));
  EXPECT_THAT(Ask(question)->password_wrong, Not(HasSubstr("34"))) << "it would stand in a condition";
  PutSecret(R"({"slurm.key":"a2V5"})");
  EXPECT_THAT(Ask(question)->password_wrong, HasSubstr("has no key \"password\""));
  server.Put(
      kube::kSecrets,
      R"({"metadata":{"namespace":"slurm","name":"db-accounting","annotations":{"capstan.dev/made-from":"m"},)"
      R"("ownerReferences":[{"apiVersion":"v1","kind":"Accounting","name":"db","uid":"u","controller":true}]}})");
  EXPECT_TRUE(Ask(question)->present);
  EXPECT_EQ(Ask(question)->controller_uid, "u");
  EXPECT_EQ(Ask(question)->made_from, "m");
}

// The same of the directory's: it stands in sssd.conf.
TEST_F(QuestionsTest, TheDigestOfSssdConfIsKeyedBySlurmsKey) {
  const SssdDigest question("slurm", {.name = "keys", .key = "sssd.conf"}, {.name = "keys", .key = "slurm.key"});
  PutSecret(R"({"slurm.key":"a2V5","sssd.conf":"W3Nzc2Rd"})");
  EXPECT_EQ(*Ask(question), Hex(HmacSha256("key", "[sssd]")));
  for (const char* other :
       {R"({"slurm.key":"b3RoZXI=","sssd.conf":"W3Nzc2Rd"})", R"({"slurm.key":"a2V5","sssd.conf":"W3BhbV0="})"}) {
    PutSecret(other);
    EXPECT_NE(*Ask(question), Hex(HmacSha256("key", "[sssd]"))) << other;
  }
  for (const char* without : {R"({"slurm.key":"a2V5"})", R"({"sssd.conf":"W3Nzc2Rd"})"}) {
    PutSecret(without);
    EXPECT_EQ(Ask(question), nullptr) << without;
  }
}

TEST_F(QuestionsTest, ATokenIsReadWithTheKeyThatSignedIt) {
  const token::IssuedToken question({"slurm", "keys"}, "SLURM_JWT", {"slurm", "signing"}, "jwt.key");
  EXPECT_EQ(Ask(question), nullptr);
  const auto sign = [&](std::string_view key) {
    server.Put(kube::kSecrets,
               R"({"metadata":{"namespace":"slurm","name":"signing"},"data":{"jwt.key":")" + Base64(key) + "\"}}");
  };
  const auto signed_token = slurm::SignToken(
      {.user = "alice", .issuer = "i", .id = "1", .issued_at = Time(100s), .expires_at = Time(1000s)}, Secret("first"));
  ASSERT_TRUE(signed_token);
  PutSecret(R"({"SLURM_JWT":")" + Base64(signed_token->Reveal()) + "\"}");
  EXPECT_EQ(Ask(question)->invalid, "the key that signs it cannot be had");
  sign("first");
  ASSERT_TRUE(Ask(question)->claims);
  EXPECT_EQ(Ask(question)->claims->user, "alice");
  EXPECT_EQ(Ask(question)->claims->expires_at, Time(1000s));
  EXPECT_EQ(Ask(question)->key_bytes, 5u);
  sign("second");
  EXPECT_FALSE(Ask(question)->claims);
  EXPECT_NE(Ask(question)->invalid, "");
}

// --- Unknown fields --------------------------------------------------------------------------------------------------

TEST_F(QuestionsTest, UnknownFieldsAreNamedInTheUsersWords) {
  EXPECT_THAT(pod.Named(R"(Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field )"
                        R"("spec.containers[0].imagee", unknown field "spec.containers[1].livenesProbe", unknown )"
                        R"(field "spec.containers[1].$patch", unknown field "spec.hostnam")"),
              ElementsAre("spec.template.spec.containers[0].imagee", "spec.slurmctld.livenesProbe",
                          "spec.template.spec.hostnam"));
  EXPECT_THAT(pod.Named("pods \"main\" is forbidden: exceeded quota"), IsEmpty());
}

TEST_F(QuestionsTest, UnknownFieldsAreAskedForByADryRunOnly) {
  EXPECT_THAT(*Ask(pod), IsEmpty());
  EXPECT_EQ(server.Find(kube::kPods, {"slurm", "main"}), nullptr);
  EXPECT_THAT(server.writes(), IsEmpty());
  server.deny = [](std::string_view, const kube::Resource&, const kube::Key&) {
    return std::optional<kube::testing::Refusal>({400, "BadRequest", R"(unknown field "spec.hostnam")"});
  };
  EXPECT_THAT(*Ask(pod), ElementsAre("spec.template.spec.hostnam"));
}

class UnknownFieldsTest : public ::testing::Test {
 protected:
  void Known(const UnknownFields& question, UnknownFields::Value unknown) {
    world.Answer(question.id(), std::make_shared<const UnknownFields::Value>(std::move(unknown)));
  }
  test::TestWorld world;
};

TEST_F(UnknownFieldsTest, AreDroppedAndNamed) {
  json::Raw spec{R"({"a.b":1,"containers":[{"name":"side","imagee":"x"}],"hostname":"a"})"};
  json::Raw slurmctld{R"({"image":"x","livenesProbe":{"x":1}})"};
  Known({{"slurm", "main"}, {"spec.template.spec", spec.text}, {{"spec.slurmctld", slurmctld.text}}},
        {"spec.template.spec.a.b", "spec.template.spec.containers[0].imagee", "spec.slurmctld.livenesProbe"});
  Findings findings;
  world.Look([&](const plan::World& seen) {
    DropUnknownPodFields(seen, {"slurm", "main"}, {"spec.template.spec", &spec}, {{"spec.slurmctld", &slurmctld}},
                         findings);
  });
  EXPECT_EQ(spec.text, R"({"containers":[{"name":"side"}],"hostname":"a"})");
  EXPECT_EQ(slurmctld.text, R"({"image":"x"})");
  ASSERT_EQ(findings.remarks.size(), 1u);
  EXPECT_EQ(
      findings.remarks[0].message,
      "spec.template.spec.a.b, spec.template.spec.containers[0].imagee, spec.slurmctld.livenesProbe are no fields "
      "that the API server knows, and left out; correct or remove them");
}

TEST_F(UnknownFieldsTest, ExternalIpsAreNamedAsLeftOut) {
  json::Raw spec{R"({"externalIPs":["192.0.2.1"]})"};
  Findings findings;
  world.Look([&](const plan::World& seen) {
    DropUnknownServiceFields(seen, {"slurm", "main"}, {"spec.service.spec", &spec}, findings);
  });
  ASSERT_EQ(findings.remarks.size(), 1u);
  EXPECT_THAT(findings.remarks[0].message, HasSubstr("spec.service.spec.externalIPs is left out"));
}

TEST_F(UnknownFieldsTest, NobodyIsAskedForATemplateThatSaysNothing) {
  json::Raw nothing;
  Findings findings;
  world.Look([&](const plan::World& seen) {
    DropUnknownServiceFields(seen, {"slurm", "main"}, {"spec.service.spec", &nothing}, findings);
    EXPECT_THAT(seen.asked(), IsEmpty());
  });
  EXPECT_THAT(findings.remarks, IsEmpty());
}

}  // namespace
}  // namespace capstan::op
