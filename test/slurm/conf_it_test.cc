// What slurm/conf_check.h says of a slurm.conf, against a slurmctld that is started with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "real_slurm.h"
#include "slurm/conf_check.h"

namespace capstan::slurm {
namespace {

enum class Verdict { kTaken, kTold, kRefused };

struct Case {
  const char* name;
  const char* text;  // after kBase
  Verdict verdict = Verdict::kRefused;
  const char* cgroup = "CgroupPlugin=disabled\n";
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.text << c.cgroup; }

constexpr const char* kBase =
    "ClusterName=trial\nSlurmctldHost=ctl(192.0.2.1)\nSlurmctldPort=7817\nSlurmUser=slurm\nSlurmdUser=root\n"
    "AuthType=auth/slurm\nCredType=cred/slurm\nAuthInfo=use_client_ids\nSlurmctldParameters=enable_configless\n"
    "StateSaveLocation=/tmp/trial\nSlurmctldPidFile=/tmp/trial/pid\nSlurmdSpoolDir=/var/spool/"
    "slurmd\nMaxNodeCount=1024\n"
    "ProctrackType=proctrack/linuxproc\nAccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n";

// Ends at once when slurmctld has ended or is in charge: 1, or 10.
constexpr const char* kStart =
    "$SLURM_EXEC sh -c 'setpriv --reuid=slurm --regid=slurm --clear-groups slurmctld -D -f /tmp/trial/slurm.conf "
    "> /tmp/trial/log 2>&1 & pid=$!; for i in $(seq 200); do "
    "if grep -q \"Running as primary\" /tmp/trial/log; then sleep 0.1; kill -0 $pid || exit 1; kill -9 $pid; wait "
    "$pid; exit 10; fi; "
    "kill -0 $pid 2> /dev/null || exit 1; sleep 0.05; done; kill -9 $pid; exit 20' 2>&1";

class ConfOnSlurmctld : public ::testing::TestWithParam<Case> {
 protected:
  // Those of the trials took its socket (sack) from the slurmctld that other tests ask.
  static void TearDownTestSuite() { Shell("$SLURM_CONTROL restart slurmctld"); }

  // Its status as above.
  static int Start(const Case& c) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(Env("SLURM_ROOT")) / "tmp/trial";
    fs::remove_all(folder);
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::all);
    const auto write = [&folder](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
    write("slurm.conf", std::string(kBase) + c.text + "\n");
    write("cgroup.conf", c.cgroup);
    int status = 0;
    Shell("$SLURM_EXEC cp -p /etc/slurm/slurm.key /tmp/trial/", &status);
    EXPECT_EQ(status, 0);
    Shell(kStart, &status);
    return status;
  }

  static Verdict Checked(const Case& c) {
    auto findings = CheckConf(ConfFile::kSlurm, std::string(kBase) + c.text);
    const auto more = CheckConf(ConfFile::kCgroup, c.cgroup);
    findings.insert(findings.end(), more.begin(), more.end());
    if (findings.empty()) return Verdict::kTaken;
    return std::ranges::any_of(findings, &ConfFinding::refused) ? Verdict::kRefused : Verdict::kTold;
  }
};

TEST_P(ConfOnSlurmctld, IsJudgedAlike) {
  const Case& c = GetParam();
  EXPECT_EQ(Checked(c), c.verdict);
  EXPECT_EQ(Start(c), c.verdict == Verdict::kTaken ? 10 : 1);
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

constexpr Case kSome[] = {
    {"Plain", "PartitionName=p Nodes=ALL", Verdict::kTaken},
    {"UnknownOption", "Foo=bar", Verdict::kTold},
    {"Unit", "SlurmdTimeout=5m"},
    {"TooLarge", "SlurmdTimeout=70000"},
    {"Bool", "UsePAM=on"},
    {"TwoInALine", "KillWait=5 MinJobAge=3"},
    {"NoValue", "KillWait="},
    {"DebugLevel", "SlurmctldDebug=loud"},
    {"PreemptTypeAlone", "PreemptType=preempt/qos"},
    {"SuspendAlone", "PreemptMode=SUSPEND"},
    {"PartitionState", "PartitionName=p Nodes=ALL State=FOO"},
    {"PartitionTime", "PartitionName=p Nodes=ALL MaxTime=forever"},
    {"PartitionNodes", "PartitionName=p Nodes=a[1-"},
    {"UnknownNode", "PartitionName=p Nodes=nosuch", Verdict::kTold},
    {"UnknownNodesOfANodeSet", "NodeSet=s Nodes=nosuch[0-3]\nPartitionName=p Nodes=ALL", Verdict::kTaken},
    {"NodeTwice", "NodeName=n[1-3]\nNodeName=n2"},
    {"CgroupBool", "", Verdict::kRefused, "CgroupPlugin=disabled\nConstrainCores=perhaps\n"},
};
INSTANTIATE_TEST_SUITE_P(Some, ConfOnSlurmctld, ::testing::ValuesIn(kSome), NameOf);

constexpr Case kRest[] = {
    {"Letters", "SlurmdTimeout=abc"},
    {"Negative", "SlurmdTimeout=-5"},
    {"Infinite", "SlurmdTimeout=INFINITE", Verdict::kTaken},
    {"Thousands", "MaxJobCount=10k", Verdict::kTaken},
    {"Hexadecimal", "MaxJobCount=0x10", Verdict::kTaken},
    {"Quoted", "SlurmdTimeout=\"300\"", Verdict::kTaken},
    {"Empty", "Licenses=\"\"\nPreemptMode=\"\"\nTreeWidth=\"\"\nPriorityWeightTRES=\"\"", Verdict::kTaken},
    {"EmptyPlugin", "SwitchType=\"\""},
    {"EmptyTime", "PriorityMaxAge=\"\""},
    {"NoJobs", "MaxJobCount=0"},
    {"NoSteps", "MaxStepCount=0"},
    {"NoPort", "SlurmctldPort=0"},
    {"NoFirstJob", "FirstJobId=0"},
    {"NoLastJob", "MaxJobId=0"},
    {"FewDbdMessages", "MaxDBDMsgs=500"},
    {"EmptyNumber", "MaxStepCount=\"\""},
    {"EmptyName", "ClusterName=\"\""},
    {"EmptyUser", "SlurmUser=\"\""},
    {"EmptyFolder", "StateSaveLocation=\"\""},
    {"EmptyDebugLevel", "SlurmctldDebug=\"\""},
    {"EmptyScheduler", "SchedulerType=\"\""},
    {"EmptyPreemptType", "PreemptType=\"\""},
    {"EmptyTopology", "TopologyPlugin=\"\""},
    {"EmptyMetrics", "MetricsType=\"\""},
    {"EmptyBool", "DisableRootJobs=\"\""},
    {"Linear", "SelectType=select/linear"},
    {"LastCounts", "MaxJobCount=0\nMaxJobCount=10\nSwitchType=\"\"\nSwitchType=switch/none", Verdict::kTaken},
    {"LastWordCounts", "SlurmctldDebug=loud\nSlurmctldDebug=info\nPreemptMode=FOO\nPreemptMode=OFF", Verdict::kTaken},
    {"LastIsWrong", "SlurmctldDebug=info\nSlurmctldDebug=loud"},
    {"FirstBoolCounts", "UsePAM=maybe\nUsePAM=1"},
    {"LowerCase", "slurmdtimeout=40", Verdict::kTaken},
    {"Blanks", "KillWait = 5", Verdict::kTaken},
    {"TwoKeyWords", "Sched uler=3"},
    {"Continued", "KillWait=5 \\\nMinJobAge=4"},
    {"NoKey", "= 5"},
    {"NoEquals", "KillWait"},
    {"BoolWord", "UsePAM=maybe"},
    {"BoolTrue", "UsePAM=TRUE", Verdict::kTaken},
    {"BoolTwo", "PriorityFavorSmall=2"},
    {"SyslogDebug", "SlurmctldSyslogDebug=foo"},
    {"SlurmdDebug", "SlurmdDebug=loud"},
    {"DebugNumber", "SlurmctldDebug=5", Verdict::kTaken},
    {"SelectTypeParameter", "SelectTypeParameters=CR_FOO", Verdict::kTold},
    {"SelectTypeParameters", "SelectTypeParameters=CR_Core_Memory,CR_ONE_TASK_PER_CORE,CR_LLN", Verdict::kTaken},
    {"PreemptModeWord", "PreemptMode=FOO"},
    {"Preempt", "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG", Verdict::kTaken},
    {"PartitionDays", "PartitionName=p Nodes=ALL MaxTime=1-0:0", Verdict::kTaken},
    {"PartitionTimeParts", "PartitionName=p Nodes=ALL MaxTime=1:x"},
    {"PartitionDefaultTime", "PartitionName=p Nodes=ALL DefaultTime=NONE"},
    {"PartitionBool", "PartitionName=p Nodes=ALL Default=perhaps"},
    {"PartitionShare", "PartitionName=p Nodes=ALL OverSubscribe=FOO"},
    {"PartitionBackwards", "PartitionName=p Nodes=a[3-1]"},
    {"PartitionOption", "PartitionName=p Foo=1", Verdict::kTold},
    {"PartitionNumber", "PartitionName=p Nodes=ALL MaxNodes=x"},
    {"PartitionTier", "PartitionName=p Nodes=ALL PriorityTier=70000"},
    {"PartitionExclusive", "PartitionName=p Nodes=ALL Exclusive=YES"},
    {"PartitionExclusiveUser", "PartitionName=p Nodes=ALL Exclusive=user", Verdict::kTaken},
    {"PartitionSelect", "PartitionName=p Nodes=ALL SelectTypeParameters=CR_CPU"},
    {"PartitionSelected", "PartitionName=p Nodes=ALL SelectTypeParameters=CR_Core,CR_LLN", Verdict::kTaken},
    {"PartitionSelectLast", "PartitionName=p Nodes=ALL SelectTypeParameters=CR_LLN,CR_Core"},
    {"PartitionSelectDefault", "PartitionName=p Nodes=ALL SelectTypeParameters=CR_CORE_DEFAULT_DIST_BLOCK",
     Verdict::kTaken},
    {"PartitionEmpty", "PartitionName=p Nodes=\"\" AllowGroups=\"\" TRESBillingWeights=\"\"", Verdict::kTaken},
    {"PartitionEmptyQos", "PartitionName=p Nodes=ALL QOS=\"\""},
    {"PartitionEmptyTime", "PartitionName=p Nodes=ALL MaxTime=\"\""},
    {"PartitionEmptyBool", "PartitionName=p Nodes=ALL Hidden=\"\""},
    {"PartitionPreemption", "PartitionName=p Nodes=ALL PreemptMode=FOO SuspendTime=x CpuBind=x", Verdict::kTaken},
    {"PartitionGroups", "PartitionName=p Nodes=ALL AllowGroups=nosuch Alternate=nosuch AllowQos=ALL", Verdict::kTaken},
    {"PartitionNodesTwice", "PartitionName=p Nodes=ALL Nodes=ALL", Verdict::kTaken},
    {"NodeSetTwice", "NodeSet=s Feature=x\nNodeSet=s Feature=y\nPartitionName=p Nodes=s", Verdict::kTaken},
    {"PartitionWeights", "PartitionName=p Nodes=ALL TRESBillingWeights=CPU=x"},
    {"PartitionNodeSet", "NodeSet=s Feature=x\nPartitionName=p Nodes=s", Verdict::kTaken},
    {"PartitionNodeNames", "NodeName=n[1-3] NodeAddr=192.0.2.1\nPartitionName=p Nodes=n[1-2]", Verdict::kTaken},
    {"PartitionMoreNodes", "NodeName=n[1-3] NodeAddr=192.0.2.1\nPartitionName=p Nodes=n[1-4]", Verdict::kTold},
    {"NodeCpus", "NodeName=n[1-3] CPUs=x"},
    {"NodeDefault", "NodeName=DEFAULT CPUs=x"},
    {"NodeMemory", "NodeName=n1 RealMemory=1G"},
    {"NodeOption", "NodeName=n1 Foo=2", Verdict::kTold},
    {"NodeSetOption", "NodeSet=s Feature=x Foo=1", Verdict::kTold},
    {"HostOption", "SlurmctldHost=other(192.0.2.9) Foo=1"},
    {"PrologTwo", "Prolog=/a Epilog=/b"},
    {"PrologFlag", "PrologFlags=foo", Verdict::kTold},
    {"Enforce", "AccountingStorageEnforce=foo", Verdict::kTold},
    {"PartLimits", "EnforcePartLimits=foo"},
    {"PartLimitsAll", "EnforcePartLimits=ALL", Verdict::kTaken},
    {"HalfLife", "PriorityDecayHalfLife=x"},
    {"HalfLifeDays", "PriorityDecayHalfLife=7-0", Verdict::kTaken},
    {"MaxAge", "PriorityMaxAge=x"},
    {"CalcPeriod", "PriorityCalcPeriod=x"},
    {"ResetPeriod", "PriorityUsageResetPeriod=x"},
    {"ResetPeriodYearly", "PriorityUsageResetPeriod=YEARLY", Verdict::kTaken},
    {"ExemptTime", "PreemptExemptTime=x"},
    {"WeightTres", "PriorityWeightTRES=foo"},
    {"Limits", "PropagateResourceLimits=FOO"},
    {"LimitsExcept", "PropagateResourceLimitsExcept=FOO"},
    {"LimitsList", "PropagateResourceLimits=STACK,MEMLOCK", Verdict::kTaken},
    {"License", "Licenses=a:x"},
    {"LicenseList", "Licenses=a:5,b,c@srv:3", Verdict::kTaken},
    {"Port", "SlurmdPort=x"},
    {"ResumeRate", "ResumeRate=x"},
    {"MaxMem", "MaxMemPerNode=x"},
    {"VSizeFactor", "VSizeFactor=70000"},
    {"CgroupOption", "", Verdict::kTold, "CgroupPlugin=disabled\nFoo=1\n"},
    {"CgroupReal", "", Verdict::kRefused, "CgroupPlugin=disabled\nAllowedRAMSpace=x\n"},
};
INSTANTIATE_TEST_SUITE_P(Long, ConfOnSlurmctld, ::testing::ValuesIn(kRest), NameOf);

}  // namespace
}  // namespace capstan::slurm
