"""What slurmctld makes of nodes that register after it has read the files that name them."""
from run_slurm_test import inside

# A slurmctld without state, whose topology.conf names w-0 and w-1, and then both register. Each `say` prints the nodes of switch
# leaf, and those of partition some.
STORY = r"""
registered() { until [ "$($SLURM_EXEC sinfo -h -N -p all -t idle -o %N | sort -u | wc -l)" = "$1" ]; do sleep 0.2; done; }
answers() { until $SLURM_EXEC scontrol ping | grep -q 'is UP'; do sleep 0.2; done; }
leaf() { $SLURM_EXEC scontrol show topology | sed -n 's/.*SwitchName=leaf .*Nodes=//p'; }
read_again() { for _ in $(seq 100); do [ -z "$(leaf)" ] || break; sleep 0.1; done; registered 2; }
say() {
  echo "$1: $(leaf)," \
    "$($SLURM_EXEC scontrol -o show partition some 2>/dev/null | sed -n 's/.* Nodes=\([^ ]*\).*/\1/p')"
}
for one in w-0 w-1 slurmctld; do $SLURM_CONTROL stop $one; done
rm -rf $SLURM_ROOT/var/spool/slurmctld/*
echo TopologyPlugin=topology/tree >> $SLURM_CONF_FILE
echo 'SwitchName=leaf Nodes=w-[0-1]' > $SLURM_ROOT/etc/slurm/topology.conf
$SLURM_CONTROL start slurmctld; answers
$SLURM_CONTROL start w-0; $SLURM_CONTROL start w-1; registered 2
say late
$SLURM_EXEC srun -N2 true 2>&1 | sed -n 's/^srun: error: /refused: /p'
echo 'PartitionName=some Nodes=w-[0-1] State=UP' >> $SLURM_CONF_FILE
$SLURM_EXEC scontrol reconfigure; read_again
say reconfigured
$SLURM_EXEC srun -N2 true && echo ran
$SLURM_CONTROL stop w-0; $SLURM_CONTROL restart slurmctld; answers
say restarted
$SLURM_EXEC scontrol update nodename=w-0 state=down reason=gone; $SLURM_EXEC scontrol delete nodename=w-0
$SLURM_CONTROL start w-0; registered 2
say again
"""


def test_a_node_that_registers_later_is_in_no_switch_and_no_partition_until_a_reconfigure():
    said = dict(line.split(": ", 1) for line in inside(STORY).splitlines() if ": " in line and line.split(":")[0].isalpha())
    assert said["late"] == ", "
    assert "node configuration is not available" in said["refused"]
    assert said["reconfigured"] == "w-[0-1], w-[0-1]"
    assert said["restarted"] == "w-[0-1], w-[0-1]", "records outlive slurmctld"
    assert said["again"] == "w-1, w-1", "a new record is a new node"
