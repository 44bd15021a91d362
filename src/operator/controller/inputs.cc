#include "operator/controller/inputs.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/accounting.h"
#include "api/nodeset.h"
#include "base/hash.h"
#include "base/text.h"
#include "operator/controller/children.h"
#include "operator/controller/immutable.h"
#include "operator/controller/questions.h"
#include "operator/keys.h"
#include "operator/names.h"
#include "operator/questions.h"
#include "operator/render/cluster.h"
#include "operator/topology.h"
#include "slurm/conf.h"

namespace capstan::op::controller {
namespace {

constexpr size_t kLongestClusterName = 40;  // bytes
constexpr size_t kMostTold = 10;            // files that are not used; a ConfigMap may have 100,000

// Files that Slurm reads when they are there, whether slurm.conf names them or not.
constexpr std::string_view kReadBySlurm[] = {
    "acct_gather.conf",   "burst_buffer.conf", "cgroup.conf",   "cli_filter.lua", "gres.conf", "helpers.conf",
    "job_container.conf", "job_submit.lua",    "mpi.conf",      "namespace.yaml", "oci.conf",  "plugstack.conf",
    "resources.yaml",     "scrun.lua",         "topology.conf", "topology.yaml"};

class Collecting {
 public:
  Collecting(const plan::World& world, const api::Controller& controller, const StatefulSet* set,
             const PublishedConfig* published, Findings& findings)
      : world_(world), controller_(controller), set_(set), published_(published), findings_(findings) {}

  ConfigInputs Run() {
    Config& config = inputs_.config;
    config.ns = controller_.metadata.namespace_;
    config.controller = controller_.metadata.name;
    config.cluster_name = controller_.ClusterName();
    config.replicas = controller_.spec.Replicas();
    config.jwks = controller_.spec.jwks_key_ref.has_value();
    config.metrics = controller_.spec.metrics && controller_.spec.metrics->enabled.value_or(false);
    config.extra_conf = controller_.spec.extra_conf;
    if (published_ != nullptr) config.published = published_->slurm_conf;
    config.is_lost = published_ == nullptr && set_ != nullptr;
    Accounting();
    // slurmrestd beside an external slurmctld needs no more than to find it.
    if (controller_.spec.external.value_or(false)) {
      Topology();
      return std::move(inputs_);
    }
    ClusterName();
    NameInExtraConf();
    TwoOnOneClaim();
    GoverningService();
    NodeSets();
    Files();
    Topology();
    if (!CheckJwks(world_, controller_.metadata.namespace_, controller_.spec.jwks_key_ref, findings_))
      inputs_.complete = false;
    return std::move(inputs_);
  }

 private:
  void Refuse(ProblemWord reason, std::string message) {
    inputs_.complete = false;
    findings_.Problem(reason, std::move(message));
  }
  void Missing(std::string message) { Refuse("ReferenceMissing", std::move(message)); }

  void GoverningService() {
    const std::string service = ControllerName(controller_.metadata.name);
    inputs_.config.pod_without_name = set_ != nullptr && set_->spec.service_name == service;
    if (!inputs_.config.pod_without_name || inputs_.config.replicas == 1) return;
    Refuse("StatefulSetOutdated", "spec.ha needs pods that have names, and StatefulSet " + service +
                                      " was made by an older release without; to have it made anew, while slurmctld " +
                                      "runs on: " + MadeAnew(controller_));
  }

  // What extraConf sets wins, also over the name of the state's folder and of slurmdbd's tables.
  void NameInExtraConf() {
    const std::string given = Own().Last("ClusterName");
    const std::string& name = inputs_.config.cluster_name;
    if (given.empty() || EqualsIgnoreCase(given, name)) return;
    if (Published().Last("ClusterName") == given) return;  // so it has been
    Refuse("InvalidSpec",
           "spec.extraConf has ClusterName=" + given + ", and the cluster is called " + name +
               ": slurmctld would refuse its state, and the accounting would begin anew. Remove the line" +
               (set_ == nullptr ? "; a new cluster is named by spec.clusterName" : ""));
  }

  // slurmdbd makes names of tables of it. A cluster that runs already could not change it, and is only told.
  void ClusterName() {
    const std::string& name = inputs_.config.cluster_name;
    if (name.size() <= kLongestClusterName) return;
    const std::string message = "the ClusterName " + name + " is " + std::to_string(name.size()) +
                                " bytes long, and Slurm's accounting takes 40; set a shorter spec.clusterName";
    if (set_ == nullptr)
      Refuse("ClusterNameTooLong", message);
    else
      findings_.Problem("ClusterNameTooLong", message + " when it is made anew, since a running one cannot change it");
  }

  // Without accounting where accounting was asked for, Slurm would run jobs that nobody ever bills or limits.
  void Accounting() {
    const auto& ref = controller_.spec.accounting_ref;
    if (!ref || ref->name.empty()) return;
    const kube::Key key{controller_.metadata.namespace_, ref->name};
    const auto* accounting = world_.Find<api::Accounting>(key);
    if (accounting == nullptr) {
      Missing("Accounting " + key.ToString() +
              ", named in spec.accountingRef, does not exist; create it, or remove the reference");
      return;
    }
    TwoOfOneName(key, *accounting);
    const api::AccountingSpec& spec = accounting->spec;
    if (!spec.external.value_or(false)) {
      inputs_.config.accounting = {AccountingName(ref->name), render::AccountingPort(*accounting)};
    } else if (spec.external_config) {
      inputs_.config.accounting = {spec.external_config->host, render::AccountingPort(*accounting)};
    } else {
      Refuse("ReferenceInvalid", "Accounting " + key.ToString() +
                                     ", named in spec.accountingRef, is external and does not say where it is; set its "
                                     "spec.externalConfig");
    }
  }

  // slurmdbd knows a cluster by its name: the jobs of two of one name would be each other's, and each slurmctld would
  // take the other's place there.
  void TwoOfOneName(const kube::Key& key, const api::Accounting& accounting) {
    if (controller_.spec.external.value_or(false)) return;
    if (const api::Controller* other = OlderOfThisName("accounting", key)) {
      Refuse("NameConflict", "Controller " + other->metadata.name + ", which is older, has the ClusterName " +
                                 inputs_.config.cluster_name + " in Accounting " + key.ToString() +
                                 " too; give this one another spec.clusterName, or another Accounting");
      return;
    }
    const std::string tables = render::TablesOf(accounting);
    if (tables.empty()) return;
    for (const api::Accounting& same : world_.By<api::Accounting>("tables", tables)) {
      const kube::Key its{same.metadata.namespace_, same.metadata.name};
      const api::Controller* other = OlderOfThisName("accounting", its);
      if (other == nullptr) continue;
      Refuse("NameConflict", "Controller " + its.ns + "/" + other->metadata.name +
                                 ", which is older, has the ClusterName " + inputs_.config.cluster_name +
                                 " in Accounting " + its.ToString() + ", whose tables are the same (" + tables +
                                 "); give this one another spec.clusterName, or its Accounting another database");
      return;
    }
  }

  // On a claim the ClusterName is the folder of the state: the jobs of two of one name would overwrite each other.
  void TwoOnOneClaim() {
    const auto& persistence = controller_.spec.persistence;
    if (!persistence || persistence->existing_claim.empty()) return;
    const kube::Key claim{controller_.metadata.namespace_, persistence->existing_claim};
    if (const api::Controller* other = OlderOfThisName("claim", claim)) {
      Refuse("NameConflict", "Controller " + other->metadata.name + ", which is older, has the ClusterName " +
                                 inputs_.config.cluster_name + " on claim " + claim.ToString() +
                                 " too, and keeps its state there; give this one another spec.clusterName, or another "
                                 "spec.persistence.existingClaim");
    }
  }

  // Of those that share `key` of `index`, one that has our ClusterName and was there before; nullptr: there is none.
  const api::Controller* OlderOfThisName(std::string_view index, const kube::Key& key) const {
    const json::ObjectMeta& own = controller_.metadata;
    for (const api::Controller& other : world_.By<api::Controller>(index, key.ToString())) {
      const json::ObjectMeta& its = other.metadata;
      const bool older = std::tie(its.creation_timestamp, its.name, its.namespace_) <
                         std::tie(own.creation_timestamp, own.name, own.namespace_);
      if (older && !other.spec.external.value_or(false) &&
          EqualsIgnoreCase(other.ClusterName(), inputs_.config.cluster_name))
        return &other;
    }
    return nullptr;
  }

  // By name, also those that are being deleted: their workers run until the end.
  void NodeSets() {
    const std::string cluster = ClusterOf(controller_.metadata.namespace_, controller_.metadata.name);
    const auto sets = world_.By<api::NodeSet>("controller", cluster);
    int64_t workers = 0;
    for (const api::NodeSet& set : sets) {
      const auto name = render::SlurmNameOf(set);
      if (!name) continue;  // its own conditions say why; it has no workers either
      if (const api::NodeSet* elder = render::ElderNamesake(sets, set)) {
        findings_.Problem("NameConflict", "NodeSet " + set.metadata.name +
                                              " is left out of slurm.conf: its name there, " + *name +
                                              ", meets that of the older NodeSet " + elder->metadata.name);
        continue;
      }
      if (slurm::IsReservedName(*name)) {
        if (Published().node_sets.contains(*name)) inputs_.complete = false;  // jobs may name its partition
        findings_.Problem("InvalidSpec", "NodeSet " + set.metadata.name +
                                             " is left out of slurm.conf: its name there, " + *name +
                                             ", stands for something else; give it another name, or another "
                                             "spec.template.spec.hostname");
        continue;
      }
      if (!set.spec.IsDaemonSet()) workers += set.spec.replicas.value_or(1);
      if (const auto clash = ClashOf(*name, sets, &set)) {
        findings_.Problem(clash->reason, "NodeSet " + set.metadata.name +
                                             " is left out of slurm.conf: its name there, " + *name + ", " +
                                             clash->text);
        if (clash->is_node) inputs_.config.taken.insert(*name);
        continue;
      }
      inputs_.config.power |= !set.metadata.Annotation(std::string(kAnnotationPower)).empty();
      inputs_.config.ssh |= set.spec.ssh && set.spec.ssh->enabled.value_or(false);
      const auto& partition = set.spec.partition;
      inputs_.config.node_sets.push_back({.name = *name,
                                          .partition = partition && partition->enabled.value_or(false),
                                          .partition_config = partition ? partition->config : "",
                                          .where = set.metadata.name});
    }
    NodeSetsOfTheUsers(sets);
    DoNodesFit(workers);
  }

  const ConfLines& Own() const { return inputs_.config.extra_conf.lines(); }
  const ConfLines& Published() const { return inputs_.config.published.lines(); }

  // Why slurm.conf must not make a NodeSet of this name.
  struct Clash {
    ProblemWord reason;
    std::string text;
    bool is_node = false;  // Slurm has a node of that name
  };

  // slurmctld ends at its next reconfigure, and starts no more, when a NodeSet is called as a node; once it has read the NodeSet, no node
  // of that name registers (nodeset/creating.cc). `own`: whose name it is, nullptr for a line of the user's.
  std::optional<Clash> ClashOf(const std::string& name, const kube::ObjectList<api::NodeSet>& sets,
                               const api::NodeSet* own) const {
    const plan::SlurmView slurm = world_.Slurm(ClusterOf(inputs_.config.ns, inputs_.config.controller));
    if (slurm.Find(name) != nullptr)
      return Clash{"NameConflict", "is that of a node of Slurm, and with both slurmctld would not start; rename one",
                   true};
    if (inputs_.config.is_lost || Published().node_sets.contains(name)) return std::nullopt;  // it may be read
    for (const api::NodeSet& other : sets) {
      const auto ordinal = render::OrdinalOfHost(other, name);
      if (!ordinal || (own != nullptr && other.metadata.name == own->metadata.name)) continue;
      if (*ordinal < other.spec.replicas.value_or(1))
        return Clash{"NameConflict", "is that of a worker of NodeSet " + other.metadata.name +
                                         ", and with both slurmctld would not start; rename one"};
      if (set_ != nullptr && !slurm.heard())
        return Clash{"SlurmUnreachable", "may be that of a node of Slurm, which does not answer"};
    }
    return std::nullopt;
  }

  void NodeSetsOfTheUsers(const kube::ObjectList<api::NodeSet>& sets) {
    for (const auto& [name, line] : Own().node_sets) {
      if (const auto clash = ClashOf(name, sets, nullptr))
        Refuse(clash->reason,
               "the configuration is not published: the name of NodeSet=" + name + " in spec.extraConf " + clash->text);
    }
  }

  // slurmctld refuses to register more, and drops those over the number at its next reconfigure.
  void DoNodesFit(int64_t workers) {
    const std::string given = Own().Last("MaxNodeCount");
    const auto number = given.empty() ? std::optional<uint64_t>(kMostNodes) : slurm::ConfNumber(given);
    if (!number || !Own().readable) return;
    const int64_t most = int64_t(std::min(*number, uint64_t{1} << 32));
    const std::string last = Published().Last("MaxNodeCount");
    if (set_ != nullptr && *number < slurm::ConfNumber(last).value_or(0)) MayBeLowered(most, last);
    if (workers <= most) return;
    findings_.Remark("ConfigDoubtful", "the NodeSets ask for " + std::to_string(workers) +
                                           " workers, and slurmctld takes " + std::to_string(most) +
                                           " nodes; set MaxNodeCount in spec.extraConf");
  }

  void MayBeLowered(int64_t most, const std::string& last) {
    const plan::SlurmView slurm = world_.Slurm(ClusterOf(inputs_.config.ns, inputs_.config.controller));
    const std::string lowered = "the configuration is not published: MaxNodeCount would fall from " + last + " to " +
                                std::to_string(most) + ", and slurmctld would drop nodes over that number; ";
    const std::string remedy = "keep MaxNodeCount=" + last + " in spec.extraConf";
    if (!slurm.heard())
      Refuse("SlurmUnreachable",
             lowered + "Slurm does not say how many nodes it has: " + remedy + " until it does, by a RestApi");
    else if (int64_t(slurm.All().size()) > most)
      Refuse("InvalidSpec", lowered + "it has " + std::to_string(slurm.All().size()) + ": " + remedy);
  }

  void Files() {
    const api::ControllerSpec& spec = controller_.spec;
    Config& config = inputs_.config;
    for (const std::string& name : FileConfigMaps(spec)) Look(name);
    AddScripts("prologScriptRefs", spec.prolog_script_refs, config.prolog);
    AddScripts("epilogScriptRefs", spec.epilog_script_refs, config.epilog);
    AddScripts("prologSlurmctldScriptRefs", spec.prolog_slurmctld_script_refs, config.prolog_slurmctld);
    AddScripts("epilogSlurmctldScriptRefs", spec.epilog_slurmctld_script_refs, config.epilog_slurmctld);
    for (const std::string& path : Own().included) Include(path);
    std::map<std::string, std::string, std::less<>> unused;  // files, and whose they are
    for (const std::string& name : NamesOf(spec.config_file_refs)) {
      for (const std::string& file : keys_[name]) {
        if (file == "cgroup.conf") inputs_.own_cgroup_conf = true;
        if (file == "topology.yaml" || file == "topology.conf") own_topology_ = file;
        unused.emplace(file, name);
      }
    }
    CheckUse(std::move(unused));
  }

  // With the files that it includes in turn, each once.
  void Include(const std::string& path) {
    constexpr std::string_view kFolder = "/etc/slurm/";
    std::vector<std::string> paths = {path};
    while (!paths.empty()) {
      std::string name = std::move(paths.back());
      paths.pop_back();
      if (name.starts_with(kFolder)) name.erase(0, kFolder.size());
      const auto file = included_.extract(name);
      if (file.empty()) continue;
      inputs_.config.included.insert(file.mapped().partitions.begin(), file.mapped().partitions.end());
      paths.insert(paths.end(), file.mapped().files.begin(), file.mapped().files.end());
    }
  }

  // A tree for the places of workers (topology.h). It stays while the annotation cannot be read, and whatever is not known.
  void Topology() {
    const auto labels = TopologyLabels(controller_);
    if (labels && labels->empty()) return;
    const std::string why_not = labels ? WhyNoTree() : labels.error().message();
    inputs_.tree_by_labels = why_not.empty() || (!labels && HasPublishedTree());
    if (why_not.empty()) return;
    findings_.Remark(
        "InvalidAnnotation",
        labels ? "the annotation " + std::string(kAnnotationTopologyLabels) + " has no effect: " + why_not : why_not);
  }

  // "": there is nothing against it.
  std::string WhyNoTree() const {
    if (controller_.spec.external.value_or(false)) return "slurmctld is not in this cluster";
    if (!own_topology_.empty())
      return "spec.configFileRefs has a file " + own_topology_ + ", which says where nodes stand; remove one of them";
    if (set_ == nullptr || HasPublishedTree()) return "";
    const plan::SlurmView slurm = world_.Slurm(ClusterOf(inputs_.config.ns, inputs_.config.controller));
    if (!slurm.heard()) return "Slurm has not said yet where its nodes stand";
    for (const slurm::Node& node : slurm.All()) {
      if (node.topology.empty() || IsInTree(node.topology)) continue;
      return "Slurm node " + node.name + " stands at " + JsonQuoted(OneLine(node.topology, 100)) +
             ", and slurmctld does not start while a node stands outside of the tree; remove the annotation " +
             std::string(kAnnotationTopology) +
             " of its Kubernetes node, or Topology= in extraConf of its NodeSet, and " +
             "then the place: scontrol update nodename=" + node.name + " topology=";
    }
    return "";
  }

  bool HasPublishedTree() const { return published_ != nullptr && !published_->topology_yaml.empty(); }

  // A name that is misspelt, most of all. Whoever uses the file in a way that is not seen names it in a comment.
  void CheckUse(std::map<std::string, std::string, std::less<>> unused) {
    std::erase_if(unused, [this](const auto& file) {
      const bool read_by_slurm = std::ranges::find(kReadBySlurm, file.first) != std::end(kReadBySlurm);
      return read_by_slurm || IsReserved(file.first) || named_.contains(file.first);
    });
    for (const auto* scripts : {&inputs_.config.prolog, &inputs_.config.epilog, &inputs_.config.prolog_slurmctld,
                                &inputs_.config.epilog_slurmctld}) {
      for (const std::string& script : *scripts) unused.erase(script);
    }
    EraseNamed(unused, controller_.spec.extra_conf);
    size_t told = 0;
    for (const auto& [file, config_map] : unused) {
      if (++told > kMostTold) return;
      findings_.Remark("FileUnused", "ConfigMap " + controller_.metadata.namespace_ + "/" + config_map +
                                         ", named in spec.configFileRefs, contains " + file +
                                         ", which Slurm does not read by itself and no other file names; correct its "
                                         "name, or name it in spec.extraConf, such as: Include " +
                                         file);
    }
  }

  // The files that a text has as a word.
  static void EraseNamed(std::map<std::string, std::string, std::less<>>& files, std::string_view text) {
    constexpr std::string_view kInNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    while (!text.empty() && !files.empty()) {
      const size_t begin = std::min(text.find_first_of(kInNames), text.size());
      const size_t end = std::min(text.find_first_not_of(kInNames, begin), text.size());
      if (const auto named = files.find(text.substr(begin, end - begin)); named != files.end()) files.erase(named);
      text.remove_prefix(end);
    }
  }

  // Each once, as they come.
  static std::vector<std::string> NamesOf(const std::vector<api::LocalObjectReference>& refs) {
    std::vector<std::string> names;
    std::set<std::string_view> known;
    for (const auto& ref : refs)
      if (known.insert(ref.name).second) names.push_back(ref.name);
    return names;
  }

  // A script that does not start is one that failed: Slurm drains the node, or requeues the job.
  void AddScripts(std::string_view field, const std::vector<api::LocalObjectReference>& refs,
                  std::vector<std::string>& files) {
    for (const std::string& name : NamesOf(refs)) {
      const auto& keys = keys_[name];
      files.insert(files.end(), keys.begin(), keys.end());
      for (const auto& [key, wrong] : no_scripts_[name]) {
        Refuse("ReferenceInvalid", "ConfigMap " + kube::Key{controller_.metadata.namespace_, name}.ToString() +
                                       ", named in spec." + std::string(field) + ", has a file \"" + key + "\" that " +
                                       wrong + ": as a script of Slurm it would fail for every job");
      }
    }
  }

  // What the operator itself puts into /etc/slurm; of two files of one name only one would be there.
  bool IsReserved(std::string_view file) const {
    return file == "slurm.conf" || file == "slurmdbd.conf" || file == "slurm.key" || file == "slurm.jwks" ||
           file == "jwt.key" || (file == "jwks.json" && inputs_.config.jwks);
  }

  void RefuseFile(const kube::Key& config_map, const std::string& file) {
    Refuse("FileRefused", "ConfigMap " + config_map.ToString() +
                              ", named in the Controller's file or script references, contains " + file +
                              ", which only the operator writes; remove it there" +
                              (file == "slurm.conf" ? " and put its lines into spec.extraConf" : ""));
  }

  void Look(const std::string& name) {
    const kube::Key key{controller_.metadata.namespace_, name};
    const auto answer = world_.Ask(ConfigMapDigest(key), kReferenceAge);
    if (answer.absent()) {
      Missing("ConfigMap " + key.ToString() +
              ", named in the Controller's file or script references, does not exist; create "
              "it, or remove the reference");
    } else if (answer.value == nullptr) {
      inputs_.complete = false;
      findings_.Wait("ReadingReferences",
                     "ConfigMap " + key.ToString() +
                         (answer.error.empty() ? " is being looked for" : " cannot be read: " + answer.error));
    } else {
      for (const std::string& file : answer.value->keys) {
        if (IsReserved(file)) RefuseFile(key, file);
      }
      for (const std::string& refused : answer.value->refused)
        Refuse("ConfigRefused",
               "ConfigMap " + key.ToString() + " has a file that Slurm does not start with: " + refused);
      keys_[name] = answer.value->keys;
      named_.insert(answer.value->named.begin(), answer.value->named.end());
      included_.insert(answer.value->included.begin(), answer.value->included.end());
      no_scripts_[name] = answer.value->no_scripts;
      inputs_.nodes.insert(inputs_.nodes.end(), answer.value->nodes.begin(), answer.value->nodes.end());
      inputs_.digests.push_back(answer.value->sha256);
      inputs_.files.insert(answer.value->files.begin(), answer.value->files.end());
    }
  }

  const plan::World& world_;
  const api::Controller& controller_;
  const StatefulSet* set_;
  const PublishedConfig* published_;
  Findings& findings_;
  ConfigInputs inputs_;
  std::string own_topology_;     // the user's topology.yaml or topology.conf; "": there is none
  std::set<std::string> named_;  // by the files of all ConfigMaps
  std::map<std::string, ConfigMapDigest::Included> included_;  // by file, of those that are not included yet
  // Of each ConfigMap.
  std::map<std::string, std::vector<std::string>> keys_;
  std::map<std::string, std::map<std::string, std::string>> no_scripts_;
};

}  // namespace

ConfigInputs Collect(const plan::World& world, const api::Controller& controller, const StatefulSet* set,
                     const PublishedConfig* published, Findings& findings) {
  return Collecting(world, controller, set, published, findings).Run();
}

Result<PublishedConfig> MakeConfig(const api::Controller& controller, const ConfigInputs& inputs,
                                   std::vector<std::string>& doubts) {
  PublishedConfig published;
  if (controller.spec.external.value_or(false)) {
    if (!controller.spec.external_config) {
      return Fail(Code::kInvalid, "spec.externalConfig must say where slurmctld is when spec.external is true");
    }
    const api::ExternalConfig& external = *controller.spec.external_config;
    CAPSTAN_TRY(published.slurm_conf,
                ExternalSlurmConf(inputs.config, external.host, render::ControllerPort(controller)));
  } else {
    CAPSTAN_TRY(published.slurm_conf, SlurmConf(inputs.config, &doubts));
  }
  if (!inputs.own_cgroup_conf) published.cgroup_conf = CgroupConf();
  if (inputs.tree_by_labels) published.topology_yaml = TopologyOfOneSwitch();
  return published;
}

std::string ConfigHash(const PublishedConfig& config, const std::vector<std::string>& digests) {
  std::string all = slurm::ConfHash(config.slurm_conf) + slurm::ConfHash(config.cgroup_conf) + config.topology_yaml;
  for (const std::string& digest : digests) all += digest;
  return Sha256Hex(all);
}

}  // namespace capstan::op::controller
