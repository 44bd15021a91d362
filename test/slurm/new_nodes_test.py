"""What slurmctld makes of nodes that are asked of it: why some words of a NodeSet on demand, and some names, are never sent."""
import pytest
from run_slurm_test import inside

pytestmark = pytest.mark.long

# Each `try` prints whether slurmctld has outlived it, and what was said.
STORY = r"""
answers() { for _ in $(seq $1); do $SLURM_EXEC timeout 5 scontrol ping 2>/dev/null | grep -q 'is UP' && return; sleep 0.2; done; false; }
try() {
  local said; said=$($SLURM_EXEC timeout 10 scontrol create nodename=$1 CPUs=1 RealMemory=100 ${@:3} 2>&1 || true)
  if answers 8; then echo "$2: lives $said"; else echo "$2: ends"; $SLURM_CONTROL restart slurmctld; answers 40; fi
}
for word in Port=0 NodeAddr=a,b NodeHostname=a,b BcastAddr=a,b; do try c-0 $word State=CLOUD SuspendTime=30 $word; done
try all all State=External
try DEFAULT DEFAULT State=External
try c-1 good State=CLOUD SuspendTime=30 Weight=2
"""


def test_some_words_and_names_end_slurmctld():
    said = dict(line.split(": ", 1) for line in inside(STORY, seconds=120).splitlines() if ": " in line)
    for word in ("Port=0", "NodeAddr=a,b", "NodeHostname=a,b", "BcastAddr=a,b", "all"):
        assert said[word] == "ends", word
    assert said["DEFAULT"].startswith("lives scontrol: error: Failed to parse") and said["good"] == "lives "
