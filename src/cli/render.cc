#include "cli/render.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "async/loop.h"
#include "cli/await.h"
#include "cli/terminal.h"
#include "json/yaml_text.h"
#include "kube/client.h"
#include "kube/config/config.h"
#include "net/client.h"
#include "operator/names.h"
#include "render/diff.h"
#include "render/manifests.h"
#include "render/render.h"

namespace capstan::cli {
namespace {

namespace fs = std::filesystem;
using render::Rendered;

constexpr Duration kReadTimeout = 20s;

constexpr const char* kHelp = R"(
What it does
  Prints, as YAML that kubectl takes, every object that the operator would make for the custom resources in the files:
  without a cluster, and without touching one. Files are YAML or JSON; of a folder those that end in .yaml, .yml and .json
  are read; "-" is standard input. Whatever else the files hold (what Helm renders besides custom resources) is not printed
  again; Secrets and ConfigMaps among it are looked at where a custom resource names them.

  Comments in front say what cannot be shown: keys that the operator makes (never invented here), Secrets, ConfigMaps
  and volume claims that are named and not in the files, and for how many workers the one that is shown stands. Owner
  references need the uid that the API server gives, and are left out; with that of a volume claim the names of a
  SharedRoot's Jobs end otherwise than shown. What is refused is told on standard error.

  --diff compares with the cluster that the kubeconfig names, by reads of single objects with your own rights, and prints
  what would change in the end (an upgrade of images may take several steps) of the fields that the operator sets: as
  `diff -u` does, in colours on a terminal, unless NO_COLOR is set.

  With -o json one object, that kubectl takes as well: a List, whose "items" are the objects, with "missing", "notes" and
  "problems", lists of sentences. With --diff its items are objects with "kind", "namespace", "name" and "diff" instead.

Environment
  With --diff: KUBECONFIG, and HTTPS_PROXY and NO_PROXY, as kubectl reads them.

Exit status
  render         0 all rendered, 1 something cannot be made, 2 the files cannot be read
  render --diff  0 no difference, 1 a difference, 2 or more something went wrong

Examples
  helm template slurm charts/slurm --namespace slurm --values values.yaml | capstan render -
  capstan render cluster.yaml -o json | jq '.items[] | select(.kind == "StatefulSet")'
  capstan render --diff cluster.yaml
)";

int Trouble(const std::string& message) {
  std::fprintf(stderr, "capstan: %s\n", message.c_str());
  return 2;
}

Result<std::string> ReadAll(std::istream& in, const std::string& name) {
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (in.bad() || (!in && !in.eof() && text.empty())) return Fail(Code::kNotFound, "cannot read " + name);
  return text;
}

Result<void> ReadFile(const std::string& path, std::vector<json::Value>& objects) {
  std::error_code ignored;
  std::ifstream file;
  const bool is_stdin = path == "-";
  if (!is_stdin) file.open(path);
  if (!is_stdin && (!file || fs::is_directory(path, ignored))) return Fail(Code::kNotFound, "cannot read " + path);
  const std::string name = is_stdin ? "standard input" : path;
  CAPSTAN_TRY(const std::string text, ReadAll(is_stdin ? std::cin : file, name));
  CAPSTAN_TRY(std::vector<json::Value> found, render::ReadManifests(text, name));
  std::ranges::move(found, std::back_inserter(objects));
  return {};
}

Result<std::vector<json::Value>> ReadFiles(const std::vector<std::string>& paths) {
  std::vector<json::Value> objects;
  for (const std::string& path : paths) {
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
      CAPSTAN_CHECK_OK(ReadFile(path, objects));
      continue;
    }
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
      const fs::path extension = entry.path().extension();
      if (extension == ".yaml" || extension == ".yml" || extension == ".json") files.push_back(entry.path().string());
    }
    if (error) return Fail(Code::kNotFound, "cannot read " + path + ": " + error.message());
    std::ranges::sort(files);
    for (const std::string& file : files) CAPSTAN_CHECK_OK(ReadFile(file, objects));
  }
  return objects;
}

void SayProblems(const Rendered& rendered) {
  for (const std::string& problem : rendered.problems) std::fprintf(stderr, "capstan: %s\n", problem.c_str());
}

std::string NameOf(const Rendered::Object& object) {
  return std::string(object.resource->kind) + " " + object.key.ToString();
}

boost::json::array Texts(const std::vector<std::string>& sentences) {
  return boost::json::array(sentences.begin(), sentences.end());
}

void PrintJson(boost::json::array items, const Rendered& rendered) {
  std::puts(json::Serialize(boost::json::object{{"apiVersion", "v1"},
                                                {"kind", "List"},
                                                {"items", std::move(items)},
                                                {"missing", Texts(rendered.missing)},
                                                {"notes", Texts(rendered.notes)},
                                                {"problems", Texts(rendered.problems)}})
                .c_str());
}

// --- Against a cluster -------------------------------------------------------------------------------------------------

// Annotations that hold a digest of a Secret.
bool IsDigest(std::string_view annotation) {
  return annotation == op::kHashSlurmKey || annotation == op::kHashJwtKey || annotation == op::kHashSlurmdbdConfig ||
         annotation == op::kHashSssdConfig || annotation == op::kHashSshHostKeys;
}

// Nothing is known of such a digest that could differ.
void TakeDigests(json::Value& wanted, const json::Value& live) {
  const json::Value* there = json::Find(live, {"spec", "template", "metadata", "annotations"});
  json::Value* ours = json::Find(wanted, {"spec", "template", "metadata", "annotations"});
  if (there == nullptr || ours == nullptr || !there->is_object() || !ours->is_object()) return;
  for (auto& member : ours->get_object()) {
    const json::Value* value = there->get_object().if_contains(member.key());
    if (value != nullptr && IsDigest(member.key())) member.value() = *value;
  }
}

struct Difference {
  const Rendered::Object* object;
  std::string text;
};

// Of those objects that differ. REQUIRES: `rendered` outlives what is returned.
async::Task<Result<std::vector<Difference>>> Compare(async::Loop& loop, kube::Client& client, Rendered& rendered) {
  std::vector<Difference> differences;
  for (Rendered::Object& object : rendered.objects) {
    const auto text = co_await client.Get(*object.resource, object.key, {}, loop.After(kReadTimeout));
    std::string before;
    if (text) {
      CAPSTAN_CO_TRY(const json::Value live, json::Parse(*text));
      if (rendered.stand_ins) TakeDigests(object.body, live);
      before = json::ToYaml(render::OwnedPart(live, object.body, op::kFieldManager));
    } else if (text.error().code() != Code::kNotFound) {
      co_return Fail(text.error());
    }
    std::string difference = render::UnifiedDiff(before, json::ToYaml(object.body), "cluster: " + NameOf(object),
                                                 "files: " + NameOf(object));
    if (!difference.empty()) differences.push_back({&object, std::move(difference)});
  }
  co_return differences;
}

async::Task<Result<int>> DiffWith(async::Loop& loop, net::HttpClient& http, std::vector<json::Value> files,
                                  render::Options options, bool as_json) {
  kube::Client client(loop, http, {.tries = 2});
  options.cluster = &http;
  CAPSTAN_CO_TRY(Rendered rendered, co_await render::Render(loop, std::move(files), std::move(options)));
  if (!as_json) {
    for (const std::string& missing : rendered.missing) std::fprintf(stderr, "capstan: %s\n", missing.c_str());
  }
  SayProblems(rendered);
  CAPSTAN_CO_TRY(const std::vector<Difference> differences, co_await Compare(loop, client, rendered));
  boost::json::array items;
  for (const Difference& difference : differences) {
    const auto& [resource, key, body] = *difference.object;
    items.push_back(boost::json::object{
        {"kind", resource->kind}, {"namespace", key.ns}, {"name", key.name}, {"diff", difference.text}});
    if (!as_json) {
      const std::string shown = HasColours() ? render::Coloured(difference.text) : difference.text;
      std::fputs(shown.c_str(), stdout);
    }
  }
  if (as_json) PrintJson(std::move(items), rendered);
  co_return !rendered.problems.empty() ? 2 : !differences.empty() ? 1 : 0;
}

// --- Running -----------------------------------------------------------------------------------------------------------

void PrintYaml(const Rendered& rendered) {
  for (const auto* sentences : {&rendered.missing, &rendered.notes}) {
    for (const std::string& sentence : *sentences) std::printf("# %s.\n", sentence.c_str());
  }
  for (const Rendered::Object& object : rendered.objects) std::printf("---\n%s", json::ToYaml(object.body).c_str());
}

int Print(Rendered rendered, bool as_json) {
  if (as_json) {
    boost::json::array items;
    for (Rendered::Object& object : rendered.objects) items.push_back(std::move(object.body));
    PrintJson(std::move(items), rendered);
  } else {
    PrintYaml(rendered);
  }
  std::fflush(stdout);
  SayProblems(rendered);
  return rendered.problems.empty() ? 0 : 1;
}

int Diff(const RenderFlags& flags, std::vector<json::Value> files, render::Options options) {
  const auto config = kube::LoadConfig({.kubeconfig = flags.kubeconfig, .context = flags.context});
  if (!config) return Trouble(config.error().message());
  async::RealLoop loop;
  net::HttpClient http(loop, {.server = config->server, .credentials = config->credentials});
  const Result<int> status =
      Await(loop, DiffWith(loop, http, std::move(files), std::move(options), flags.output == "json"));
  return status ? *status : Trouble(status.error().message());
}

}  // namespace

void AddRenderFlags(CLI::App& command, RenderFlags& flags) {
  command.add_option("file", flags.files, "Files or folders of objects; - is standard input")->required();
  command.add_option("-n,--namespace", flags.ns, "Of objects that name none")->capture_default_str();
  command.add_flag("--diff", flags.diff, "Compare with a cluster instead of printing");
  command.add_option("-o,--output", flags.output, "yaml or json")
      ->check(CLI::IsMember({"yaml", "json"}))
      ->capture_default_str();
  command.add_option("--kubeconfig", flags.kubeconfig, "With --diff: file that says how to reach the API server");
  command.add_option("--context", flags.context, "With --diff: the kubeconfig's context to use");
  command.add_option("--image-prefix", flags.image_prefix, "As the operator has it")->capture_default_str();
  command.add_option("--image-tag", flags.image_tag, "As the operator has it")->capture_default_str();
  command.add_option("--cluster-domain", flags.cluster_domain, "Of the cluster's DNS names")->capture_default_str();
  command.footer([] { return std::string(kHelp); });
}

int RunRender(const RenderFlags& flags) {
  auto files = ReadFiles(flags.files);
  if (!files) return Trouble(files.error().message());
  render::Options options{.settings = {.cluster_domain = flags.cluster_domain,
                                       .image_prefix = flags.image_prefix,
                                       .image_tag = flags.image_tag,
                                       .own_tag = std::string(net::UserAgent().substr(net::UserAgent().find('/') + 1))},
                          .ns = flags.ns};
  if (flags.diff) return Diff(flags, *std::move(files), std::move(options));
  async::VirtualLoop loop;
  auto rendered = Await(loop, render::Render(loop, *std::move(files), std::move(options)));
  return rendered ? Print(*std::move(rendered), flags.output == "json") : Trouble(rendered.error().message());
}

}  // namespace capstan::cli
