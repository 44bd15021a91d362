#include "api/slurmcluster.h"

#include "api/tables.h"

namespace capstan::api {
namespace {

using json::Field;

constexpr int64_t kMostSets = 256, kMostPlacements = 64, kMostPartitions = 256, kMostFiles = 64;
constexpr int64_t kLongestSetName = 28;  // with the cluster's in front of it and an ordinal behind it a DNS label
constexpr std::string_view kNamePattern = "^[a-z]([-a-z0-9]*[a-z0-9])?$";

constexpr std::string_view kAnyList =
    R"({"type":"array","nullable":true,"maxItems":64,"x-kubernetes-list-type":"atomic",
    "items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}})";

constexpr std::string_view kOptions =
    R"({"type":"object","maxProperties":512,"additionalProperties":{"x-kubernetes-preserve-unknown-fields":true}})";

json::Member PlacementField(json::Member member) {
  return std::move(member).MaxLength(kLongestSetName).Doc("Name of one of spec.placements; absent: anywhere.");
}

json::Member PartField(json::Member member, std::string_view kind) {
  return std::move(member).Doc("Part of the spec of the " + std::string(kind) +
                               ", laid over what is made of the rest: every field can be set.");
}

json::Member FilesField(json::Member member, std::string_view what) {
  return std::move(member).MaxProperties(kMostFiles).Each({.max_length = kLongestConf}).Doc(what);
}

json::Member NameField(json::Member member, std::string_view doc) {
  return std::move(member).Required().MaxLength(kLongestSetName).Pattern(kNamePattern).Doc(doc);
}

// CEL: the name in force.
std::string ClusterName(const std::string& object) {
  return "(has(" + object + ".spec) && has(" + object + ".spec.clusterName) ? " + object +
         ".spec.clusterName : " + object + ".metadata.name)";
}

}  // namespace

const json::Schema& ClusterImages::Schema() {
  static const json::Schema schema = json::Object<ClusterImages>({
      Field<&ClusterImages::prefix>("prefix")
          .MaxLength(kLongestName)
          .Doc("Registry and path of the images of Slurm's daemons, such as registry.example.org/hpc; absent: the "
               "operator's."),
      Field<&ClusterImages::pull_secrets>("pullSecrets").Doc("imagePullSecrets of the pods of Slurm's daemons."),
      Field<&ClusterImages::version>("version")
          .MaxLength(128)
          .Pattern("^[A-Za-z0-9_][-._A-Za-z0-9]*$")
          .Doc("Their tag, such as 26.05; absent: the operator's."),
  });
  return schema;
}

const json::Schema& ClusterPlacement::Schema() {
  static const json::Schema schema = json::Object<ClusterPlacement>({
      Field<&ClusterPlacement::affinity>("affinity").Doc("core/v1 Affinity."),
      NameField(Field<&ClusterPlacement::name>("name"), "By which parts refer to it."),
      Field<&ClusterPlacement::node_selector>("nodeSelector").Doc("Labels that a Kubernetes node must have."),
      Field<&ClusterPlacement::tolerations>("tolerations").RawSchema(kAnyList).Doc("core/v1 Tolerations."),
  });
  return schema;
}

const json::Schema& ClusterConfig::Schema() {
  using C = ClusterConfig;
  static const json::Schema schema = json::Object<C>({
      FilesField(Field<&C::epilog>("epilog"), "Epilog scripts, run by slurmd after a job, by file name."),
      FilesField(Field<&C::epilog_slurmctld>("epilogSlurmctld"),
                 "EpilogSlurmctld scripts, run by slurmctld after a job, by file name."),
      Field<&C::extra_conf>("extraConf")
          .MaxLength(kLongestConf)
          .Doc("Lines at the end of slurm.conf; what they set wins."),
      FilesField(Field<&C::files>("files"), "Files beside slurm.conf (cgroup.conf, gres.conf, ...), by name."),
      FilesField(Field<&C::prolog>("prolog"), "Prolog scripts, run by slurmd before a job, by file name."),
      FilesField(Field<&C::prolog_slurmctld>("prologSlurmctld"),
                 "PrologSlurmctld scripts, run by slurmctld before a job, by file name."),
      Field<&C::slurm_conf>("slurmConf")
          .RawSchema(kOptions)
          .Doc("Options of slurm.conf: text, a number, true or false, or a list of these, which is joined by commas."),
  });
  return schema;
}

const json::Schema& ClusterPartition::Schema() {
  static const json::Schema schema = json::Object<ClusterPartition>({
      Field<&ClusterPartition::config>("config")
          .MaxLength(kLongestLine)
          .Pattern("^[^\n]+$")
          .Doc("Options of its line in slurm.conf, such as MaxTime=UNLIMITED Default=YES."),
      Field<&ClusterPartition::name>("name")
          .Required()
          .MaxLength(64)
          .Pattern("^[A-Za-z0-9][-_.A-Za-z0-9]*$")
          .Doc("Its name in Slurm."),
      Field<&ClusterPartition::node_sets>("nodeSets")
          .MaxItems(kMostSets)
          .Doc("Names of NodeSets of spec.nodeSets; absent: all nodes."),
  });
  return schema;
}

const json::Schema& ClusterController::Schema() {
  static const json::Schema schema = json::Object<ClusterController>({
      PlacementField(Field<&ClusterController::placement>("placement")),
      PartField(Field<&ClusterController::spec>("spec"), "Controller"),
  });
  return schema;
}

const json::Schema& ClusterRestApi::Schema() {
  static const json::Schema schema = json::Object<ClusterRestApi>({
      PlacementField(Field<&ClusterRestApi::placement>("placement")),
      Field<&ClusterRestApi::replicas>("replicas")
          .Minimum(0)
          .Maximum(kMostReplicas)
          .Doc("How many slurmrestd; absent: as `kubectl scale` says, 1 at first. Without one the operator cannot "
               "reach Slurm."),
      PartField(Field<&ClusterRestApi::spec>("spec"), "RestApi"),
  });
  return schema;
}

const json::Schema& EmbeddedDatabase::Schema() {
  static const json::Schema schema = json::Object<EmbeddedDatabase>({
      Field<&EmbeddedDatabase::size>("size").Required().MaxLength(64).Doc("Size of its volume claim, such as 20Gi."),
  });
  return schema;
}

const json::Schema& ClusterDatabase::Schema() {
  static const json::Schema schema =
      json::Object<ClusterDatabase>(
          {
              Field<&ClusterDatabase::embedded>("embedded")
                  .Doc("A MariaDB of the operator's: one pod, for trials and small clusters."),
              Field<&ClusterDatabase::external>("external").Doc("A database that somebody else runs."),
          })
          .Rule("has(self.embedded) != has(self.external)", "database must have one of embedded and external");
  return schema;
}

const json::Schema& ClusterAccounting::Schema() {
  static const json::Schema schema = json::Object<ClusterAccounting>({
      Field<&ClusterAccounting::database>("database").Required().Doc("The database behind slurmdbd."),
      PlacementField(Field<&ClusterAccounting::placement>("placement")),
      PartField(Field<&ClusterAccounting::spec>("spec"), "Accounting"),
  });
  return schema;
}

const json::Schema& ClusterService::Schema() {
  using S = ClusterService;
  static const json::Schema schema = json::Object<S>({
      Field<&S::annotations>("annotations").Doc("Annotations of the Service."),
      Field<&S::load_balancer_source_ranges>("loadBalancerSourceRanges")
          .MaxItems(256)
          .Doc("Networks that may reach it, of type LoadBalancer."),
      Field<&S::node_port>("nodePort")
          .Minimum(0)
          .Maximum(65535)
          .Doc("Port of every Kubernetes node, of type NodePort."),
      Field<&S::port>("port").Minimum(0).Maximum(65535).Doc("Its port; absent: 22."),
      Field<&S::type>("type").Enum({"ClusterIP", "NodePort", "LoadBalancer"}).Doc("type of the Service."),
  });
  return schema;
}

const json::Schema& ClusterLogin::Schema() {
  using L = ClusterLogin;
  static const json::Schema schema = json::Object<L>({
      Field<&L::authorized_keys>("authorizedKeys")
          .MaxLength(kLongestConf)
          .Doc("authorized_keys of root, read as it changes."),
      Field<&L::drain_cap>("drainCap")
          .MaxLength(64)
          .Doc("How long a login that goes waits for its sessions, such as 12h."),
      PlacementField(Field<&L::placement>("placement")),
      Field<&L::replicas>("replicas")
          .Minimum(0)
          .Maximum(kMostReplicas)
          .Doc("How many; absent: as `kubectl scale` or an autoscaler says, 1 at first."),
      Field<&L::service>("service").Doc("The Service <name>-login, by which people reach SSH."),
      PartField(Field<&L::spec>("spec"), "LoginSet"),
      Field<&L::sssd_conf_ref>("sssdConfRef")
          .Doc("Secret key with sssd.conf, which says who the users are; absent: root, and with sharedRoot who has an "
               "account there."),
  });
  return schema;
}

const json::Schema& ClusterNodeSetPartition::Schema() {
  static const json::Schema schema = json::Object<ClusterNodeSetPartition>({
      Field<&ClusterNodeSetPartition::config>("config")
          .MaxLength(kLongestLine)
          .Pattern("^[^\n]+$")
          .Doc("Options of its line in slurm.conf."),
  });
  return schema;
}

const json::Schema& ClusterPower::Schema() {
  static const json::Schema schema = json::Object<ClusterPower>({
      Field<&ClusterPower::idle>("idle").MaxLength(64).Doc(
          "How long a Slurm node has no job before its worker goes, such as 10m, which is the default."),
      Field<&ClusterPower::mode>("mode")
          .Required()
          .Enum({"Always", "OnDemand"})
          .Doc("OnDemand: Slurm starts and stops workers as jobs need them, and replicas is how many there are at "
               "most. It needs "
               "resources with cpu and memory."),
  });
  return schema;
}

const json::Schema& ClusterNodeSet::Schema() {
  using S = ClusterNodeSet;
  static const json::Schema schema = json::Object<S>({
      Field<&S::features>("features")
          .MaxItems(64)
          .Each({.pattern = "^[^\\s,=\"#\\\\]+$", .max_length = 64})
          .Doc("Features of its Slurm nodes."),
      Field<&S::gres>("gres")
          .MaxLength(1024)
          .Pattern("^[^\\s=\"#\\\\]+$")
          .Doc("Generic resources of each Slurm node, such as gpu:h100:8."),
      NameField(Field<&S::name>("name"),
                "Its Slurm nodes are <name>-0, <name>-1, ...; the NodeSet is <cluster>-worker-<name>."),
      Field<&S::partition>("partition").Doc("A partition of exactly these nodes, of the same name."),
      PlacementField(Field<&S::placement>("placement")),
      Field<&S::power>("power").Doc("Whether its workers run all the time; absent: they do."),
      Field<&S::replicas>("replicas")
          .Minimum(0)
          .Maximum(65'000)
          .Doc("How many workers; absent: as `kubectl scale` or an autoscaler says, 1 at first."),
      Field<&S::resources>("resources")
          .MaxProperties(32)
          .Doc("What each worker has, such as {cpu: 128, memory: 1000Gi, nvidia.com/gpu: 8}: limits of its container."),
      Field<&S::shared_root>("sharedRoot").Default("true").Doc("Its jobs are in spec.sharedRoot, where there is one."),
      PartField(Field<&S::spec>("spec"), "NodeSet"),
  });
  return schema;
}

const json::Schema& ClusterTopology::Schema() {
  static const json::Schema schema = json::Object<ClusterTopology>({
      Field<&ClusterTopology::labels>("labels")
          .Required()
          .MinItems(1)
          .MaxItems(5)
          .Each({.pattern = "^([a-z0-9.-]+/)?[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?$", .max_length = 317})
          .Doc("Labels of Kubernetes nodes that say where they stand, from root to leaf, such as example.org/spine and "
               "example.org/leaf."),
  });
  return schema;
}

const json::Schema& SlurmClusterSpec::Schema() {
  using S = SlurmClusterSpec;
  static const json::Schema schema = json::Object<S>({
      Field<&S::accounting>("accounting").Doc("slurmdbd; absent: none."),
      Field<&S::cluster_name>("clusterName")
          .MaxLength(40)
          .Pattern("^[A-Za-z0-9][-_.A-Za-z0-9]*$")
          .Doc("Slurm's ClusterName; absent: that of the object. Cannot be changed later."),
      Field<&S::config>("config").Doc("Slurm's configuration."),
      Field<&S::controller>("controller").Doc("slurmctld."),
      Field<&S::deletion_policy>("deletionPolicy")
          .Default("\"Now\"")
          .Enum({"Now", "Drain"})
          .Doc("What becomes of jobs when the object is deleted: they end at once, or workers are drained "
               "first. Volume claims stay in either case, unless a node set says otherwise, and so do keys."),
      Field<&S::images>("images").Doc("Images of Slurm's daemons."),
      Field<&S::login>("login").Doc("Hosts that people log in to; absent: none."),
      Field<&S::mode>("mode")
          .Default("\"Run\"")
          .Enum({"Run", "Maintenance", "Stopped"})
          .Doc("Maintenance: no job starts, those that run go on to their end. Stopped: workers are drained and go, "
               "and so do logins once nobody is logged in; the queue "
               "and the database stay."),
      Field<&S::node_sets>("nodeSets").ListMap({"name"}).MaxItems(kMostSets).Doc("Sets of alike workers."),
      Field<&S::partitions>("partitions")
          .ListMap({"name"})
          .MaxItems(kMostPartitions)
          .Doc("Slurm's partitions, besides those that nodeSets ask for. Where nobody names one there is one of all "
               "nodes, all."),
      Field<&S::paused>("paused").Default("false").Doc(
          "Nothing is written but the status: the parts go on as they are, and may be changed by hand."),
      Field<&S::placements>("placements")
          .ListMap({"name"})
          .MaxItems(kMostPlacements)
          .Doc("Where pods may run, by name."),
      Field<&S::rest_api>("restApi").Doc("slurmrestd, by which the operator reaches Slurm."),
      Field<&S::shared_root>("sharedRoot")
          .Doc("The spec of a SharedRoot: one root file system for all sessions and jobs. Absent: each pod has its "
               "image's."),
      Field<&S::topology>("topology")
          .Doc("Slurm's tree of switches, so that the nodes of a job are near each other. Absent: Slurm has none, "
               "unless "
               "config.files has a topology.yaml."),
  });
  return schema;
}

const json::Schema& ClusterPart::Schema() {
  static const json::Schema schema = json::Object<ClusterPart>({
      Field<&ClusterPart::kind>("kind").Required().Always().Doc("Its kind."),
      Field<&ClusterPart::message>("message").Doc("What it says of itself."),
      Field<&ClusterPart::name>("name").Required().Always().Doc("Its name."),
      Field<&ClusterPart::ready>("ready").Always().Doc("It does what is asked of it now."),
  });
  return schema;
}

const json::Schema& ClusterNodes::Schema() {
  using N = ClusterNodes;
  static const json::Schema schema = json::Object<N>({
      Field<&N::allocated>("allocated").Always().Doc("Slurm nodes that run jobs."),
      Field<&N::desired>("desired").Always().Doc("Workers there should be."),
      Field<&N::down>("down").Always().Doc("Slurm nodes that are down."),
      Field<&N::drained>("drained").Always().Doc("Slurm nodes that are draining or drained."),
      Field<&N::idle>("idle").Always().Doc("Slurm nodes that are idle."),
      Field<&N::ready>("ready").Always().Doc("Workers that are ready."),
  });
  return schema;
}

const json::Schema& ClusterLogins::Schema() {
  static const json::Schema schema = json::Object<ClusterLogins>({
      Field<&ClusterLogins::desired>("desired").Always().Doc("Logins there should be."),
      Field<&ClusterLogins::ready>("ready").Always().Doc("Logins that are ready."),
  });
  return schema;
}

const json::Schema& ClusterRoot::Schema() {
  static const json::Schema schema = json::Object<ClusterRoot>({
      Field<&ClusterRoot::generation>("generation").Doc("What sessions and steps that begin now have as /."),
  });
  return schema;
}

const json::Schema& ClusterEndpoints::Schema() {
  static const json::Schema schema = json::Object<ClusterEndpoints>({
      Field<&ClusterEndpoints::rest>("rest").Doc("Where slurmrestd is, within Kubernetes."),
      Field<&ClusterEndpoints::ssh>("ssh").Doc("Where logins are, within Kubernetes."),
  });
  return schema;
}

const json::Schema& SlurmClusterStatus::Schema() {
  using S = SlurmClusterStatus;
  static const json::Schema schema = json::Object<S>({
      ConditionsField(Field<&S::conditions>("conditions")),
      Field<&S::endpoints>("endpoints").Doc("Where to reach it."),
      Field<&S::logins>("logins").Always().Doc("Of the LoginSet."),
      Field<&S::nodes>("nodes").Always().Doc("Of all NodeSets together."),
      Field<&S::observed_generation>("observedGeneration").Doc("The metadata.generation that this speaks of."),
      Field<&S::parts>("parts").ListMap({"kind", "name"}).Doc("The objects that it is made of."),
      Field<&S::shared_root>("sharedRoot").Doc("Of the SharedRoot."),
      Field<&S::phase>("phase").Doc("Deleting, Paused, Stopped, Stopping, Degraded, Maintenance, Installing, Updating "
                                    "or Ready: the first that is so."),
  });
  return schema;
}

const json::Schema& SlurmCluster::Schema() {
  static const json::Schema schema =
      json::Object<SlurmCluster>({
                                     Field<&SlurmCluster::metadata>("metadata"),
                                     SpecField(Field<&SlurmCluster::spec>("spec"), "The cluster as it is wanted."),
                                     StatusField(Field<&SlurmCluster::status>("status")),
                                 })
          .Rule("size(self.metadata.name) <= 20 && self.metadata.name.matches('" + std::string(kNamePattern) + "')",
                "metadata.name must have at most 20 lower case letters, digits and '-', beginning with a letter: it "
                "begins the "
                "names of all parts")
          .Rule(
              ClusterName("self") + " == " + ClusterName("oldSelf"),
              "clusterName cannot be changed: slurmctld's state and the accounting belong to that name. Create another "
              "SlurmCluster.")
          .Doc("A Slurm cluster as one object: the other kinds are made of it.");
  return schema;
}

}  // namespace capstan::api
