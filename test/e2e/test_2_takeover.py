"""A cluster that the Slinky projects' operator made goes over to ours, with a job across it."""
import sys

import pytest

import lab as labs

sys.path.insert(0, str(labs.ROOT / "test" / "kube"))

from takeover.former import OLD, Former  # noqa: E402

pytestmark = pytest.mark.long

IMAGES = dict(line.split() for line in labs.run("dev/images", "--references").splitlines())
WORKERS = [f"main-worker-{ordinal}" for ordinal in range(2)]


@pytest.fixture
def former(bare):
    """What that operator made, running; it is gone."""
    made = Former(lambda *words, stdin=None: labs.kubectl(*words, text_in=stdin), bare.namespace, OLD, IMAGES, cgroups=False)
    made.create(workers=len(WORKERS))
    bare.wait_for_idle(len(WORKERS), within=120)
    made.say_status(workers=len(WORKERS))
    yield made
    bare.kubectl("delete", "controllers,restapis,nodesets", "--all", "--timeout=2m", timeout=150)


def uids(bare, component):
    pods = bare.items("pods", "-l", f"app.kubernetes.io/component={component}")
    return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in pods if not pod["metadata"].get("deletionTimestamp")}


def state_of(bare, job):
    done = bare.in_worker_result("squeue", "-h", "--states=all", "-j", job, "-o", "%T")
    return done.stdout.strip() if done.returncode == 0 else ""


def test_a_job_runs_through_the_switch(bare, former):
    job = bare.submit_open(WORKERS[0])
    bare.wait_for("the job runs", lambda: state_of(bare, job) == "RUNNING", within=60)
    bare.in_worker("scontrol", "update", f"nodename={WORKERS[1]}", "state=drain", "reason=slurm-operator: new disk")
    workers, slurmrestd, slurmctld = (uids(bare, component) for component in ("worker", "restapi", "controller"))
    bare.install_operator()
    bare.wait_for("slurmctld rolls", lambda: set(uids(bare, "controller").values()).isdisjoint(slurmctld.values())
                  and uids(bare, "controller"), within=120)
    for kind, name in (("controllers", "main"), ("restapis", "main"), ("nodesets", "main-worker")):
        bare.wait_for(f"{name} of {kind} is ready", lambda: bare.condition(kind, name, "Ready")["status"] == "True", within=120)
    bare.wait_for("the former operator's drain is lifted", lambda: bare.node_states().get(WORKERS[1]) == "idle", within=60)
    assert state_of(bare, job) == "RUNNING"
    assert uids(bare, "worker") == workers
    assert uids(bare, "restapi") == slurmrestd
    status = bare.get("nodesets", "main-worker")["status"]
    assert (status["updatedReplicas"], status["readyReplicas"]) == (2, 2)
    bare.let_end(job, WORKERS[0])
    bare.wait_for("the job has ended well", lambda: state_of(bare, job) == "COMPLETED", within=60)
