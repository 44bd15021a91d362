"""DaemonSet mode: a worker on each Kubernetes node that fits, called after it."""
import json

import pytest

import lab as labs

pytestmark = pytest.mark.long

NODES = 2
GROUP = labs.NETWORK_OF_NODE1
TAINT = "capstan.dev/e2e-broken"
FEATURES = "features.slinky.slurm.net/spec"


def set_mode(lab, mode):
    lab.kubectl("patch", "nodeset", labs.NODESET, "--type=merge", "-p", json.dumps({"spec": {"scalingMode": mode}}))


def features(lab, node):
    shown = lab.in_controller_result("scontrol", "-o", "show", "node", node).stdout
    return next((word.split("=", 1)[1].split(",") for word in shown.split() if word.startswith("ActiveFeatures=")), [])


def test_workers_follow_their_nodes_and_lose_no_job_on_the_way(lab):
    node, other = lab.nodes
    machines = sorted([node, other, "node1"])
    busy = next(name for name, pod in lab.worker_pods().items() if pod["spec"]["nodeName"] == node)
    job = lab.submit_open(f"slinky-{busy[-1]}")
    lab.wait_for_job(job, "RUNNING", within=60)

    set_mode(lab, "DaemonSet")
    rest = sorted(set(machines) - {node})
    lab.wait_for("the other nodes have workers of their names, and the busy one is drained",
                 lambda: {name: state for name, (state, _) in (lab.records() or {}).items()} ==
                 {**{name: "idle" for name in rest}, f"slinky-{busy[-1]}": "draining"}, within=90)
    lab.still_runs(job)
    lab.let_end(job, busy)
    lab.wait_for_job(job, "COMPLETED", within=60)
    lab.wait_for("every node has its worker",
                 lambda: lab.records() == {name: ("idle", "none") for name in machines}, within=60)
    pods = {pod["spec"]["nodeName"]: pod for pod in lab.worker_pods().values()}
    assert sorted(pods) == machines
    assert pods[node]["metadata"]["labels"]["nodeset.slinky.slurm.net/scaling-mode"] == "DaemonSet"
    assert lab.get("nodesets", labs.NODESET)["status"]["desired"] == 3

    labs.kubectl("annotate", "node", node, f"{FEATURES}=e2e")
    lab.wait_for("what the node says is known to Slurm", lambda: "k8s/e2e" in features(lab, node), within=60)
    assert lab.in_worker("srun", "-C", "k8s/e2e", "printenv", "SLURMD_NODENAME").strip() == node

    labs.kubectl("taint", "node", other, f"{TAINT}=yes:NoExecute")
    lab.wait_for("the worker of a tainted node goes, and its record",
                 lambda: sorted(lab.records() or {}) == sorted({node, "node1"}), within=60)
    labs.kubectl("taint", "node", other, f"{TAINT}-")
    lab.wait_for("and comes back", lambda: lab.records() == {name: ("idle", "none") for name in machines}, within=60)
    conditions = {one["type"] for pod in lab.worker_pods().values() for one in pod["status"]["conditions"]}
    assert "SlurmNodeStateIdle" in conditions


def test_with_the_network_of_their_machines_they_are_called_the_same(lab):
    machines = sorted([*lab.nodes, "node1"])
    lab.kubectl("patch", "nodeset", labs.NODESET, "--type=merge", "-p", json.dumps({"spec": {
        "scalingMode": "DaemonSet", "updateStrategy": {"rollingUpdate": {"maxUnavailable": 3}}, "template": {"spec": {"hostNetwork": True}}}}))
    lab.wait_for("all have their machines' network", lambda: len(lab.worker_pods()) == 3 and all(
        pod["spec"].get("hostNetwork") for pod in lab.worker_pods().values()), within=90)
    lab.wait_for("and are in service", lambda: lab.records() == {name: ("idle", "none") for name in machines}, within=60)
    lab.wait_for("the NodeSet is ready", lambda: lab.condition("nodesets", labs.NODESET, "Ready")["status"] == "True", within=60)
    assert sorted(lab.in_worker("srun", "-N3", "printenv", "SLURMD_NODENAME").split()) == machines
    pods = {pod["spec"]["nodeName"]: pod["status"] for pod in lab.worker_pods().values()}
    shown = lab.in_controller_result("scontrol", "-o", "show", "node", machines[0]).stdout
    assert f"NodeAddr={pods[machines[0]]['hostIP']} " in shown, shown

    set_mode(lab, "StatefulSet")
    lab.wait_for("numbered ones, too", lambda: sorted(lab.worker_pods()) == [f"{labs.NODESET}-{i}" for i in range(3)], within=90)
    lab.wait_for("and all are in service", lambda: lab.records() == {name: ("idle", "none") for name in machines}, within=90)
    assert all(pod["spec"].get("hostNetwork") for pod in lab.worker_pods().values())

    # Everybody wants that, and it made other Slurm nodes of them, whose jobs nobody looked at.
    lab.kubectl("patch", "nodeset", labs.NODESET, "--type=merge", "-p", json.dumps({"spec": {"slurmd": {"args": ["-N", "other"]}}}))
    lab.wait_for("it is told", lambda: "-N is left out" in lab.condition("nodesets", labs.NODESET, "Degraded")["message"], within=30)
    lab.wait_for("workers are renewed with it", lambda: "-N" in json.dumps(lab.get("nodesets", labs.NODESET)["spec"]["slurmd"]) and all(
        "other" not in pod["spec"]["containers"][0]["args"] for pod in lab.worker_pods().values()), within=60)
    lab.wait_for("and are called as before", lambda: lab.records() == {name: ("idle", "none") for name in machines}, within=180)
