#include "decide.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/hash.h"
#include "footer.h"
#include "json/codec.h"
#include "json/defaults.h"
#include "json/value.h"
#include "website.h"

namespace website {

using namespace capstan;  // NOLINT: this file is all of it
using boost::json::array;
using boost::json::object;

namespace {

constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
constexpr std::string_view kOperator = "website-operator";
constexpr std::string_view kPage = "web.example.com/page";  // annotation of the ConfigMap: which page it has
constexpr Duration kFooterAge = 5s;
constexpr int kContainerPort = 8080;

// --- The page --------------------------------------------------------------------------------------------------------

struct Trouble {
  std::string reason;   // one CamelCase word, for programs
  std::string message;  // what is wrong and what to do, for people
};

// The page with its footer; Trouble while that cannot be told.
std::expected<std::string, Trouble> PageOf(const plan::World& world, const Website& site) {
  const std::string& name = site.spec.footer_from;
  if (name.empty()) return site.spec.html;
  const auto footer = world.Ask(Footer({site.metadata.namespace_, name}), kFooterAge);
  if (footer.value != nullptr) return site.spec.html + *footer.value;  // an old answer is better than none
  if (footer.absent()) {
    return std::unexpected(Trouble{"FooterMissing", "ConfigMap " + name +
                                                        ", named in spec.footerFrom, does not exist; create it, or "
                                                        "correct the name"});
  }
  return std::unexpected(Trouble{"FooterUnknown", footer.error.empty() ? "the footer is being read"
                                                                       : "the footer cannot be read: " + footer.error});
}

std::string DigestOf(std::string_view page) { return Sha256Hex(page).substr(0, 12); }

// --- Children --------------------------------------------------------------------------------------------------------

object Labels(const Website& site) {
  return {{"app.kubernetes.io/name", "website"},
          {"app.kubernetes.io/instance", site.metadata.name},
          {kManagedBy, kOperator}};
}

// What every child has in common. With the owner reference it is ours, and goes when the Website does.
object Owned(const kube::Resource& resource, const Website& site) {
  const object owner{{"apiVersion", Website::kResource.ApiVersion()},
                     {"kind", Website::kResource.kind},
                     {"name", site.metadata.name},
                     {"uid", site.metadata.uid},
                     {"controller", true},
                     {"blockOwnerDeletion", true}};
  const object metadata{{"name", site.metadata.name},
                        {"namespace", site.metadata.namespace_},
                        {"labels", Labels(site)},
                        {"ownerReferences", array{owner}}};
  return {{"apiVersion", resource.ApiVersion()}, {"kind", resource.kind}, {"metadata", metadata}};
}

plan::Child Child(const kube::Resource& resource, const Website& site, object body, std::string reason) {
  return {.resource = &resource,
          .key = {site.metadata.namespace_, site.metadata.name},
          .body = json::SerializeCanonical(std::move(body)),
          .reason = std::move(reason)};
}

plan::Child PageChild(const Website& site, const std::string& page) {
  object body = Owned(kube::kConfigMaps, site);
  body["metadata"].as_object()["annotations"] = object{{kPage, DigestOf(page)}};
  body["data"] = object{{"index.html", page}};
  return Child(kube::kConfigMaps, site, std::move(body), "holds the page");
}

// The kubelet brings a changed page into running pods: the Deployment does not depend on it.
plan::Child ServersChild(const Website& site) {
  const object container{{"name", "httpd"},
                         {"image", "busybox"},
                         {"command", array{"httpd", "-f", "-p", std::to_string(kContainerPort), "-h", "/www"}},
                         {"ports", array{object{{"name", "http"}, {"containerPort", kContainerPort}}}},
                         {"volumeMounts", array{object{{"name", "page"}, {"mountPath", "/www"}}}}};
  const object volume{{"name", "page"}, {"configMap", object{{"name", site.metadata.name}}}};
  object body = Owned(kube::kDeployments, site);
  body["spec"] =
      object{{"replicas", *site.spec.replicas},
             {"selector", object{{"matchLabels", Labels(site)}}},
             {"template", object{{"metadata", object{{"labels", Labels(site)}}},
                                 {"spec", object{{"containers", array{container}}, {"volumes", array{volume}}}}}}};
  return Child(kube::kDeployments, site, std::move(body), "shows the page");
}

plan::Child ServiceChild(const Website& site) {
  object body = Owned(kube::kServices, site);
  body["spec"] = object{{"selector", Labels(site)},
                        {"ports", array{object{{"name", "http"}, {"port", *site.spec.port}, {"targetPort", "http"}}}}};
  return Child(kube::kServices, site, std::move(body), "spec.port is given");
}

// --- An effect of our own --------------------------------------------------------------------------------------------

// Changes nothing; its Event tells the user that a page is out. Any other effect is written in the same way.
class Announce final : public plan::Effect {
 public:
  Announce(kube::Key site, std::string page) : site_(std::move(site)), page_(std::move(page)) {}

  std::string_view verb() const override { return "publish"; }
  std::string target() const override { return "page of Website " + site_.ToString(); }
  uint64_t content() const override { return Fnv64(page_); }
  async::Task<Result<void>> Run(plan::Services&, async::Deadline) const override { co_return Result<void>(); }

 private:
  kube::Key site_;
  std::string page_;
};

// Once for each page: the status remembers which one was told of last, so a restart tells nothing twice.
void TellOfNewPage(const Website& site, const std::string& published, plan::Plan& plan) {
  if (published.empty() || published == site.status.page) return;
  plan.Add({.effect = std::make_shared<Announce>(kube::Key{site.metadata.namespace_, site.metadata.name}, published),
            .reason = "page " + published + " is out",
            .event = plan::EventText{.reason = "Published", .action = "Publish"}});
}

// --- Status ----------------------------------------------------------------------------------------------------------

json::Condition Ready(bool status, std::string reason, std::string message) {
  return {
      .type = "Ready", .status = status ? "True" : "False", .reason = std::move(reason), .message = std::move(message)};
}

// First match.
json::Condition ReadyOf(const plan::World& world, const Website& site, const Deployment* servers,
                        const Trouble* trouble) {
  if (!world.failures().empty()) {
    const plan::Failure& failure = world.failures().front();
    return Ready(false, std::string(failure.reason), failure.verb + " " + failure.target + ": " + failure.message);
  }
  if (trouble != nullptr) return Ready(false, trouble->reason, trouble->message);
  if (servers == nullptr) return Ready(false, "Creating", "the servers are being created");
  const int32_t ready = servers->status.ready_replicas, wanted = *site.spec.replicas;
  if (wanted == 0) return Ready(false, "NoReplicas", "spec.replicas is 0: nobody shows the page");
  const std::string counted = std::to_string(ready) + " of " + std::to_string(wanted) + " servers are ready";
  if (ready < wanted || servers->status.observed_generation < servers->metadata.generation)
    return Ready(false, "Starting", counted);
  return Ready(true, "Serving", counted);
}

// What is seen, never what is hoped for.
WebsiteStatus StatusOf(const plan::World& world, const Website& site, const Trouble* trouble, std::string published) {
  const auto* servers = world.Find<Deployment>({site.metadata.namespace_, site.metadata.name});
  WebsiteStatus status{.observed_generation = site.metadata.generation,
                       .ready_replicas = servers == nullptr ? 0 : servers->status.ready_replicas,
                       .page = std::move(published),
                       .conditions = site.status.conditions};
  json::Condition ready = ReadyOf(world, site, servers, trouble);
  ready.observed_generation = site.metadata.generation;
  json::SetCondition(status.conditions, std::move(ready), world.now());
  return status;
}

}  // namespace

plan::Plan Decide(const plan::World& world, const kube::Key& key) {
  const auto* found = world.Find<Website>(key);
  // One that is being deleted leaves its children to the garbage collector.
  if (found == nullptr || found->metadata.deleting()) return {};
  Website site = *found;
  json::ApplyDefaults(json::kType<Website>, &site);

  plan::Plan plan;
  const auto page = PageOf(world, site);
  if (page)
    plan.children.push_back(PageChild(site, *page));
  else
    plan.children_complete = false;  // the page there is stays
  plan.children.push_back(ServersChild(site));
  if (site.spec.port) plan.children.push_back(ServiceChild(site));

  const auto* config_map = world.Find<ConfigMap>(key);
  const std::string published = config_map == nullptr ? "" : config_map->metadata.Annotation(std::string(kPage));
  TellOfNewPage(site, published, plan);
  plan.status = json::Encode(StatusOf(world, site, page ? nullptr : &page.error(), published));
  return plan;
}

void SetUp(plan::Engine& engine) {
  // Children by a label that all of them carry: other people's objects are never read.
  const std::string ours = std::string(kManagedBy) + "=" + std::string(kOperator);
  engine.stores().Add<Website>({.everywhere = true});
  engine.stores().Add<ConfigMap>({.label_selector = ours});
  engine.stores().Add<Deployment>({.label_selector = ours});
  engine.stores().Add<Service>({.label_selector = ours});
  engine.Add({.kind = "website", .resource = &Website::kResource, .decide = &Decide, .children = {&kube::kServices}});
}

}  // namespace website
