"""Scaling in never costs a job, also when the operator dies meanwhile."""
import pytest

import lab as labs

pytestmark = pytest.mark.long

SETTINGS = ("nodesets.slinky.oversubscribeNode=true",)  # workers may share a node, so that a fourth one finds a place


@pytest.fixture(autouse=True)
def three_workers(lab):
    lab.scale(3)
    lab.wait_for_idle(3, within=90)


def job_on_all(lab):
    job = lab.submit_open("slinky-0", "slinky-1", "slinky-2")
    lab.wait_for_job(job, "RUNNING", within=60)
    # Before slurmrestd is stopped: an operator that has never heard Slurm chooses nobody.
    lab.wait_for("the operator hears of the jobs",
                 lambda: lab.get("nodesets", labs.NODESET).get("status", {}).get("slurmAllocated") == 3, within=40)
    return job


def cordoned(lab):
    key = "capstan.dev/scale-in"
    return [name for name, pod in lab.worker_pods().items() if key in pod["metadata"].get("annotations", {})]


def finish(lab, job):
    """The next operator has been at work for a while before the job ends."""
    lab.wait_for("an operator works", lambda: lab.processes("capstan", "operator"), within=60)
    lab.wait_for("the idle ones are gone, or all drain that must go", lambda: len(lab.worker_pods()) == 1 or sum(
        state.startswith("drain") for state in lab.node_states().values()) == 2, within=90)
    lab.still_runs(job)
    lab.let_end(job, lab.script_worker(job))
    lab.wait_for_job(job, "COMPLETED", within=90)
    lab.wait_for("one worker is left", lambda: len(lab.worker_pods()) == 1, within=120)
    lab.wait_for_idle(1, within=60)


def test_the_operator_dies_after_the_cordon(lab):
    job = job_on_all(lab)
    with lab.stopped("slurmrestd"):
        lab.scale(1)
        lab.wait_for("two workers are cordoned", lambda: len(cordoned(lab)) == 2, within=60)
        assert not any(state.startswith("drain") for state in lab.node_states().values())
        lab.kill_operator()
    finish(lab, job)


def test_the_operator_dies_after_the_drain(lab):
    job = job_on_all(lab)
    lab.scale(1)
    lab.wait_for("two workers are draining",
                  lambda: sum(state.startswith("drain") for state in lab.node_states().values()) == 2, within=60)
    lab.kill_operator()
    finish(lab, job)


def test_the_operator_dies_after_the_pods_deletion(lab):
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    lab.scale(1)
    lab.wait_for("a pod is being deleted", lambda: any(
        pod["metadata"].get("deletionTimestamp") for pod in lab.worker_pods().values()) or len(lab.worker_pods()) < 3,
        within=60, every=0.05)
    lab.kill_operator()
    finish(lab, job)
