"""Slurm's power saving without a program of its own: what slurmctld makes of cloud nodes that come and go as pods do."""
import pytest
from run_slurm_test import inside

pytestmark = pytest.mark.long

CONF = ("SuspendTime=1000000000", "ResumeProgram=/bin/true", "SuspendProgram=/bin/true", "ResumeTimeout=25", "SuspendTimeout=5", "SuspendRate=0",
        "ResumeRate=0", "ReturnToService=0", "SuspendExcStates=DRAIN,FAIL")

# Each `say` prints the state of w-0, and the job's.
WORDS = r"""
state() { $SLURM_EXEC scontrol -o show node w-0 | sed -n 's/.* State=\([^ ]*\) .*/\1/p'; }
say() { echo "$1: $(state) $($SLURM_EXEC squeue -h -o %T)"; }
becomes() { for _ in $(seq 300); do state | grep -Eq "$1" && return; sleep 0.2; done; echo "never: $1, but $(state)"; }
job_is() { for _ in $(seq 300); do [ "$($SLURM_EXEC squeue -h -o %T)" = "$1" ] && return; sleep 0.2; done; echo "never: a job is $1"; }
begin() { boot=$(date +%s); again; }
again() {
  $SLURM_EXEC_ON w-0 env SLURMD_BOOT_TIME=$boot sh -c 'exec slurmd -b -D -Z --conf-server ctl:6817 --conf "CPUs=1 RealMemory=100 Features=workers"' \
    > $SLURM_SHARED/slurmd.log 2>&1 &
}
end() { pkill -x slurmd || true; while pgrep -x slurmd > /dev/null; do sleep 0.1; done; }
for one in w-0 w-1; do
  $SLURM_CONTROL stop $one
  $SLURM_EXEC scontrol update nodename=$one state=down reason=test; $SLURM_EXEC scontrol delete nodename=$one
done
CREATE="$SLURM_EXEC scontrol create nodename=w-0 State=CLOUD SuspendTime=5 CPUs=1 RealMemory=100 Features=workers"
"""

STORY = r"""
$CREATE
say made
$SLURM_EXEC sbatch -D /tmp --wrap 'sleep 15' > /dev/null; becomes POWERING_UP; say asked
$SLURM_CONTROL restart slurmctld; becomes POWERING_UP; say restarted
begin; becomes '^(ALLOCATED|MIXED)[^P]*$'; job_is RUNNING; say began
end; again; sleep 3; say crashed
$SLURM_EXEC scontrol reconfigure; job_is RUNNING; say reconfigured
becomes POWERING_DOWN; say idle
end; becomes POWERED_DOWN; say down
$SLURM_EXEC sbatch -D /tmp --wrap 'sleep 15' > /dev/null; becomes 'DOWN.*POWERED_DOWN'; say late
$SLURM_EXEC scontrol -o show node w-0 | grep -o 'Reason=[^[]*'
$SLURM_EXEC scontrol delete nodename=w-0 && echo deleted
$SLURM_EXEC scancel -u root
$CREATE
begin; becomes '^IDLE[^P]*$'; say came
becomes POWERING_DOWN; end; becomes 'IDLE.*POWERED_DOWN'
$SLURM_EXEC sbatch --no-requeue -D /tmp --wrap 'sleep 15' > /dev/null; becomes 'ALLOCATED.*POWERED_DOWN'; say given
begin; becomes '^DOWN|^(ALLOCATED|MIXED)[^P]*$'; say early; end
$SLURM_EXEC scontrol delete nodename=w-0; $CREATE
begin; becomes '^IDLE[^P]*$'
$SLURM_EXEC scontrol update nodename=w-0 state=drain reason=fan; sleep 20; say drained
end
"""


# What is done to a node that is powered down: by a drain, by a slurmd that nobody asked for, and by a drain or DOWN once a job has it.
DRAINS = r"""
drain() { $SLURM_EXEC scontrol update nodename=w-0 state=drain reason=goes; }
lose() { $SLURM_EXEC scontrol update nodename=w-0 state=down reason=lost; }
undrain() { $SLURM_EXEC scontrol update nodename=w-0 state=undrain; }
given() { id=$($SLURM_EXEC sbatch --parsable "$1" -D /tmp --wrap 'sleep 15'); becomes "$2"; ${4:-drain}; say $3; $SLURM_EXEC scontrol -o show job $id | grep -o 'JobState=[^ ]*' | sed "s/^/$3 job: /"; }
down() { begin; becomes '^IDLE[^P]*$'; becomes POWERING_DOWN; becomes POWERED_DOWN; end; }
$CREATE
begin; becomes '^IDLE[^P]*$'; becomes POWERING_DOWN; drain; say going; becomes POWERED_DOWN; say drained
$SLURM_EXEC scontrol reconfigure; sleep 3; say reconfigured; end
undrain; say lifted
drain; begin; becomes '^IDLE[^P]*$'; say registered; undrain; end
$SLURM_EXEC scontrol delete nodename=w-0; $CREATE
down; given --no-requeue 'ALLOCATED.*POWERED_DOWN' given
undrain; given --no-requeue POWERING_UP asked
$SLURM_EXEC scontrol delete nodename=w-0; $CREATE
down; given --requeue 'ALLOCATED.*POWERED_DOWN' queued; $SLURM_EXEC scancel $id
$SLURM_EXEC scontrol delete nodename=w-0; $CREATE
down; given --no-requeue 'ALLOCATED.*POWERED_DOWN' lost lose
"""


def told(story, seconds):
    options = [word for line in CONF for word in ("--conf", line)]
    said = dict(line.split(": ", 1) for line in inside(WORDS + story, *options, seconds=seconds).splitlines() if ": " in line)
    assert "never" not in said, said
    return said


def states_of(said):
    return {name: set(text.split()[0].split("+")) | set(text.split()[1:]) for name, text in said.items() if " " in text or "+" in text}


def test_a_cloud_node_is_what_its_states_say():
    states = states_of(told(STORY, seconds=180))
    assert states["made"] >= {"IDLE", "CLOUD", "DYNAMIC_NORM", "POWERED_DOWN"}
    assert states["asked"] >= {"POWERING_UP", "NOT_RESPONDING", "CONFIGURING"}
    assert "POWERING_UP" in states["restarted"], "it outlives slurmctld"
    assert "RUNNING" in states["crashed"], "a slurmd that was told when it was booted ends no job, though it is started anew"
    assert "RUNNING" in states["reconfigured"]
    assert states["idle"] >= {"IDLE", "POWERING_DOWN"} and states["down"] >= {"IDLE", "POWERED_DOWN"}
    assert states["late"] >= {"DOWN", "POWERED_DOWN", "PENDING"} and "NOT_RESPONDING" not in states["late"]
    assert states["came"] == {"IDLE", "CLOUD", "DYNAMIC_NORM"}, "a slurmd that nobody has asked for"
    assert states["given"] >= {"ALLOCATED", "POWERED_DOWN", "CONFIGURING"} and "POWERING_UP" not in states["given"], "a job has it, and nobody is asked yet"
    assert "DOWN" in states["early"] and "RUNNING" not in states["early"], "a slurmd that nobody has asked for yet ends the job"
    assert "DRAIN" in states["drained"] and not states["drained"] & {"POWERING_DOWN", "POWERED_DOWN"}, "what is drained stays"


# Why the operator does not drain what power saving has stopped before it deletes the pod (operator/nodeset/going.cc).
def test_a_drain_holds_what_is_powered_down_and_ends_the_job_that_waits_for_it():
    said = told(DRAINS, seconds=180)
    states = states_of(said)
    assert states["going"] >= {"DRAIN", "POWERING_DOWN"} and states["drained"] >= {"IDLE", "DRAIN", "POWERED_DOWN"}
    assert states["reconfigured"] == states["drained"], "its slurmd, which lives, does not register anew"
    assert states["lifted"] >= {"IDLE", "POWERED_DOWN"} and "DRAIN" not in states["lifted"]
    assert "DRAIN" in states["registered"] and "POWERED_DOWN" not in states["registered"], "a slurmd that nobody has asked for"
    for name in ("given", "asked"):
        assert "IDLE" in states[name] and said[name + " job"] == "JobState=NODE_FAIL"
    assert said["queued job"] == "JobState=PENDING"
    assert "DOWN" in states["lost"] and said["lost job"] == "JobState=NODE_FAIL"
