"""Two slurmctld on one volume: what changes while both run, and what a killed one costs."""
import json

import pytest

from standby import both_stand, pod, running, takes_a_job

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pair(bare):
    with running(bare) as lab:
        yield lab


def test_a_changed_configuration_is_live_in_both(pair):
    before = {name: pair.get("pod", name)["metadata"]["uid"] for name in (pod(0), pod(1))}
    since = pair.condition("controllers", "slurm", "ConfigLive")["message"]
    pair.kubectl("patch", "controller", "slurm", "--type=merge", "-p", json.dumps({"spec": {
        "extraConf": pair.get("controllers", "slurm")["spec"]["extraConf"] + "\nKillWait=17\n"}}))
    asked = pair.get("controllers", "slurm")["metadata"]["generation"]

    def is_live():
        live = pair.condition("controllers", "slurm", "ConfigLive")
        # An earlier change, as of the NodeSet's coming, may become live meanwhile.
        return live["status"] == "True" and live["message"] != since and live["observedGeneration"] >= asked

    pair.wait_for("it is live", is_live, within=45)
    assert "KillWait                = 17 sec" in pair.in_worker("scontrol", "show", "config")
    assert {name: pair.get("pod", name)["metadata"]["uid"] for name in before} == before


def test_a_killed_pod_costs_seconds(pair):
    pair.kubectl("delete", "pod", pod(0), "--force", "--grace-period=0")
    takes_a_job(pair)
    both_stand(pair)
