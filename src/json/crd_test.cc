#include "json/crd.h"

#include <gtest/gtest.h>

#include <string>

namespace capstan::json {
namespace {

struct Page {
  std::string title;
  static const json::Schema& Schema() {
    static const json::Schema schema = Object<Page>({Field<&Page::title>("title").Required()}).Doc("A page.");
    return schema;
  }
};

TEST(Crd, SaysWhatTheApiServerServes) {
  const CustomResource kind{.group = "web.example.com",
                            .version = "v1",
                            .kind = "Page",
                            .plural = "pages",
                            .short_names = {"pg"},
                            .schema = &Page::Schema,
                            .columns = {{"TITLE", "string", ".title", "What it is called"},
                                        {"AGE", "date", ".metadata.creationTimestamp", "Since when", 1}},
                            .scalable = true};
  EXPECT_EQ(
      SerializeCanonical(CrdOf(kind)),
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
      R"("metadata":{"name":"pages.web.example.com"},"spec":{"group":"web.example.com",)"
      R"("names":{"kind":"Page","listKind":"PageList","plural":"pages","shortNames":["pg"],"singular":"page"},)"
      R"("scope":"Namespaced","versions":[{"additionalPrinterColumns":[)"
      R"({"description":"What it is called","jsonPath":".title","name":"TITLE","type":"string"},)"
      R"({"description":"Since when","jsonPath":".metadata.creationTimestamp","name":"AGE","priority":1,"type":"date"}],)"
      R"("name":"v1","schema":{"openAPIV3Schema":{"description":"A page.","properties":{)"
      R"("apiVersion":{"description":"Version of this form of the object.","type":"string"},)"
      R"("kind":{"description":"Kind of the object.","type":"string"},"title":{"type":"string"}},)"
      R"("required":["title"],"type":"object"}},"served":true,"storage":true,"subresources":{"scale":)"
      R"({"labelSelectorPath":".status.selector","specReplicasPath":".spec.replicas",)"
      R"("statusReplicasPath":".status.replicas"},"status":{}}}]}})");
}

}  // namespace
}  // namespace capstan::json
