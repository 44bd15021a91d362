"""What slurmctld makes of a NodeSet that is called as one of its nodes: why the operator never writes one, and makes no such worker."""
import pytest
from run_slurm_test import inside

pytestmark = pytest.mark.long

# Each `say` prints the state of node w-1, or what was answered instead of it.
STORY = r"""
answers() { for _ in $(seq ${1:-100}); do $SLURM_EXEC scontrol ping | grep -q 'is UP' && return; sleep 0.2; done; false; }
say() { echo "$1: $($SLURM_EXEC scontrol -o show node w-1 2>&1 | sed -n 's/.* State=\([^ ]*\) .*/\1/p; s/.*not found.*/none/p; s/.*connect failure.*/away/p')"; }
$SLURM_CONTROL stop w-1; $SLURM_EXEC scontrol update nodename=w-1 state=down reason=test; $SLURM_EXEC scontrol delete nodename=w-1
cp $SLURM_CONF_FILE $SLURM_SHARED/before
printf 'NodeSet=w-1 Feature=w-1\nPartitionName=w-1 Nodes=w-1\n' >> $SLURM_CONF_FILE
$SLURM_EXEC scontrol reconfigure; answers && say named
$SLURM_EXEC_ON w-1 timeout 5 slurmd -D -Z --conf-server ctl:6817 > /dev/null 2>&1 || say registers
$SLURM_EXEC scontrol create nodename=w-1 State=CLOUD CPUs=1 RealMemory=100 2>&1 | sed -n 's/^/made: /p'
cp $SLURM_CONF_FILE $SLURM_SHARED/named; cp $SLURM_SHARED/before $SLURM_CONF_FILE
$SLURM_EXEC scontrol reconfigure; answers; $SLURM_CONTROL start w-1
for _ in $(seq 100); do $SLURM_EXEC scontrol show node w-1 2>/dev/null | grep -q IDLE && break; sleep 0.2; done; say there
cp $SLURM_SHARED/named $SLURM_CONF_FILE
$SLURM_EXEC scontrol reconfigure || true; answers 10 || say reconfigured
$SLURM_CONTROL restart slurmctld || true; answers 10 || say restarted
cp $SLURM_SHARED/before $SLURM_CONF_FILE
$SLURM_CONTROL restart slurmctld; answers && say again
"""


def test_no_nodeset_is_called_as_a_node():
    said = dict(line.split(": ", 1) for line in inside(STORY).splitlines() if ": " in line)
    assert said["named"] == said["registers"] == "none" and "Invalid node name" in said["made"]
    assert said["there"].startswith("IDLE")
    assert said["reconfigured"] == said["restarted"] == "away", "it has ended, and does not start"
    assert said["again"].startswith("IDLE"), "its records are as they were"
