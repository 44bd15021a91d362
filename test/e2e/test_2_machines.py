"""Machines go: drained as for any workload, silent for a while, or lost for good."""
import subprocess

import pytest

import lab as labs

pytestmark = pytest.mark.long
NODES = 2


@pytest.fixture(autouse=True)
def in_service(lab):
    yield
    for node in lab.nodes:
        labs.kubectl("uncordon", node)
    lab.wait_for_idle(3, within=150)


def worker_on(lab, node):
    """The ordinal of the worker there."""
    return next(int(name[-1]) for name, pod in lab.worker_pods().items() if pod["spec"].get("nodeName") == node)


def is_ready(node):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in labs.get("node", node)["status"]["conditions"])


def test_kubectl_drain_waits_for_the_job(lab):
    node = lab.nodes[0]
    busy = worker_on(lab, node)
    job = lab.submit_open(f"slinky-{busy}")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.uid_of(busy)
    words = ("drain", node, "--delete-emptydir-data", "--ignore-daemonsets", "--timeout=180s")
    drain = subprocess.Popen([labs.ROOT / "build/tools/kubectl", "--kubeconfig", labs.KUBECONFIG, *words], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        lab.wait_for("Slurm begins no job there", lambda: lab.records()[f"slinky-{busy}"][0] == "draining", within=60)
        with pytest.raises(subprocess.TimeoutExpired):
            drain.wait(timeout=12)  # it asks every five seconds
        lab.still_runs(job, busy, uid)
        lab.let_end(job, f"{labs.NODESET}-{busy}")
        lab.wait_for_job(job, "COMPLETED", within=60)
        assert drain.wait(timeout=90) == 0, drain.stdout.read()
    finally:
        drain.kill()
    lab.wait_for("the worker has gone from there", lambda: all(
        pod["spec"].get("nodeName") != node for pod in lab.worker_pods().values()), within=60)
    lab.never_restarted(job)


def test_a_kubelet_that_dies_and_comes_back_costs_no_job(lab):
    node = lab.nodes[0]
    busy = worker_on(lab, node)
    job = lab.submit_open(f"slinky-{busy}")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.uid_of(busy)
    labs.run("dev/cluster", "kill-kubelet", node)
    try:
        lab.wait_for("the node is not ready", lambda: not is_ready(node), within=90)
        lab.still_runs(job, busy, uid)
    finally:
        labs.run("dev/cluster", "start-kubelet", node)  # before Kubernetes deletes what is there, in half a minute
    lab.wait_for("the node is ready", lambda: is_ready(node), within=60)
    lab.wait_for("so is the worker", lambda: f"{labs.NODESET}-{busy}" in lab.ready_workers(), within=60)
    lab.still_runs(job, busy, uid)
    lab.let_end(job, f"{labs.NODESET}-{busy}")
    lab.wait_for_job(job, "COMPLETED", within=60)
    lab.never_restarted(job)


def test_the_job_of_a_machine_that_is_lost_for_good_runs_elsewhere(lab):
    node = lab.nodes[1]
    lost = worker_on(lab, node)
    others = ",".join(f"slinky-{i}" for i in range(3) if i != lost)
    # Not by -w: the job may run anywhere, and begins there.
    lab.in_controller_result("scontrol", "update", f"nodename={others}", "state=drain", "reason=for a moment")
    job = lab.submit("--requeue", "--wrap", "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")
    lab.wait_for_job(job, "RUNNING", within=60)
    assert lab.job_fields(job)["NodeList"] == f"slinky-{lost}"
    lab.in_controller_result("scontrol", "update", f"nodename={others}", "state=resume")
    labs.run("dev/cluster", "kill-node", node)
    try:
        labs.kubectl("delete", "node", node)
        # slurmctld notices the silence with its second ping, after 200 s; a minute later it is told, and the job waits for two.
        lab.wait_for("the job runs elsewhere", lambda: (lambda fields: fields.get("JobState") == "RUNNING" and fields.get("Restarts") == "1"
                                                        and fields["NodeList"] != f"slinky-{lost}")(lab.job_fields(job)), within=600)
        told = {event["reason"] for event in lab.items("events.events.k8s.io")}
        assert "SlurmNodeDown" in told, "Slurm noticed by itself, after five minutes"
        where = lab.job_fields(job)["NodeList"]
        lab.let_end(job, f"{labs.NODESET}-{where[-1]}")
        lab.wait_for_job(job, "COMPLETED", within=60)
    finally:
        labs.run("dev/cluster", "node", "add", node, timeout=180)


def test_a_drain_stays_although_its_machine_is_deleted(lab):
    """For half a minute Slurm began jobs on a machine that was not there."""
    node = lab.nodes[0]
    ordinal = worker_on(lab, node)
    name, uid = f"slinky-{ordinal}", lab.uid_of(ordinal)
    labs.kubectl("cordon", node)
    lab.wait_for("the worker is drained", lambda: lab.records()[name][0] == "drained", within=60)
    labs.run("dev/cluster", "kill-node", node)
    seen = set()
    try:
        labs.kubectl("delete", "node", node)

        def collected():
            seen.add((lab.records() or {}).get(name, ("gone",))[0])
            return lab.uid_of(ordinal) != uid
        lab.wait_for("Kubernetes has collected its pod", collected, within=120, every=0.2)
        assert not {state for state in seen if state.startswith(("idle", "mixed", "alloc"))}, seen
    finally:
        labs.run("dev/cluster", "node", "add", node, timeout=180)
