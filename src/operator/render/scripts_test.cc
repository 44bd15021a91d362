#include "operator/render/scripts.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <string>

namespace capstan::op::render {
namespace {

// The scripts run as they are, in the shell $SHELL_UNDER_TEST; `driver` plays kubelet and Slurm around them. `sleep` is
// made short, so that the scripts' own pauses cost nothing.
constexpr const char* kWorld = R"sh(
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"; : > "$dir/out"
real_sleep=$(command -v sleep)
printf '#!/bin/sh\nexec %s 0.02\n' "$real_sleep" > "$dir/bin/sleep"
chmod +x "$dir/bin/sleep"
PATH=$dir/bin:$PATH
export PATH
until_true() { until eval "$1"; do sleep 1; done; }
start() { $SHELL_UNDER_TEST -c "$SCRIPT" > "$dir/out" 2>&1 & pid=$!; }
)sh";

struct Ran {
  int status = -1;
  std::string output;
};

Ran RunScript(const std::string& shell, std::string_view script, const std::string& driver) {
  setenv("SHELL_UNDER_TEST", shell.c_str(), 1);
  setenv("SCRIPT", std::string(script).c_str(), 1);
  setenv("DRIVER", (kWorld + driver).c_str(), 1);
  Ran ran;
  FILE* pipe = popen("timeout 20 sh -c \"$DRIVER\" 2>&1", "r");
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) ran.output += char(c);
  const int status = pclose(pipe);
  ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

class Scripts : public ::testing::TestWithParam<const char*> {};

TEST_P(Scripts, LogfilePrintsWhatIsWrittenAndEndsWithZero) {
  const Ran ran = RunScript(GetParam(), LogfileScript("600"), R"sh(
SOCKET=$dir/log/slurmctld.log; export SOCKET
start
until_true '[ -p "$SOCKET" ]'
echo one > "$SOCKET"
echo two > "$SOCKET"
until_true 'grep -q two "$dir/out"'
kill -TERM $pid; wait $pid; echo "ended with $?"
stat -c %a "$SOCKET"; cat "$dir/out"
)sh");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "ended with 0\n600\none\ntwo\n");
}

TEST_P(Scripts, LogfileReplacesAnOrdinaryFileAndKeepsAFifo) {
  const Ran ran = RunScript(GetParam(), LogfileScript("777"), R"sh(
SOCKET=$dir/slurmd.log; export SOCKET
echo old > "$SOCKET"
start
until_true '[ -p "$SOCKET" ]'
echo first > "$SOCKET"
until_true 'grep -q first "$dir/out"'
before=$(stat -c %i "$SOCKET")
kill -HUP $pid; wait $pid; echo "ended with $?"
start
# What is written while the first one's reader dies is lost with it.
until_true 'echo line > "$SOCKET"; grep -q line "$dir/out"'
[ "$before" = "$(stat -c %i "$SOCKET")" ] && echo "same fifo"
kill -TERM $pid; wait $pid
)sh");
  EXPECT_EQ(ran.output, "ended with 1\nsame fifo\n");
}

// A folder as kubelet makes it: links into ..data, which is swapped as a whole.
constexpr const char* kConfig = R"sh(
SLURM_CONF_DIR=$dir/etc; export SLURM_CONF_DIR
mkdir -p "$dir/etc/..1"; echo A=1 > "$dir/etc/..1/slurm.conf"
ln -s ..1 "$dir/etc/..data"; ln -s ..data/slurm.conf "$dir/etc/slurm.conf"
cat > "$dir/bin/scontrol" <<END
#!/bin/sh
echo "\$1" >> "$dir/calls"
case \$1 in ping) [ -e "$dir/up" ];; *) [ ! -e "$dir/refuse" ];; esac
END
chmod +x "$dir/bin/scontrol"
publish() { mkdir "$dir/etc/..$1"; echo "A=$1" > "$dir/etc/..$1/slurm.conf"; ln -sfn "..$1" "$dir/etc/..data"; }
)sh";

TEST_P(Scripts, ReconfiguresOncePerChange) {
  const Ran ran = RunScript(GetParam(), kReconfigureScript, std::string(kConfig) + R"sh(
start
until_true 'grep -q ping "$dir/calls" 2>/dev/null'
sleep 1; sleep 1; sleep 1
publish 2
until_true 'grep -q reconfigure "$dir/calls"'
sleep 1; sleep 1; sleep 1; sleep 1; sleep 1
kill -TERM $pid; wait $pid; echo "ended with $?"
cat "$dir/calls"
)sh");
  EXPECT_EQ(ran.output, "ended with 0\nping\nreconfigure\n");
}

TEST_P(Scripts, TriesUntilSlurmctldAccepts) {
  const Ran ran = RunScript(GetParam(), kReconfigureScript, std::string(kConfig) + R"sh(
touch "$dir/refuse"
start
until_true 'grep -q ping "$dir/calls" 2>/dev/null'
sleep 1; sleep 1; sleep 1
publish 2
until_true '[ "$(grep -c reconfigure "$dir/calls")" -ge 3 ]'
rm "$dir/refuse"
until_true 'grep -q "was told" "$dir/out"'
kill -TERM $pid; wait $pid; echo "ended with $?"
)sh");
  EXPECT_EQ(ran.output, "ended with 0\n");
}

TEST_P(Scripts, RestartedSidecarMakesUpForWhatItMissed) {
  const Ran ran = RunScript(GetParam(), kReconfigureScript, std::string(kConfig) + R"sh(
touch "$dir/up"
start
until_true 'grep -q "was told" "$dir/out"'
kill -TERM $pid; wait $pid
cat "$dir/calls"
)sh");
  EXPECT_EQ(ran.output, "ping\nreconfigure\n");
}

// A worker that stops while scontrol shows `reason`: the calls that changed something.
std::string StopWith(const std::string& shell, const std::string& reason, const std::string& setting = "",
                     const std::string& state = "IDLE") {
  const std::string shown = reason.empty() ? "" : "   Reason=" + reason + " [root@2026-11-21T08:00:00]\\n";
  return RunScript(shell, kWorkerStopScript,
                   R"sh(
printf '#!/bin/sh\necho w-1\n' > "$dir/bin/hostname"
cat > "$dir/bin/scontrol" <<'END'
#!/bin/sh
case $1 in
  show) printf 'NodeName=w-1 Arch=x86_64\n   State=)sh" +
                       state + R"sh( ThreadsPerCore=1\n   Comment=Reason=none\n)sh" + shown + R"sh(\n' ;;
  *) echo "$*" ;;
esac
END
chmod +x "$dir/bin/scontrol" "$dir/bin/hostname"
)sh" + setting + R"sh(
start; wait $pid; cat "$dir/out"
)sh")
      .output;
}

// A person's drain had lost its reason to the hook, and with it the sign that it was a person's.
TEST_P(Scripts, AStoppingWorkerKeepsWhatAPersonSaid) {
  const std::string down = "update nodename=w-1 state=down reason=slurm-operator: Pod is terminating\n";
  EXPECT_EQ(StopWith(GetParam(), ""), down);
  EXPECT_EQ(StopWith(GetParam(), "slurm-operator: Pod (slurm/w-1) is pending termination for scale-in"), down);
  EXPECT_EQ(StopWith(GetParam(), "Not responding"), down);
  EXPECT_EQ(StopWith(GetParam(), "Node unexpectedly rebooted"), down);
  EXPECT_EQ(StopWith(GetParam(), "bad disk"), "");
  EXPECT_EQ(StopWith(GetParam(), "", "export POD_HOSTNAME=k0"),
            "update nodename=k0 state=down reason=slurm-operator: Pod is terminating\n")
      << "with the machine's network the host name is not the worker's";
}

// Slurm has given its node to a job that waits for another slurmd of that name: DOWN would end that.
TEST_P(Scripts, AStoppingWorkerLeavesANodeAloneThatSlurmPowersDownOrUp) {
  for (const char* state : {"IDLE+CLOUD+POWERED_DOWN", "IDLE+CLOUD+POWERING_DOWN", "ALLOCATED+CLOUD+POWERING_UP"})
    EXPECT_EQ(StopWith(GetParam(), "", "", state), "") << state;
  EXPECT_NE(StopWith(GetParam(), "", "", "IDLE+CLOUD+POWER_DOWN"), "") << "that is a wish, for when its jobs are over";
}

// It left a set of keys behind, and sackd had none.
TEST_P(Scripts, InitconfTakesConfigurationAndKeys) {
  const Ran ran = RunScript(GetParam(), kInitconfScript, R"sh(
mkdir "$dir/slurm"
for file in slurm.conf slurmdbd.conf slurm.key slurm.jwks notes.txt; do echo "$file" > "$dir/slurm/$file"; done
SLURM_USER=$(id -un); export SLURM_USER
SCRIPT=$(printf '%s\n' "$SCRIPT" | sed "s#/mnt#$dir#g")
printf '#!/bin/sh\n' > "$dir/bin/chown"; chmod +x "$dir/bin/chown"
start; wait $pid; echo "ended with $?"
cd "$dir/etc/slurm" && stat -c '%a %n' * && cat slurm.jwks
)sh");
  EXPECT_EQ(ran.output, "ended with 0\n644 slurm.conf\n600 slurm.jwks\n600 slurm.key\n600 slurmdbd.conf\nslurm.jwks\n");
}

INSTANTIATE_TEST_SUITE_P(Shells, Scripts, ::testing::Values("sh", "dash", "bash"),
                         [](const auto& info) { return std::string(info.param); });

// Kubernetes takes $(NAME) in a command for a variable when one of that name exists, and $$ for an escaped $.
TEST(ScriptTexts, HoldNothingThatKubernetesWouldExpand) {
  const std::string logfile = LogfileScript("600");
  for (const std::string_view script :
       {std::string_view(logfile), kReconfigureScript, kWorkerStopScript, kInitconfScript}) {
    EXPECT_EQ(script.find("$$"), script.npos);
    for (const std::string_view variable : {"SOCKET", "SLURM_CONF_DIR"}) {
      EXPECT_EQ(script.find("$(" + std::string(variable) + ")"), script.npos);
    }
  }
}

}  // namespace
}  // namespace capstan::op::render
