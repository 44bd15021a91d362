"""A release of the chart slurm becomes one object while a job runs: no pod is replaced, and the job ends by itself."""
import json

import pytest

import lab as labs

pytestmark = pytest.mark.long

PARTS = {"controllers": "slurm", "restapis": "slurm", "nodesets": labs.NODESET}


def one_object(namespace):
    """What the values of the release say."""
    conf = {"ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none", "JobAcctGatherType": "jobacct_gather/none"}
    return {"apiVersion": "capstan.dev/v1alpha1", "kind": "SlurmCluster", "metadata": {"name": "slurm"}, "spec": {
        "clusterName": f"{namespace}_slurm",
        "config": {"slurmConf": conf},
        "controller": {"spec": {"configFileRefs": [{"name": "slurm-config-extra"}]}},
        "partitions": [{"name": "all", "config": "Default=YES MaxTime=UNLIMITED"}],
        "nodeSets": [{"name": "slinky"}]}}


@pytest.fixture
def release(lab):
    yield lab
    lab.kubectl("delete", "slurmcluster", "slurm", "--ignore-not-found", timeout=120)
    lab.wait_for("its parts are gone", lambda: not lab.items("nodesets"), within=120)


def test_a_release_that_runs_a_job_becomes_one_object(release):
    def pods():
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in release.items("pods")}

    def cluster():
        return release.get("slurmclusters", "slurm") or {}

    job = release.submit_open("slinky-0", "slinky-1", "slinky-2")
    release.wait_for_job(job, "RUNNING", within=60)
    before = pods()
    release.kubectl("apply", "-f", "-", text_in=json.dumps(one_object(release.namespace)))
    release.wait_for("it says whose the parts are", within=60,
                     condition=lambda: "NameConflict" in json.dumps(cluster().get("status", {}).get("conditions", [])))
    for kind, name in PARTS.items():
        release.kubectl("label", kind, name, "capstan.dev/adopt=slurm")
    release.wait_for("it is ready", lambda: cluster().get("status", {}).get("phase") == "Ready", within=120)
    release.kubectl("delete", "secrets", "-l", "owner=helm,name=slurm")
    assert "slurm" not in labs.helm("list", "-q", "-n", release.namespace).split()
    for kind, name in PARTS.items():
        owners = [owner["kind"] for owner in release.get(kind, name)["metadata"]["ownerReferences"]]
        assert owners == ["SlurmCluster"], (kind, name)
    assert release.get("nodesets", labs.NODESET)["spec"]["replicas"] == labs.WORKERS, "nobody has named another number"
    assert pods() == before, "no pod is replaced"
    release.still_runs(job)
    release.let_end(job, release.script_worker(job))
    release.wait_for_job(job, "COMPLETED", within=60)
    release.never_restarted(job)
    release.kubectl("scale", f"nodesets.slinky.slurm.net/{labs.NODESET}", "--replicas=2")
    release.wait_for("one worker less", lambda: len(release.worker_pods()) == 2, within=60)
