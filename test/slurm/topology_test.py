"""What slurmctld makes of nodes that register after it has read the files that name them."""
import pytest
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

# A topology.yaml with the first switch alone; nodes name the others. Each `say` prints the switches of w-0 and w-1, from leaf to root, and the job's state.
TREE = r"""
answers() { for _ in $(seq 100); do $SLURM_EXEC scontrol ping | grep -q 'is UP' && return; sleep 0.2; done; false; }
above() { $SLURM_EXEC scontrol -o show topology node=$1 2>/dev/null | sort -t= -k3n | sed -n 's/.*SwitchName=\([^ ]*\) .*/\1/p' | tr '\n' '<'; }
say() { echo "$1: $(above w-0) $(above w-1) $($SLURM_EXEC squeue -h -o %T)"; }
place() { $SLURM_EXEC scontrol update nodename=$1 topology=$2; }
tree() { printf -- '- topology: %s\n  cluster_default: true\n  tree:\n    switches:\n      - switch: %s\n' $1 $2 > $SLURM_ROOT/etc/slurm/topology.yaml; }
read_again() { $SLURM_EXEC scontrol reconfigure; sleep 1; answers; }
two() { $SLURM_EXEC timeout 20 srun -N2 true && echo "$1: ran"; }
refused() { sed -n "s/.*error: /$1: /p"; }
place w-0 default:root/:s1/:s1/l1; echo 'flat: taken'
place w-1 racks:rack1 2>&1 | refused foreign
$SLURM_EXEC sbatch -w w-0 -D /tmp --wrap 'sleep 300' > /dev/null
until $SLURM_EXEC squeue -h -o %T | grep -q RUNNING; do sleep 0.2; done
tree default root/; read_again; say placed
$SLURM_EXEC srun -N2 true 2>&1 | refused without
place w-1 default:root/:unknown; say unknown
place w-1 default:root/:s2/:s2/l1; place w-0 default:root/:s1/:s1/l2; say moved
$SLURM_CONTROL restart slurmctld; answers; say restarted
place w-0 default:root/:s1; place w-1 default:root/:s1; say fewer
place w-0 default:root/:s1/:s1/r1/:s1/r1/l1; place w-1 default:root/:s1/:s1/l1; say more
$SLURM_EXEC scancel -u root; two below
place w-1 racks:rack1 2>&1 | refused other
rm $SLURM_ROOT/etc/slurm/topology.yaml; read_again; two gone
tree racks rack1; $SLURM_EXEC scontrol reconfigure > /dev/null 2>&1 || true
for _ in $(seq 50); do $SLURM_EXEC pgrep -x slurmctld > /dev/null || break; sleep 0.2; done
$SLURM_EXEC scontrol ping | grep -q 'is UP' || echo 'ends: away'
rm $SLURM_ROOT/etc/slurm/topology.yaml; $SLURM_CONTROL restart slurmctld; answers
place w-0 ''; place w-1 ''; two cleared; tree racks rack1; read_again; place w-0 racks:rack1; say another
"""


@pytest.mark.long
def test_below_a_first_switch_nodes_name_their_switches():
    said = dict(line.split(": ", 1) for line in inside(TREE, seconds=120).splitlines() if ": " in line and line.split(":")[0].isalpha())
    assert said["flat"] == "taken", "a slurmctld without topology.yaml takes every place of `default`"
    assert said["placed"] == "s1/l1<s1/<root/<  RUNNING", "also by a reconfigure, and jobs go on"
    assert said["unknown"] == "s1/l1<s1/<root/< unknown<root/< RUNNING"
    assert said["moved"] == said["restarted"] == "s1/l2<s1/<root/< s2/l1<s2/<root/< RUNNING", "a job goes on when its node is moved"
    assert said["fewer"] == "s1<root/< s1<root/< RUNNING"
    assert said["more"] == "s1/r1/l1<s1/r1/<s1/<root/< s1/l1<s1/<root/< RUNNING"
    assert [said[what] for what in ("below", "gone", "cleared")] == ["ran"] * 3
    assert all("not available" in said[what] for what in ("foreign", "other")), "a place of another topology"
    assert "not available" in said["without"], "a node without a place is given no job of several nodes"
    assert said["ends"] == "away", "slurmctld does not start while a node names another topology"
    assert said["another"].startswith("rack1<")
