"""Two slurmctld on one volume, and the machine of the one in charge is lost, or cut off."""
import pytest

import lab as labs
from standby import apart, both_stand, charged, in_charge, lost, pod, state, takes_a_job

pytestmark = pytest.mark.long
NODES = 2  # of both slurmctld, and not of the worker


@pytest.fixture(scope="module")
def pair(bare):
    with apart(bare, bare.nodes) as lab:
        yield lab


def test_a_lost_machine_is_taken_over_from(pair):
    with lost(pair):
        takes_a_job(pair)
        pair.wait_for("the Service leads to the other", lambda: charged(pair, 1), within=60)
        pair.wait_for("the job runs on", lambda: state(pair) == "RUNNING", within=60)


def test_one_that_is_cut_off_and_writes_stays_in_charge(pair):
    node = pair.get("pod", pod(0))["spec"]["nodeName"]
    labs.run("dev/cluster", "exec", "fabric", "ip", "link", "set", node, "down")
    try:
        pair.wait_for("it is said", lambda: pair.condition("controllers", "slurm", "Degraded")["reason"] == "CutOff", within=90)
        told = in_charge(pair)
        assert told["status"] == "False" and told["message"].startswith(f"slurmctld of pod {pod(0)} cannot be reached")
        log = pair.kubectl("logs", pod(1), "-c", "logfile")
        assert "taking over" not in log.rsplit("running in background mode", 1)[-1]
    finally:
        labs.run("dev/cluster", "exec", "fabric", "ip", "link", "set", node, "up")
    both_stand(pair)
