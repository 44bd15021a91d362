"""A Slurm cluster that is one object: jobs on all its workers, a login, its history; stopped and run again, drained as it goes."""
import re

import lab as labs
import pytest
from one_object import EXAMPLE, HOSTS, Cluster


@pytest.fixture(scope="module")
def cluster(bare):
    bare.install_operator()
    one = Cluster(bare)
    one.apply()
    yield one
    bare.kubectl("delete", "slurmcluster", "main", "--ignore-not-found", timeout=120)
    bare.wait_for("its NodeSets are gone", lambda: not bare.items("nodesets"), within=120)


def test_it_becomes_ready_and_runs_jobs_on_all_its_workers(cluster):
    cluster.becomes("Ready", within=240)
    assert sorted(cluster.on_controller("srun", "-N3", "-D", "/tmp", "hostname").split()) == HOSTS
    job = cluster.submit("--wrap", "hostname")
    cluster.lab.wait_for("the job is in the history", lambda: cluster.state(job) == "COMPLETED", within=60)
    status = cluster.status()
    assert status["nodes"]["ready"] == status["nodes"]["desired"] == 3 and status["logins"] == {"desired": 1, "ready": 1}
    assert all(part["ready"] for part in status["parts"]) and len(status["parts"]) == 5
    header, line = cluster.lab.kubectl("get", "slurmclusters").splitlines()
    assert re.split(r"\s+", line)[:2] == ["main", "Ready"], header


def test_root_logs_in_with_the_key_and_submits(cluster):
    cluster.lab.wait_for("root can log in", lambda: cluster.ssh("true").returncode == 0, within=60)
    assert sorted(cluster.ssh("srun -N3 -D /tmp hostname").stdout.split()) == HOSTS


@pytest.mark.long
def test_a_job_changes_no_part_but_the_nodeset(cluster):
    cluster.becomes("Ready")
    def parts():
        return [(item["kind"], item["metadata"]["name"], item["metadata"]["resourceVersion"])
                for kind in ("controllers", "restapis", "accountings", "loginsets") for item in cluster.lab.items(kind)]

    before = parts()
    job = cluster.submit("--wrap", "sleep 15")
    cluster.lab.wait_for("the job is over", lambda: cluster.state(job) == "COMPLETED", within=60)
    assert parts() == before


@pytest.mark.long
def test_in_maintenance_a_job_runs_on_and_none_starts_also_on_a_later_worker(cluster):
    def has_workers(count):
        cluster.lab.wait_for(f"{count} workers are there", lambda: cluster.status()["nodes"]["ready"] == count, within=120)

    fewer = {"nodeSets": [EXAMPLE["spec"]["nodeSets"][0] | {"replicas": 2}]}
    cluster.apply(**fewer)
    cluster.lab.wait_for("one worker less", lambda: cluster.status()["nodes"]["desired"] == 2, within=60)
    has_workers(2)
    cluster.becomes("Ready")
    running = cluster.submit("-w", "cpu-0", "--wrap", "sleep 30")
    cluster.lab.wait_for("it runs", lambda: cluster.queued(running) == "RUNNING", within=60)
    cluster.apply(mode="Maintenance", **fewer)
    cluster.becomes("Maintenance")
    waiting = cluster.submit("-N1", "--wrap", "hostname")
    cluster.apply(mode="Maintenance")
    has_workers(3)
    cluster.lab.wait_for("the job that ran has ended", lambda: cluster.state(running) == "COMPLETED", within=60)
    assert cluster.queued(waiting) == "PENDING"
    by_root = cluster.on_controller("srun", "-N3", "-D", "/tmp", "--reservation=capstan-main", "hostname")
    assert sorted(by_root.split()) == HOSTS
    cluster.apply()
    cluster.becomes("Ready")
    cluster.lab.wait_for("the job that waited has run", lambda: cluster.state(waiting) == "COMPLETED", within=60)
    assert "No reservations" in cluster.on_controller("scontrol", "show", "reservation")


@pytest.mark.long
def test_stopped_a_job_ends_first_and_the_queue_stays(cluster):
    cluster.becomes("Ready")
    running = cluster.submit("-N3", "--wrap", "sleep 40")
    cluster.lab.wait_for("it runs", lambda: cluster.queued(running) == "RUNNING", within=60)
    waiting = cluster.submit("-N3", "--wrap", "hostname")
    cluster.apply(mode="Stopped")
    cluster.becomes("Stopped", within=240)
    assert cluster.state(running) == "COMPLETED"
    assert not cluster.lab.items("pods", "-l", "app.kubernetes.io/component in (worker,login)")
    assert cluster.on_controller("squeue", "-h", "-o", "%i %T") == f"{waiting} PENDING"
    cluster.apply()
    cluster.becomes("Ready", within=240)
    cluster.lab.wait_for("the job that waited has run", lambda: cluster.state(waiting) == "COMPLETED", within=60)


@pytest.mark.long
def test_two_logins_are_reached_at_each_nodes_port_and_have_one_host_key(cluster):
    lab = cluster.lab
    cluster.apply(login={"replicas": 2})
    lab.wait_for("both are ready", lambda: cluster.status()["logins"] == {"desired": 2, "ready": 2}, within=120)
    port = lab.get("services", "main-login")["spec"]["ports"][0]["nodePort"]
    addresses = [address["address"] for node in labs.items("nodes") for address in node["status"]["addresses"]
                 if address["type"] == "InternalIP"]
    known = cluster.key.with_name("known_hosts")
    known.unlink(missing_ok=True)
    sessions = [cluster.ssh("hostname", address=addresses[number % 3], port=port, known=known) for number in range(21)]
    assert not [session.stderr for session in sessions if session.returncode != 0]
    pods = {pod["metadata"]["name"] for pod in lab.items("pods", "-l", "app.kubernetes.io/component=login")}
    assert {session.stdout.strip() for session in sessions} == pods and len(pods) == 2
    assert len({line.split(maxsplit=1)[1] for line in known.read_text().splitlines()}) == 1, "whichever of them one is connected to"
    cluster.apply(login={"replicas": 1})
    lab.wait_for("one goes", lambda: len(lab.items("pods", "-l", "app.kubernetes.io/component=login")) == 1, within=60)


@pytest.mark.long
def test_orphaned_its_parts_go_on_alone_and_are_taken_back(cluster):
    lab = cluster.lab
    cluster.becomes("Ready")
    parts = (("controllers", "main"), ("restapis", "main"), ("accountings", "main"), ("loginsets.slinky.slurm.net", "main-login"),
             ("nodesets.slinky.slurm.net", "main-worker-cpu"), ("configmaps", "main-files"))

    def owners():
        return [[owner["kind"] for owner in lab.get(kind, name)["metadata"].get("ownerReferences", [])] for kind, name in parts]

    def pods(component):
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in lab.items("pods", "-l", f"app.kubernetes.io/component={component}")}

    kept = {component: pods(component) for component in ("worker", "controller")}
    running = cluster.submit("-w", "cpu-0", "--wrap", "until [ -e /tmp/go ]; do sleep 0.2; done")
    lab.wait_for("it runs", lambda: cluster.queued(running) == "RUNNING", within=60)
    lab.kubectl("delete", "slurmcluster", "main", "--cascade=orphan", timeout=60)
    lab.wait_for("they have no owner", lambda: not any(owners()), within=60)
    meanwhile = cluster.submit("--wrap", "hostname")
    lab.wait_for("a job runs", lambda: cluster.state(meanwhile) == "COMPLETED", within=60)
    former, = pods("login")
    lab.kubectl("delete", "pod", former, "--wait=false")
    lab.wait_for("there is another login", lambda: set(pods("login")) and former not in pods("login") and cluster.ssh("true").returncode == 0, within=120)
    cluster.apply()
    lab.wait_for("it says whose they are", lambda: "NameConflict" in str(cluster.status().get("conditions")), within=60)
    for kind, name in parts:
        lab.kubectl("label", kind, name, "capstan.dev/adopt=main")
    cluster.becomes("Ready")
    assert owners() == [["SlurmCluster"]] * len(parts)
    assert {component: pods(component) for component in kept} == kept and cluster.queued(running) == "RUNNING"
    worker = next(pod["metadata"]["name"] for pod in lab.items("pods", "-l", "app.kubernetes.io/component=worker") if pod["spec"]["hostname"] == "cpu-0")
    lab.kubectl("exec", worker, "-c", "slurmd", "--", "touch", "/tmp/go")
    lab.wait_for("the job has run", lambda: cluster.state(running) == "COMPLETED", within=60)


@pytest.mark.long
def test_deleted_with_a_drain_jobs_end_first_and_volumes_stay(cluster):
    cluster.apply(deletionPolicy="Drain")
    cluster.becomes("Ready")
    lab = cluster.lab
    lab.wait_for("it is held", lambda: lab.get("slurmclusters", "main")["metadata"].get("finalizers"), within=30)
    job = cluster.submit("--wrap", "sleep 30")
    lab.wait_for("it runs", lambda: cluster.queued(job) == "RUNNING", within=60)
    lab.kubectl("delete", "slurmcluster", "main", "--wait=false")
    lab.wait_for("the job ends by itself", lambda: cluster.state(job) == "COMPLETED", within=120)
    lab.wait_for("all of it is gone", lambda: not lab.get("slurmclusters", "main") and not lab.items("pods"), within=240)
    claims = {item["metadata"]["name"] for item in lab.items("persistentvolumeclaims")}
    assert any(name.startswith("statesave") for name in claims), claims
