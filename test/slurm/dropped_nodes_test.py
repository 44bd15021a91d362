"""Lines of slurm.conf with which slurmctld ends, or forgets nodes, though they are right by themselves: why the operator does not publish them."""
import pytest
from run_slurm_test import inside

pytestmark = pytest.mark.long

# Each `with` restarts slurmctld with some lines more, and prints whether it is there, and which nodes it has.
STORY = r"""
answers() { for _ in $(seq 40); do $SLURM_EXEC timeout 5 scontrol ping 2>/dev/null | grep -q 'is UP' && return; sleep 0.2; done; false; }
nodes() { $SLURM_EXEC sinfo -h -N -p all -o %N | sort -u | xargs; }
cp $SLURM_CONF_FILE $SLURM_SHARED/before
with() {
  cp $SLURM_SHARED/before $SLURM_CONF_FILE; printf "$2" >> $SLURM_CONF_FILE
  $SLURM_CONTROL restart slurmctld || true
  if answers; then echo "$1: has $(nodes)"; else echo "$1: ends"; fi
}
with named 'PartitionName=both Nodes=w-[0-1]\n'
$SLURM_CONTROL stop w-1; $SLURM_EXEC scontrol update nodename=w-1 state=down reason=test
with restarted ''
$SLURM_EXEC scontrol delete nodename=w-1
with gone 'PartitionName=both Nodes=w-[0-1]\n'
with 'in a set' 'NodeSet=pair Nodes=w-[0-1]\nPartitionName=both Nodes=pair\n'
with 'in a set that none names' 'NodeSet=pair Nodes=w-[0-1]\n'
$SLURM_CONTROL start w-1
for _ in $(seq 100); do nodes | grep -q w-1 && break; sleep 0.2; done
with again 'NodeSet=pair Nodes=w-[0-1]\nPartitionName=both Nodes=pair\n'
with fewer 'MaxNodeCount=1\n'
"""


def test_partitions_name_no_nodes_that_may_go_and_no_fewer_nodes_are_allowed():
    said = dict(line.split(": ", 1) for line in inside(STORY, seconds=180).splitlines() if ": " in line)
    assert said["named"] == said["restarted"] == "has w-0 w-1"
    assert said["gone"] == said["in a set"] == "ends", "the partition names a node that is gone"
    assert said["in a set that none names"] == "has w-0" and said["again"] == "has w-0 w-1"
    assert said["fewer"] != "has w-0 w-1", "it forgot one"
