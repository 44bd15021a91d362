#include "slurm/conf_options.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "base/text.h"

namespace capstan::slurm {

struct OptionTable {
  std::vector<Option> options;  // by name, in lower case
};

namespace {

struct Group {
  OptionType type;
  std::string_view names;
};

// A line of NodeName.
constexpr Group kNodes[] = {
    {OptionType::kText,
     "BcastAddr CpuBind CPUSpecList Feature Features Gres GresConf NodeAddr NodeHostname Parameters Port "
     "Reason State SuspendTime Topology TRESWeights"},
    {OptionType::kNumber16,
     "Boards CoreSpecCount CoresPerSocket CPUs Procs RestrictedCoresPerGPU Sockets SocketsPerBoard "
     "ThreadsPerCore"},
    {OptionType::kNumber32, "TmpDisk Weight"},
    {OptionType::kNumber64, "MemSpecLimit RealMemory"},
};

// A line of PartitionName.
constexpr Group kPartitions[] = {
    {OptionType::kText,
     "AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind DefaultTime DenyAccounts DenyQos "
     "Exclusive MaxTime Nodes OverSubscribe OverTimeLimit PreemptMode QOS SelectTypeParameters Shared State "
     "SuspendTime Topology TRESBillingWeights"},
    {OptionType::kBool,
     "Default DisableRootJobs ExclusiveTopo ExclusiveUser Hidden LLN PowerDownOnIdle ReqResv RootOnly"},
    {OptionType::kNumber16, "Priority PriorityJobFactor PriorityTier ResumeTimeout SuspendTimeout"},
    {OptionType::kNumber32, "GraceTime MaxCPUsPerNode MaxCPUsPerSocket MaxNodes MinNodes"},
    {OptionType::kNumber64, "DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode"},
};

constexpr Group kNodeSets[] = {{OptionType::kText, "Feature Nodes"}};
constexpr Group kDownNodes[] = {{OptionType::kText, "Reason State"}};
constexpr Group kPowerActions[] = {{OptionType::kText, "Location Program"}};

// slurm.conf, but for the options that begin a line of several.
constexpr Group kSlurm[] = {
    {OptionType::kText,
     "AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost "
     "AccountingStorageParameters AccountingStoragePass AccountingStorageTRES AccountingStorageType "
     "AccountingStorageUser AccountingStoreFlags AcctGatherEnergyType AcctGatherFilesystemType "
     "AcctGatherInfinibandType AcctGatherInterconnectType AcctGatherProfileType AuthAltParameters AuthAltTypes "
     "AuthInfo AuthType BackupAddr BackupController BcastExclude BcastParameters BurstBufferParameters "
     "BurstBufferType CertgenParameters CertgenType CertmgrParameters CertmgrType CliFilterParameters "
     "CliFilterPlugins ClusterName CommunicationParameters ControlAddr ControlMachine CoreSpecPlugin "
     "CpuFreqDef CpuFreqGovernors CredType CryptoType DataParserParameters DebugFlags DependencyParameters "
     "EnforcePartLimits ExtSensorsType FederationParameters GpuFreqDef GresTypes HashPlugin "
     "HealthCheckNodeState HealthCheckProgram HttpParserType InteractiveStepOptions JobAcctGatherFrequency "
     "JobAcctGatherParams JobAcctGatherType JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript "
     "JobCompType JobCompUser JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate "
     "JobSubmitPlugins LaunchParameters LaunchType LicenseParameters Licenses LogTimeFormat MailDomain "
     "MailProg MCSParameters MCSPlugin MetricsAuthUsers MetricsParameters MetricsType MpiDefault MpiParams "
     "NamespaceType NodeFeaturesPlugins PluginDir PlugStackConfig PowerParameters PowerPlugin "
     "PreemptExemptTime PreemptMode PreemptParameters PreemptType PrEpParameters PrEpPlugins "
     "PriorityCalcPeriod PriorityDecayHalfLife PriorityFlags PriorityMaxAge PriorityParameters "
     "PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType PriorityUsageResetPeriod "
     "PriorityWeightTRES PrivateData ProctrackType PrologFlags PropagateResourceLimits "
     "PropagateResourceLimitsExcept RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram "
     "ResumeProgram ResvEpilog ResvProlog RoutePlugin SallocDefaultCommand SbcastParameters "
     "SchedulerParameters SchedulerType ScronParameters SelectType SelectTypeParameters SlurmctldAddr "
     "SlurmctldDebug SlurmctldHttpAuthParameters SlurmctldLogFile SlurmctldParameters SlurmctldPidFile "
     "SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg SlurmctldSyslogDebug SlurmdDebug "
     "SlurmdHttpAuthParameters SlurmdLogFile SlurmdParameters SlurmdPidFile SlurmdSpoolDir SlurmdSyslogDebug "
     "SlurmdUser SlurmSchedLogFile SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation "
     "SuspendExcNodes SuspendExcParts SuspendExcStates SuspendProgram SuspendTime SwitchParameters SwitchType "
     "TaskEpilog TaskPlugin TaskPluginParam TaskProlog TLSParameters TLSType TmpFS TopologyParam "
     "TopologyPlugin UnkillableStepProgram UrlParserType X11Parameters"},
    {OptionType::kBool,
     "AccountingStoreJobComment AllowSpecResourcesUsage DisableRootJobs PriorityFavorSmall TrackWCKey UsePAM"},
    {OptionType::kNumber16,
     "AccountingStoragePort AcctGatherNodeFreq BatchStartTimeout CompleteWait EioTimeout EpilogTimeout "
     "ExtSensorsFreq FairShareDampeningFactor FastSchedule GetEnvTimeout GroupUpdateForce GroupUpdateTime "
     "HealthCheckInterval HealthCheckTimeout InactiveLimit JobFileAppend JobRequeue KillOnBadExit KillWait "
     "MaxTasksPerNode MessageTimeout OverTimeLimit PrologEpilogTimeout PrologTimeout PropagatePrioProcess "
     "ResumeRate ResumeTimeout ResvOverRun ReturnToService SchedulerTimeSlice SlurmctldTimeout SlurmdTimeout "
     "SlurmSchedLogLevel SuspendRate SuspendTimeout TCPTimeout TreeWidth UnkillableStepTimeout VSizeFactor "
     "WaitTime"},
    {OptionType::kNumber32,
     "EpilogMsgTime FirstJobId JobCompPort KeepAliveTime MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount "
     "MaxJobId MaxNodeCount MaxStepCount MinJobAge PriorityWeightAge PriorityWeightAssoc "
     "PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS SlurmdPort"},
    {OptionType::kNumber64, "DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode MaxMemPerCPU MaxMemPerNode"},
};

// cgroup.conf.
constexpr Group kCgroup[] = {
    {OptionType::kText,
     "AllowedDevicesFile CgroupJobIdPaths CgroupMountpoint CgroupPlugin CgroupSlice EnableExtraControllers"},
    {OptionType::kBool,
     "CgroupAutomount ConstrainCores ConstrainDevices ConstrainRAMSpace ConstrainSwapSpace EnableControllers "
     "IgnoreSystemd IgnoreSystemdOnFailure MemoryLimitEnforcement SignalChildrenProcesses"},
    {OptionType::kNumber64, "MemorySwappiness MinRAMSpace SystemdTimeout"},
    {OptionType::kReal, "AllowedRAMSpace AllowedSwapSpace MaxRAMPercent MaxSwapPercent MemoryLimitThreshold"},
};

// gres.conf; each line is one of Name or NodeName, or AutoDetect alone.
constexpr Group kGres[] = {
    {OptionType::kText, "AutoDetect Cores Count CPUs File Files Flags Link Links MultipleFiles Name Type"},
};

// slurmdbd.conf.
constexpr Group kSlurmdbd[] = {
    {OptionType::kText,
     "ArchiveDir ArchiveScript AuthAltParameters AuthAltTypes AuthInfo AuthType CommunicationParameters "
     "DbdAddr DbdBackupHost DbdHost DebugFlags DebugLevel DebugLevelSyslog DefaultQOS HashPlugin LogFile "
     "LogTimeFormat MaxQueryTimeRange PidFile PluginDir PrivateData PurgeEventAfter PurgeJobAfter "
     "PurgeJobEnvAfter PurgeJobScriptAfter PurgeResvAfter PurgeStepAfter PurgeSuspendAfter PurgeTXNAfter "
     "PurgeUsageAfter SlurmUser StorageBackupHost StorageHost StorageLoc StorageParameters StoragePass "
     "StoragePassScript StorageType StorageUser TLSParameters TLSType"},
    {OptionType::kBool,
     "AllowNoDefAcct AllResourcesAbsolute ArchiveEvents ArchiveJobEnv ArchiveJobs ArchiveJobScript "
     "ArchiveResvs ArchiveSteps ArchiveSuspend ArchiveTXN ArchiveUsage DisableArchiveCommands DisableCoordDBD "
     "DisableRollups PreserveCaseResource PreserveCaseUser TrackSlurmctldDown TrackWCKey"},
    {OptionType::kNumber16,
     "CommitDelay DbdPort JobPurge MessageTimeout PurgeEventMonths PurgeJobMonths PurgeStepMonths "
     "PurgeSuspendMonths PurgeTXNMonths PurgeUsageMonths StepPurge StoragePort TCPTimeout"},
    {OptionType::kNumber32, "MaxPurgeLimit"},
};

// topology.conf.
constexpr Group kTopology[] = {{OptionType::kText, "BlockSizes"}};
constexpr Group kSwitches[] = {{OptionType::kText, "Nodes Switches"}, {OptionType::kNumber32, "LinkSpeed"}};
constexpr Group kBlocks[] = {{OptionType::kText, "Nodes"}};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

bool NameLess(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(a, b, {}, Lower, Lower);
}

OptionTable Table(std::span<const Group> groups, std::vector<Option> lines = {}) {
  OptionTable table{std::move(lines)};
  for (const Group& group : groups)
    for (const std::string_view name : Words(group.names)) table.options.push_back({name, group.type});
  std::ranges::sort(table.options, NameLess, &Option::name);
  return table;
}

// How many letters must change to make one of the other; more than two is as good as many.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

const Option* FindOption(const OptionTable& table, std::string_view name) {
  const auto found = std::ranges::lower_bound(table.options, name, NameLess, &Option::name);
  return found != table.options.end() && EqualsIgnoreCase(found->name, name) ? &*found : nullptr;
}

std::string_view NearestOption(const OptionTable& table, std::string_view name) {
  constexpr size_t kNear = 2, kLongest = 40;
  if (name.size() > kLongest) return "";
  const std::string lower = ToLower(name);
  std::string_view nearest;
  size_t least = kNear + 1;
  for (const Option& option : table.options) {
    const size_t distance = Distance(lower, ToLower(option.name));
    if (distance < least) std::tie(least, nearest) = std::tuple(distance, option.name);
  }
  return nearest;
}

const OptionTable& PartitionOptions() {
  static const OptionTable table = Table(kPartitions);
  return table;
}

const OptionTable& SlurmOptions() {
  static const OptionTable nodes = Table(kNodes), node_sets = Table(kNodeSets), down = Table(kDownNodes),
                           power = Table(kPowerActions);
  static const OptionTable table = Table(kSlurm, {{"NodeName", OptionType::kLine, &nodes},
                                                  {"PartitionName", OptionType::kLine, &PartitionOptions()},
                                                  {"NodeSet", OptionType::kLine, &node_sets},
                                                  {"DownNodes", OptionType::kLine, &down},
                                                  {"PowerAction", OptionType::kLine, &power},
                                                  {"Epilog", OptionType::kLine},
                                                  {"EpilogSlurmctld", OptionType::kLine},
                                                  {"Include", OptionType::kText},
                                                  {"Prolog", OptionType::kLine},
                                                  {"PrologSlurmctld", OptionType::kLine},
                                                  {"SlurmctldHost", OptionType::kLine}});
  return table;
}

const OptionTable& CgroupOptions() {
  static const OptionTable table = Table(kCgroup);
  return table;
}

const OptionTable& GresOptions() {
  static const OptionTable items = Table(kGres);
  static const OptionTable table = Table({}, {{"AutoDetect", OptionType::kText},
                                              {"Name", OptionType::kLine, &items},
                                              {"NodeName", OptionType::kLine, &items}});
  return table;
}

const OptionTable& SlurmdbdOptions() {
  static const OptionTable table = Table(kSlurmdbd);
  return table;
}

const OptionTable& TopologyOptions() {
  static const OptionTable switches = Table(kSwitches), blocks = Table(kBlocks);
  static const OptionTable table =
      Table(kTopology, {{"SwitchName", OptionType::kLine, &switches}, {"BlockName", OptionType::kLine, &blocks}});
  return table;
}

}  // namespace capstan::slurm
