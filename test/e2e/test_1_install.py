"""What a new user does first."""
import json
import subprocess

import pytest

import lab as labs

pytestmark = pytest.mark.long


def test_srun_answers_from_three_workers(shared):
    hosts = shared.in_worker("srun", "-N3", "hostname").split()
    assert sorted(hosts) == ["slinky-0", "slinky-1", "slinky-2"]


def test_workers_are_on_different_nodes(shared):
    nodes = {pod["spec"]["nodeName"] for pod in shared.worker_pods().values()}
    assert len(nodes) == 3


def test_a_batch_job_runs_and_its_output_can_be_read(shared):
    job = shared.submit("-w", "slinky-1", "--wrap", "echo greetings from $(hostname)")
    shared.wait_for_job(job, "COMPLETED", within=60)
    output = shared.in_worker("cat", f"/tmp/job-{job}", worker=f"{labs.NODESET}-1")
    assert output.strip() == "greetings from slinky-1"


def test_everything_says_that_it_is_ready(shared):
    for kind, name in (("controllers", "slurm"), ("restapis", "slurm"), ("nodesets", labs.NODESET)):
        shared.wait_for(f"{kind}/{name} is Ready", lambda k=kind, n=name: shared.condition(k, n, "Ready")["status"] == "True",
                        within=60)
        assert shared.condition(kind, name, "Degraded")["status"] == "False"


def test_the_operator_finds_slurmrestd_by_its_service_name(shared):
    """The image has no shell and no system below it; that names resolve in it is shown by the program itself."""
    pod, = labs.items("-n", shared.operator_namespace, "pods")
    assert pod["spec"]["containers"][0]["image"].startswith(f"{labs.IMAGES}/capstan:")
    service = shared.get("service", "slurm-restapi")

    def heard():
        lines = map(json.loads, labs.kubectl("-n", shared.operator_namespace, "logs", pod["metadata"]["name"]).splitlines())
        return [line["server"] for line in lines if line["msg"] == "slurm is heard"]

    servers = shared.wait_for("the operator says that it hears Slurm", heard, within=60)
    assert set(servers) == {f"http://slurm-restapi.{shared.namespace}.svc.cluster.local.:{service['spec']['ports'][0]['port']}"}


def test_a_deleted_worker_comes_back_idle(shared):
    name = f"{labs.NODESET}-1"
    before = shared.worker_pods()[name]["metadata"]["uid"]
    shared.kubectl("delete", "pod", name, "--wait=false")
    shared.wait_for("a new pod of the same name",
                    lambda: shared.worker_pods().get(name, {"metadata": {"uid": before}})["metadata"]["uid"] != before,
                    within=60)
    shared.wait_for_idle(3, within=60)


def test_a_fourth_worker_stays_pending_and_a_condition_says_why(shared):
    shared.scale(4)
    found = shared.wait_for("the condition names the pod and the scheduler's reason", lambda: (
        lambda c: c if c["status"] == "True" and f"{labs.NODESET}-3" in c["message"] and "anti-affinity" in c["message"]
        else None)(shared.condition("nodesets", labs.NODESET, "Degraded")), within=60)
    assert "0/" in found["message"]
    assert shared.worker_pods()[f"{labs.NODESET}-3"]["status"]["phase"] == "Pending"
    shared.scale(3)
    shared.wait_for("the fourth is gone", lambda: len(shared.worker_pods()) == 3, within=60)
    shared.wait_for("nothing is wrong any more",
                    lambda: shared.condition("nodesets", labs.NODESET, "Degraded")["status"] == "False", within=60)


def create(shared, kind, spec):
    shared.kubectl("create", "-f", "-", text_in=json.dumps({
        "apiVersion": "slinky.slurm.net/v1beta1", "kind": kind, "metadata": {"name": "later"}, "spec": spec}))


@pytest.mark.parametrize("kind, reason", [("Accounting", "KeyMissing"), ("LoginSet", "ReferenceMissing")])
def test_why_a_resource_is_not_ready_is_said(shared, kind, reason):
    key = {"name": "none", "key": "none"}
    create(shared, kind, {
        "Accounting": {"slurmKeyRef": key, "jwtKeyRef": key, "storageConfig": {"host": "db", "passwordKeyRef": key}},
        "LoginSet": {"controllerRef": {"name": "slurm"}, "sssdConfRef": key}}[kind])
    shared.wait_for("it says why", lambda: shared.condition(kind, "later", "Ready")["reason"] == reason, within=60)
    assert shared.condition(kind, "later", "Ready")["status"] == "False"
    shared.kubectl("delete", kind, "later", "--timeout=30s")


def test_a_token_is_issued(shared):
    """With what the chart allows the operator."""
    create(shared, "Token", {"jwtKeyRef": shared.get("controllers", "slurm")["spec"]["jwtKeyRef"], "username": "slurm"})
    shared.wait_for("it is issued", lambda: shared.condition("tokens", "later", "Ready")["status"] == "True", within=60)
    assert shared.get("secrets", "later-jwt-slurm")["metadata"]["ownerReferences"][0]["kind"] == "Token"
    shared.kubectl("delete", "tokens", "later", "--timeout=30s")


def test_only_the_clusters_processes_are_found_by_their_name(shared):
    """Tests kill and stop what they find; the machine may run a slurmrestd of its own."""
    other = subprocess.Popen(["slurmrestd", "600"], executable="/bin/sleep")
    try:
        found = shared.processes("slurmrestd")
        assert found and other.pid not in found
    finally:
        other.kill()
        other.wait()
