"""A Slurm cluster that is one object: jobs on all its workers, a login, its history; stopped and run again, drained as it goes."""
import re

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
