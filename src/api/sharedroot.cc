#include "api/sharedroot.h"

#include "api/tables.h"

namespace capstan::api {
namespace {

using json::Field;

constexpr int64_t kMostFolders = 32, kLongestFolder = 1024, kMostGenerations = 64, kMostRootFiles = 64;
constexpr std::string_view kFolderPattern = "^(/[^/\\x00-\\x1f\\x7f]+)+$";
// What a root or its pods cannot do without, as entry/root/layout.cc has it, and parts of a path that lead elsewhere. CEL, of a path `f`.
constexpr std::string_view kIsPlain = "!f.matches('/[.][.]?(/|$)')";
constexpr std::string_view kMayBeKept =
    "!f.matches('^/(proc|sys|dev|run|etc|boot|capstan|tmp|mnt/(ssh-config|ssh-host-keys|sssd-conf)|"
    "var/(run|lock|tmp|log|spool/slurmd|lib/(sss|extrausers)))(/|$)') && "
    "!f.matches('^/(usr(/(bin|sbin|lib|lib64))?|bin|sbin|lib|lib64|mnt|var(/(lib|spool))?)$')";
constexpr std::string_view kMayNotBeKept =
    "a folder that a root or its pods need for themselves cannot be kept, node-local or a mount: /proc, /sys, /dev, "
    "/run, /etc, /boot, /tmp, "
    "/capstan, /var/tmp, /var/log, /var/run, /var/lock, /var/spool/slurmd, /var/lib/sss, "
    "/mnt/ssh-config, /mnt/ssh-host-keys, /mnt/sssd-conf and what is in them, nor /usr, "
    "/bin, /sbin, /lib, "
    "/mnt, /var, /var/lib, /var/spool; nor may a part of its path be . or ..";
// Pods mount it over their image.
constexpr std::string_view kMayBeMounted = "!f.matches('^/(usr|bin|sbin|lib|lib32|lib64|libx32|root)(/|$)')";
constexpr std::string_view kMayNotBeMounted =
    "a mount cannot be in /usr, /bin, /sbin, /lib or /root: the daemons of the pods need theirs";
constexpr std::string_view kMayBeWritten =
    "!f.matches('^/(proc|sys|dev|run|tmp|capstan|var/(run|lock|tmp|log|spool/slurmd|lib/sss))(/|$)') && "
    "!f.matches('^/etc/(passwd|shadow|group|gshadow|subuid|subgid|hosts|hostname|resolv[.]conf)-?$')";
constexpr std::string_view kMayNotBeWritten =
    "a file of spec.files cannot be in /proc, /sys, /dev, /run, /tmp, /capstan, /var/tmp, /var/log, /var/run, "
    "/var/lock, /var/spool/slurmd or "
    "/var/lib/sss, which are the pods', nor one of the accounts, hosts, hostname or resolv.conf; nor may a part of its "
    "path be . or ..";

std::string Both(std::string_view one, std::string_view other) {
  return std::string(one) + " && " + std::string(other);
}
std::string AllOf(std::string_view list, std::string_view rule) {
  return std::string(list) + ".all(f, " + std::string(rule) + ")";
}
// No path of `inner` is a folder of `outer`, or in one.
std::string NoneWithin(std::string_view inner, std::string_view outer) {
  return std::string(inner) + ".all(a, " + std::string(outer) + ".all(b, a.path != b && !a.path.startsWith(b + '/')))";
}

json::Member FoldersField(json::Member member) {
  return std::move(member)
      .MaxItems(kMostFolders)
      .Each({.pattern = std::string(kFolderPattern), .max_length = kLongestFolder})
      .Rule(AllOf("self", Both(kIsPlain, kMayBeKept)), kMayNotBeKept)
      .Rule("self.all(a, self.exists_one(b, a == b || a.startsWith(b + '/')))",
            "a folder cannot be named twice, nor be within another");
}

json::Member PathField(json::Member member) {
  return std::move(member).Required().Always().MaxLength(kLongestFolder).Pattern(kFolderPattern);
}

}  // namespace

const json::Schema& RootClaim::Schema() {
  static const json::Schema schema =
      json::Object<RootClaim>(
          {
              Field<&RootClaim::existing>("existing")
                  .MaxLength(kLongestName)
                  .Doc("A volume claim that is there, with access mode ReadWriteMany."),
              Field<&RootClaim::size>("size")
                  .MaxLength(64)
                  .Pattern("^[0-9]+([.][0-9]+)?([KMGTPE]i|[kMGTPE])?$")
                  .Doc("Size of a claim to be made, <name>-root, such as 500Gi."),
              Field<&RootClaim::storage_class_name>("storageClassName")
                  .MaxLength(kLongestName)
                  .Doc("Its storage class, of volumes that all nodes can write to; absent: the default one."),
          })
          .Rule("has(self.existing) != has(self.size)", "claim must have one of existing and size")
          .Rule("self == oldSelf", "claim cannot be changed: the roots are on that volume. Create another SharedRoot.");
  return schema;
}

const json::Schema& RootSource::Schema() {
  static const json::Schema schema = json::Object<RootSource>({
      Field<&RootSource::image>("image").Required().MinLength(1).MaxLength(1024).Doc(
          "An OCI image, whose files become the root. It has a /bin/sh; nothing of it is run to fill the root."),
      Field<&RootSource::image_pull_policy>("imagePullPolicy")
          .Enum({"Always", "IfNotPresent", "Never"})
          .Doc("When it is pulled; absent: as Kubernetes does."),
      Field<&RootSource::pull_secrets>("pullSecrets").Doc("imagePullSecrets for it."),
  });
  return schema;
}

const json::Schema& RootSwitch::Schema() {
  static const json::Schema schema =
      json::Object<RootSwitch>(
          {
              Field<&RootSwitch::current>("current").MaxLength(63).Doc(
                  "With policy Manual: the name of a generation of status.generations, also of an "
                  "older one. Absent: what "
                  "is current stays so; where nothing is yet, the first that is filled."),
              Field<&RootSwitch::policy>("policy")
                  .Enum({"Automatic", "Manual"})
                  .Default("\"Automatic\"")
                  .Doc("Automatic: the generation of spec.source becomes current once it is filled. Manual: it is "
                       "filled, and becomes current once spec.switch.current names it."),
          })
          .Rule("!has(self.current) || self.current == '' || self.policy == 'Manual'",
                "switch.current is for switch.policy Manual");
  return schema;
}

const json::Schema& RootMount::Schema() {
  static const json::Schema schema = json::Object<RootMount>({
      Field<&RootMount::claim>("claim")
          .Required()
          .Always()
          .MinLength(1)
          .MaxLength(kLongestName)
          .Doc("A volume claim that is there, with access mode ReadWriteMany or ReadOnlyMany."),
      PathField(Field<&RootMount::path>("path"))
          .Rule(AllOf("[self]", Both(kIsPlain, kMayBeKept)), kMayNotBeKept)
          .Rule(AllOf("[self]", kMayBeMounted), kMayNotBeMounted)
          .Doc("Where it is, in the root and for the daemons of the pods."),
      Field<&RootMount::read_only>("readOnly").Default("false").Doc("Mounted read-only."),
  });
  return schema;
}

const json::Schema& RootFile::Schema() {
  static const json::Schema schema = json::Object<RootFile>({
      Field<&RootFile::config_map>("configMap")
          .Required()
          .Always()
          .MinLength(1)
          .MaxLength(kLongestName)
          .Doc("A ConfigMap."),
      Field<&RootFile::key>("key")
          .Required()
          .Always()
          .MinLength(1)
          .MaxLength(kLongestName)
          .Doc("Its key with the text."),
      Field<&RootFile::mode>("mode").Default("420").Minimum(0).Maximum(07777).Doc(
          "As of files in volumes: 0644 in YAML, 420 in JSON."),
      PathField(Field<&RootFile::path>("path"))
          .Rule(AllOf("[self]", Both(kIsPlain, kMayBeWritten)), kMayNotBeWritten)
          .Doc("Where it is in the root. It is root's, and takes the place of what is there."),
  });
  return schema;
}

const json::Schema& SharedRootSpec::Schema() {
  using S = SharedRootSpec;
  static const json::Schema schema =
      json::Object<S>(
          {
              Field<&S::claim>("claim").Required().Doc("The volume. It stays when the SharedRoot goes."),
              Field<&S::job_image>("jobImage")
                  .MaxLength(1024)
                  .Doc("Image that has capstan-entry, as new as the operator, for the Jobs that write to the volume; "
                       "absent: "
                       "the operator's slurmd."),
              Field<&S::files>("files")
                  .ListMap({"path"})
                  .MaxItems(kMostRootFiles)
                  .Doc("Files of the root that are keys of ConfigMaps, as these are now. One that is taken out of the "
                       "list stays."),
              Field<&S::history>("history").Default("2").Minimum(0).Maximum(32).Doc(
                  "How many generations stay on the volume besides the current one and that of spec.source. Older ones "
                  "are "
                  "removed once no session and no job is in them."),
              FoldersField(Field<&S::keep>("keep").Default(R"(["/home","/root","/srv","/opt","/usr/local"])"))
                  .Doc("Folders of which all generations have the same, at first what the first image has there. What "
                       "is "
                       "in one that is taken out of the list stays on the volume, and is in no session."),
              Field<&S::mounts>("mounts")
                  .ListMap({"path"})
                  .MaxItems(kMostFolders)
                  .Doc("Folders that are other volumes. A SlurmCluster mounts them in its pods; in others mount them "
                       "there."),
              FoldersField(Field<&S::node_local>("nodeLocal"))
                  .Doc("Folders of which each pod has its own, besides /tmp, /var/tmp and /var/log: mount volumes "
                       "there, or "
                       "they are the image's."),
              Field<&S::revision>("revision")
                  .MaxLength(256)
                  .Doc("Another text makes a new generation of the same image."),
              Field<&S::source>("source").Required().Doc("Where the files of a generation come from."),
              Field<&S::switching>("switch").Doc("When another generation becomes the current one."),
              Field<&S::pod_template>("template").Doc("Laid over the pods of the Jobs that write to the volume."),
          })
          .Rule(
              "!has(self.nodeLocal) || self.keep.all(a, self.nodeLocal.all(b, a != b && !a.startsWith(b + '/') && "
              "!b.startsWith(a + '/')))",
              "a folder of spec.keep cannot be one of spec.nodeLocal, nor within one or around one")
          .Rule("!has(self.mounts) || " + NoneWithin("self.mounts", "self.keep") +
                    " && self.keep.all(f, self.mounts.all(m, !f.startsWith(m.path + '/')))",
                "a path of spec.mounts cannot be a folder of spec.keep, nor within one or around one")
          .Rule("!has(self.mounts) || !has(self.nodeLocal) || " + NoneWithin("self.mounts", "self.nodeLocal") +
                    " && self.nodeLocal.all(f, self.mounts.all(m, !f.startsWith(m.path + '/')))",
                "a path of spec.mounts cannot be a folder of spec.nodeLocal, nor within one or around one")
          .Rule("!has(self.mounts) || self.mounts.all(a, self.mounts.all(b, !a.path.startsWith(b.path + '/')))",
                "a path of spec.mounts cannot be within another")
          .Rule("!has(self.files) || " + NoneWithin("self.files", "self.keep") + " && (!has(self.nodeLocal) || " +
                    NoneWithin("self.files", "self.nodeLocal") + ")",
                "a path of spec.files cannot be in a folder of spec.keep, which is people's, nor of spec.nodeLocal")
          .Rule(
              "!has(self.files) || !has(self.mounts) || self.files.all(a, self.mounts.all(b, a.path != b.path && "
              "!a.path.startsWith(b.path + '/')))",
              "a path of spec.files cannot be in one of spec.mounts");
  return schema;
}

const json::Schema& RootGeneration::Schema() {
  using G = RootGeneration;
  static const json::Schema schema = json::Object<G>({
      Field<&G::bytes>("bytes").Doc("Bytes in its files, when it was filled."),
      Field<&G::files>("files").Doc("Files in it, when it was filled."),
      Field<&G::image>("image").Doc("The image it is from."),
      Field<&G::kept_by>("keptBy").Doc("Why it is still there though spec.history asks for fewer: pods whose sessions "
                                       "or jobs are in it, or that do not say."),
      Field<&G::name>("name").Required().Always().Doc("Its name, and that of its folder below roots/ on the volume."),
      Field<&G::revision>("revision").Doc("spec.revision when it was filled."),
      Field<&G::slurm>("slurm").Doc(
          "Whose Slurm commands sessions have: Root, its own, or Image, those of the pod's image."),
  });
  return schema;
}

const json::Schema& CurrentRoot::Schema() {
  using C = CurrentRoot;
  static const json::Schema schema = json::Object<C>({
      Field<&C::generation>("generation").Doc("Its name."),
      Field<&C::keep>("keep").Atomic().Doc("spec.keep of it."),
      Field<&C::mounts>("mounts").Atomic().Doc("Where spec.mounts of it are."),
      Field<&C::node_local>("nodeLocal").Atomic().Doc("spec.nodeLocal of it."),
      Field<&C::observed_generation>("observedGeneration").Doc("The metadata.generation that made it current."),
  });
  return schema;
}

const json::Schema& SharedRootStatus::Schema() {
  using S = SharedRootStatus;
  static const json::Schema schema = json::Object<S>({
      Field<&S::claim>("claim").Doc("The volume claim that pods mount."),
      Field<&S::claim_uid>("claimUid").Doc("Its uid: another claim of that name is another volume."),
      ConditionsField(Field<&S::conditions>("conditions")),
      Field<&S::current>("current").Doc("What sessions and steps that begin now have as /."),
      Field<&S::files>("files").Doc("The generation and a digest of spec.files as they were written last."),
      Field<&S::generations>("generations")
          .ListMap({"name"})
          .MaxItems(kMostGenerations)
          .Doc("Roots on the volume that are not removed. What was current last is last."),
      Field<&S::observed_generation>("observedGeneration").Doc("The metadata.generation that this speaks of."),
      Field<&S::ordered_generation>("orderedGeneration")
          .Doc("The metadata.generation whose switch was asked for last."),
  });
  return schema;
}

const json::Schema& SharedRoot::Schema() {
  static const json::Schema schema =
      json::Object<SharedRoot>({
                                   Field<&SharedRoot::metadata>("metadata"),
                                   SpecField(Field<&SharedRoot::spec>("spec"), "The root as it is wanted."),
                                   StatusField(Field<&SharedRoot::status>("status")),
                               })
          .Rule("size(self.metadata.name) <= 40",
                "metadata.name must have at most 40 characters: it begins the names of Jobs")
          .Doc("A volume whose files are / in every session and job of a Slurm cluster.");
  return schema;
}

}  // namespace capstan::api
