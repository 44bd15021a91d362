#include "render/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/sharedroot.h"
#include "base/text.h"
#include "json/codec.h"
#include "json/testing/golden.h"
#include "json/value.h"
#include "json/yaml_text.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/run_virtual.h"
#include "operator/sharedroot/jobs.h"
#include "render/manifests.h"
#include "source_dir.h"

namespace capstan::render {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kCluster = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: main}
spec:
  slurmKeyRef: {name: keys, key: slurm.key}
  jwtKeyRef: {name: keys, key: jwt.key}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: w}
spec: {controllerRef: {name: main}, replicas: 3}
---
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: main}
spec: {controllerRef: {name: main}}
)";
constexpr std::string_view kKeys = R"(---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {slurm.key: a, jwt.key: b}
)";

Result<Rendered> RenderText(const std::string& text) {
  async::VirtualLoop loop;
  CAPSTAN_TRY(std::vector<json::Value> files, ReadManifests(text, "f"));
  return kube::testing::RunVirtual(loop, Render(loop, std::move(files), {.ns = "slurm"}));
}

std::vector<std::string> NamesOf(const Rendered& rendered) {
  std::vector<std::string> names;
  for (const Rendered::Object& object : rendered.objects)
    names.push_back(std::string(object.resource->kind) + " " + object.key.ToString());
  return names;
}

std::string Yaml(const Rendered& rendered) {
  std::string text;
  for (const auto* sentences : {&rendered.missing, &rendered.notes, &rendered.problems}) {
    for (const std::string& sentence : *sentences) text += "# " + sentence + ".\n";
  }
  for (const Rendered::Object& object : rendered.objects) text += "---\n" + json::ToYaml(object.body);
  return text;
}

TEST(Render, EverythingThatAClusterIsMadeOfIsThere) {
  const auto rendered = RenderText(std::string(kCluster) + std::string(kKeys));
  ASSERT_TRUE(rendered) << rendered.error().message();
  const auto names = NamesOf(*rendered);
  for (const char* name :
       {"StatefulSet slurm/main-controller", "ConfigMap slurm/main-config", "Service slurm/main-controller",
        "Deployment slurm/main-restapi", "Service slurm/main-restapi", "Pod slurm/w-0",
        "PodDisruptionBudget slurm/slurm-workers-pdb-main"})
    EXPECT_THAT(names, Contains(name));
  EXPECT_THAT(rendered->missing, IsEmpty());
  EXPECT_THAT(rendered->problems, IsEmpty());
  EXPECT_FALSE(rendered->stand_ins);
  EXPECT_THAT(rendered->notes, ElementsAre("NodeSet slurm/w has 3 workers; Pod w-0 stands for all of them"));
}

// An owner reference with a uid of nobody has the garbage collector remove whatever is applied with it.
TEST(Render, NoUidIsInvented) {
  const auto rendered = RenderText(std::string(kCluster) + std::string(kKeys));
  ASSERT_TRUE(rendered);
  EXPECT_THAT(Yaml(*rendered), ::testing::Not(HasSubstr("in-a-file")));
  EXPECT_THAT(Yaml(*rendered), ::testing::Not(HasSubstr("uid")));
}

TEST(Render, ASecretThatIsMissingIsNamedAndHoldsUpNothing) {
  const auto rendered = RenderText(std::string(kCluster));
  ASSERT_TRUE(rendered);
  EXPECT_THAT(rendered->missing, ElementsAre("Secret slurm/keys (jwt.key, slurm.key) is not in the files"));
  EXPECT_THAT(NamesOf(*rendered), Contains("StatefulSet slurm/main-controller"));
  EXPECT_TRUE(rendered->stand_ins);
}

constexpr std::string_view kRoot =
    "apiVersion: capstan.dev/v1alpha1\nkind: SharedRoot\nmetadata: {name: main}\nspec: {source: {image: shell}, claim: "
    "{";

TEST(Render, ASharedRootIsItsClaimAndTheJobThatFillsIt) {
  const auto rendered = RenderText(std::string(kRoot) + "size: 1Gi}}\n");
  ASSERT_TRUE(rendered);
  EXPECT_THAT(NamesOf(*rendered),
              UnorderedElementsAre("PersistentVolumeClaim slurm/main-root", StartsWith("Job slurm/main-fill-")));
  EXPECT_THAT(rendered->problems, IsEmpty());
}

// Beside a cluster: its status says that the Jobs have done their work.
TEST(Render, ASharedRootAtRestHasNoJobs) {
  async::VirtualLoop loop;
  kube::testing::FakeApiServer server(loop, 1);
  server.objects().Serve(api::SharedRoot::kResource);
  const json::Value claim =
      server.Put(kube::kPersistentVolumeClaims,
                 R"({"metadata":{"namespace":"slurm","name":"main-root"},"spec":{"accessModes":["ReadWriteMany"]}})");
  api::SharedRoot root;
  root.metadata = {.name = "main", .namespace_ = "slurm"};
  root.spec.claim.size = "1Gi";
  root.spec.source.image = "shell";
  server.Put(api::SharedRoot::kResource, json::Encode(root));
  root.status.claim_uid = json::FindText(claim, {"metadata", "uid"});
  root.status.current = {op::sharedroot::GenerationName(root.spec), *api::WithDefaults(root.spec).keep, {}, {}, 1};
  server.Put(api::SharedRoot::kResource, json::Encode(root), "status");
  const auto render = [&](const std::string& revision) {
    auto files = ReadManifests(std::string(kRoot) + "size: 1Gi}, revision: \"" + revision + "\"}\n", "f");
    const auto rendered =
        kube::testing::RunVirtual(loop, Render(loop, *std::move(files), {.ns = "slurm", .cluster = &server}));
    return rendered ? NamesOf(*rendered) : std::vector<std::string>{rendered.error().message()};
  };
  EXPECT_THAT(render(""), IsEmpty());
  EXPECT_THAT(render("2"), ElementsAre(StartsWith("Job slurm/main-fill-")));
}

TEST(Render, AClaimThatIsMissingIsNamedAndHoldsUpNothing) {
  const auto rendered = RenderText(std::string(kRoot) + "existing: jail}}\n");
  ASSERT_TRUE(rendered);
  EXPECT_THAT(rendered->missing, ElementsAre("PersistentVolumeClaim slurm/jail is not in the files"));
  EXPECT_THAT(NamesOf(*rendered), ElementsAre(StartsWith("Job slurm/main-fill-")));
  EXPECT_THAT(rendered->problems, IsEmpty());
  EXPECT_FALSE(rendered->stand_ins);
}

TEST(Render, WhatIsRefusedIsTold) {
  const auto rendered = RenderText(
      "apiVersion: slinky.slurm.net/v1beta1\nkind: NodeSet\nmetadata: {name: w}\nspec: {controllerRef: {name: "
      "gone}}\n");
  ASSERT_TRUE(rendered);
  ASSERT_EQ(rendered->problems.size(), 1u);
  EXPECT_THAT(rendered->problems[0], HasSubstr("NodeSet slurm/w: there is no Controller gone"));
}

TEST(Render, FilesWithoutCustomResourcesAreAMistake) {
  const auto rendered = RenderText(std::string(kKeys));
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().message(), "there is no custom resource of Capstan to render");
}

// examples/demo, as Helm renders it (testdata/demo.in.yaml).
TEST(Render, TheDemo) {
  const std::string folder = testing::SourceDir() + "/src/render/testdata/";
  std::ifstream in(folder + "demo.in.yaml");
  ASSERT_TRUE(in);
  const auto rendered = RenderText(std::string(std::istreambuf_iterator<char>(in), {}));
  ASSERT_TRUE(rendered) << rendered.error().message();
  EXPECT_THAT(rendered->problems, IsEmpty());
  json::testing::ExpectGolden(folder + "demo.yaml", Yaml(*rendered));
}

TEST(Render, TenThousandWorkersAreSmall) {
  std::string text = std::string(kCluster) + std::string(kKeys);
  text.replace(text.find("replicas: 3"), 11, "replicas: 10000");
  const auto rendered = RenderText(text);
  ASSERT_TRUE(rendered);
  EXPECT_LT(Yaml(*rendered).size(), size_t{200} << 10);
}

}  // namespace
}  // namespace capstan::render
