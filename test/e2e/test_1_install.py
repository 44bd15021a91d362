"""What a new user does first."""
import json
import subprocess

import lab


def test_srun_answers_from_three_workers(slurm):
    hosts = lab.in_worker("srun", "-N3", "hostname").split()
    assert sorted(hosts) == ["slinky-0", "slinky-1", "slinky-2"]


def test_workers_are_on_different_nodes(slurm):
    nodes = {pod["spec"]["nodeName"] for pod in lab.worker_pods().values()}
    assert len(nodes) == 3


def test_a_batch_job_runs_and_its_output_can_be_read(slurm):
    job = lab.submit("-w", "slinky-1", "--wrap", "echo greetings from $(hostname)")
    lab.wait_for_job(job, "COMPLETED", within=30)
    output = lab.in_worker("cat", f"/tmp/job-{job}", worker=f"{lab.NODESET}-1")
    assert output.strip() == "greetings from slinky-1"


def test_everything_says_that_it_is_ready(slurm):
    for kind, name in (("controllers", "slurm"), ("restapis", "slurm"), ("nodesets", lab.NODESET)):
        lab.wait_for(f"{kind}/{name} is Ready", lambda k=kind, n=name: lab.condition(k, n, "Ready")["status"] == "True",
                      within=30)
        assert lab.condition(kind, name, "Degraded")["status"] == "False"


def test_the_operator_finds_slurmrestd_by_its_service_name(slurm):
    """The image has no shell and no system below it; that names resolve in it is shown by the program itself."""
    pod, = lab.items("-n", lab.OPERATOR, "pods", "-l", "app.kubernetes.io/instance=slurm-operator")
    assert pod["spec"]["containers"][0]["image"].startswith(f"{lab.IMAGES}/capstan:")
    service = lab.get("-n", lab.SLURM, "service", "slurm-restapi")

    def heard():
        lines = map(json.loads, lab.kubectl("-n", lab.OPERATOR, "logs", pod["metadata"]["name"]).splitlines())
        return [line["server"] for line in lines if line["msg"] == "slurm is heard"]

    servers = lab.wait_for("the operator says that it hears Slurm", heard, within=30)
    assert set(servers) == {f"http://slurm-restapi.slurm:{service['spec']['ports'][0]['port']}"}


def test_a_deleted_worker_comes_back_idle(slurm):
    name = f"{lab.NODESET}-1"
    before = lab.worker_pods()[name]["metadata"]["uid"]
    lab.kubectl("-n", lab.SLURM, "delete", "pod", name, "--wait=false")
    lab.wait_for("a new pod of the same name",
                  lambda: lab.worker_pods().get(name, {"metadata": {"uid": before}})["metadata"]["uid"] != before,
                  within=60)
    lab.wait_for_idle(3, within=60)


def test_a_fourth_worker_stays_pending_and_a_condition_says_why(slurm):
    lab.scale(4)
    found = lab.wait_for("the condition names the pod and the scheduler's reason", lambda: (
        lambda c: c if c["status"] == "True" and f"{lab.NODESET}-3" in c["message"] and "anti-affinity" in c["message"]
        else None)(lab.condition("nodesets", lab.NODESET, "Degraded")), within=30)
    assert "0/" in found["message"]
    assert lab.worker_pods()[f"{lab.NODESET}-3"]["status"]["phase"] == "Pending"
    lab.scale(3)
    lab.wait_for("the fourth is gone", lambda: len(lab.worker_pods()) == 3, within=30)
    lab.wait_for("nothing is wrong any more",
                  lambda: lab.condition("nodesets", lab.NODESET, "Degraded")["status"] == "False", within=30)


def test_a_kind_that_is_not_managed_yet_says_so(slurm):
    """With what the chart allows the operator: its watches, and the writing of a status."""
    key = {"name": "none", "key": "none"}
    specs = {
        "Accounting": {"slurmKeyRef": key, "jwtKeyRef": key, "storageConfig": {"host": "db", "passwordKeyRef": key}},
        "LoginSet": {"controllerRef": {"name": "slurm"}, "sssdConfRef": key},
        "Token": {"jwtKeyRef": key, "username": "slurm"},
    }
    objects = [{"apiVersion": "slinky.slurm.net/v1beta1", "kind": kind, "metadata": {"name": "later", "namespace": lab.SLURM},
                "spec": spec} for kind, spec in specs.items()]
    lab.kubectl("create", "-f", "-", text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    for kind in specs:
        lab.wait_for(f"the {kind} says that it is not managed yet",
                     lambda k=kind: lab.condition(k, "later", "Ready")["reason"] == "NotManagedYet", within=30)
        assert lab.condition(kind, "later", "Ready")["status"] == "False"
        lab.kubectl("-n", lab.SLURM, "delete", kind, "later", "--timeout=30s")


def test_only_the_clusters_processes_are_found_by_their_name(slurm):
    """Tests kill and stop what they find; the machine may run a slurmrestd of its own."""
    other = subprocess.Popen(["slurmrestd", "600"], executable="/bin/sleep")
    try:
        found = lab.processes("slurmrestd")
        assert found and other.pid not in found
    finally:
        other.kill()
        other.wait()
