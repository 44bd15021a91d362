"""The machine of a bridged pod is lost: nobody takes its job for over before somebody says that the machine is off."""
import json

import pytest

import lab as labs

pytestmark = [pytest.mark.alone, pytest.mark.long]  # a bridge looks after pods of all namespaces that ask for it by name
NODES = 1  # a machine without a slurmd of its own in Slurm, beside its worker
BRIDGED = "e2e-bridge-lost-pods"
OFF = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"


@pytest.fixture(scope="module")
def bridge(lab):
    lab.install_bridge(BRIDGED)
    yield lab
    lab.remove_bridge(BRIDGED)


def pods():
    return labs.items("-n", BRIDGED, "pods")


def told(pod):
    return next((one["reason"] for one in pod["status"].get("conditions", []) if one["type"] == "capstan.dev/SlurmJob"), "")


def deployment():
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "lost"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": "lost"}}, "template": {
            "metadata": {"labels": {"app": "lost"}, "annotations": {"slurmjob.slinky.slurm.net/constraints": "outside"}},
            "spec": {"terminationGracePeriodSeconds": 1, "tolerations": [{"key": "capstan.dev/added", "operator": "Exists"}], "containers": [{
                "name": "c", "image": f"{labs.IMAGES}/slurmd:26.05", "command": ["sleep", "3600"],
                "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}}}]}}}}


def test_its_job_stays_until_somebody_says_that_the_machine_is_off(bridge):
    lab, machine = bridge, bridge.nodes[0]

    def record():
        return lab.in_controller_result("scontrol", "show", "node", "outside").stdout

    labs.kubectl("annotate", "node", machine, "scheduler.slinky.slurm.net/external-node-partitions=outside")
    labs.kubectl("label", "node", machine, "scheduler.slinky.slurm.net/external-node=true", "slinky.slurm.net/slurm-nodename=outside")
    lab.wait_for("Slurm knows it", lambda: "capstan-bridge" in record(), within=60)
    labs.kubectl("-n", BRIDGED, "apply", "-f", "-", text_in=json.dumps(deployment()))
    pod = lab.wait_for("the pod runs", lambda: next((one for one in pods() if one["status"]["phase"] == "Running"), None), within=120)
    assert pod["spec"]["nodeName"] == machine
    number = pod["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"]

    def now():
        """The pod, as long as it is there."""
        return next((one for one in pods() if one["metadata"]["uid"] == pod["metadata"]["uid"]), None)

    labs.run("dev/cluster", "kill-node", machine)
    try:
        lab.wait_for("Kubernetes gives the pod up", lambda: (now() or pod)["metadata"].get("deletionTimestamp"), within=180)
        lab.wait_for("the pod says what helps", lambda: told(now() or pod) == "NodeLost", within=120)
        assert lab.job_state(number) == "RUNNING", "nobody knows that the pod has ended"
        assert "slurm-bridge: not ready" in record() and "CPUAlloc=0" not in record()
        labs.kubectl("taint", "node", machine, OFF)
        lab.wait_for("the pod has gone", lambda: now() is None, within=120)
        lab.wait_for("so has its job", lambda: lab.job_state(number) == "CANCELLED", within=60)
        lab.wait_for("nothing is booked there", lambda: "CPUAlloc=0" in record(), within=30)
        waits = lab.wait_for("its successor has said why it waits", lambda: next(
            (one for one in pods() if told(one) == "Pending"), None), within=60)
        assert waits["spec"]["schedulingGates"]
    finally:
        labs.kubectl("-n", BRIDGED, "delete", "deployment", "lost", "--wait=false")
        labs.kubectl("delete", "node", machine)
        labs.run("dev/cluster", "node", "add", machine, "build/images/slurmd.tar", timeout=420)
    lab.wait_for("its record goes with the machine", lambda: "capstan-bridge" not in record(), within=180)
    lab.wait_for_idle(3, within=180)
