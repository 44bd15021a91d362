#include "api/sharedroot.h"

#include "api/tables.h"

namespace capstan::api {
namespace {

using json::Field;

constexpr int64_t kMostFolders = 32, kLongestFolder = 1024, kMostGenerations = 64;
// The rest is said by the Job that meets it (entry/root/layout.h).
constexpr std::string_view kFolderPattern = "^(/[^/\\x00-\\x1f\\x7f]+)+$";

json::Member FoldersField(json::Member member) {
  return std::move(member)
      .MaxItems(kMostFolders)
      .Each({.pattern = std::string(kFolderPattern), .max_length = kLongestFolder});
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
          "An OCI image, whose files become the root. Any will do: nothing of it is run."),
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

const json::Schema& SharedRootSpec::Schema() {
  using S = SharedRootSpec;
  static const json::Schema schema = json::Object<S>({
      Field<&S::claim>("claim").Required().Doc("The volume. It stays when the SharedRoot goes."),
      Field<&S::job_image>("jobImage")
          .MaxLength(1024)
          .Doc("Image that has capstan-entry, as new as the operator, for the Jobs that write to the volume; absent: "
               "the operator's slurmd."),
      Field<&S::history>("history").Default("2").Minimum(0).Maximum(32).Doc(
          "How many generations stay on the volume besides the current one and that of spec.source. Older ones are "
          "removed once no session and no job is in them."),
      FoldersField(Field<&S::keep>("keep").Default(R"(["/home","/root","/srv","/opt","/usr/local"])"))
          .Doc("Folders of which all generations have the same, at first what the first image has there."),
      FoldersField(Field<&S::node_local>("nodeLocal"))
          .Doc("Folders of which each pod has its own, besides /tmp, /var/tmp and /var/log: mount volumes there, or "
               "they are the image's."),
      Field<&S::revision>("revision").MaxLength(256).Doc("Another text makes a new generation of the same image."),
      Field<&S::source>("source").Required().Doc("Where the files of a generation come from."),
      Field<&S::switching>("switch").Doc("When another generation becomes the current one."),
      Field<&S::pod_template>("template").Doc("Laid over the pods of the Jobs that write to the volume."),
  });
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
