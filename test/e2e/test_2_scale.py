"""Scaling in never costs a job, whatever happens to the operator meanwhile."""
import time

import pytest

import lab


@pytest.fixture(scope="module", autouse=True)
def crowded(slurm):
    """Workers may share a node, so that a fourth one finds a place."""
    lab.install_slurm("nodesets.slinky.oversubscribeNode=true", "nodesets.slinky.replicas=null")
    yield


@pytest.fixture(autouse=True)
def three_workers(crowded):
    lab.scale(3)
    lab.wait_for_idle(3, within=90)


def wait_for_end(job, uid, ordinal, within=120):
    """The job ends well, and until then its pod is not touched."""
    def ended():
        state = lab.job_state(job)
        assert state in (None, "RUNNING", "COMPLETING", "COMPLETED"), state
        if state in ("RUNNING", "COMPLETING"):
            assert lab.uid_of(ordinal) == uid or lab.job_state(job) == "COMPLETED", "the pod of a running job was deleted"
        return state == "COMPLETED"
    lab.wait_for(f"job {job} is COMPLETED", ended, within)


def test_a_job_on_the_highest_ordinal_survives_scaling_in_and_four_come_back_idle():
    job = lab.submit("-w", "slinky-2", "--wrap", "sleep 12")
    lab.wait_for_job(job, "RUNNING", within=20)
    uid = lab.uid_of(2)
    lab.scale(1)
    wait_for_end(job, uid, 2)
    lab.wait_for("one worker is left", lambda: len(lab.worker_pods()) == 1, within=90)
    lab.wait_for_idle(1, within=30)
    began = time.monotonic()
    lab.scale(4)
    lab.wait_for_idle(4, within=60)
    took = time.monotonic() - began
    print(f"four idle after {took:.1f} s")
    assert took <= 20


def test_what_was_done_is_told_in_events():
    told = {(event["reason"], event["regarding"]["kind"]) for event in lab.items("-n", lab.SLURM, "events.events.k8s.io")
            if event.get("reportingController") == "capstan-operator"}
    assert told >= {("KeyCreated", "Controller"), ("SuccessfulCreate", "NodeSet"), ("ScalingDown", "NodeSet"),
                    ("SuccessfulDelete", "NodeSet"), ("SlurmNodeRemoved", "NodeSet")}


def test_scaling_back_lifts_the_drain_and_the_job_lives():
    job = lab.submit("-N3", "--wrap", "srun -N3 sleep 25")
    lab.wait_for_job(job, "RUNNING", within=20)
    uids = [lab.uid_of(ordinal) for ordinal in range(3)]
    lab.scale(1)
    lab.wait_for("two workers are draining",
                  lambda: sum(state.startswith("drain") for state in lab.node_states().values()) == 2, within=30)
    lab.scale(4)
    lab.wait_for("no drain is left",
                  lambda: not any(state.startswith("drain") for state in lab.node_states().values()), within=30)
    assert lab.job_state(job) == "RUNNING"
    lab.wait_for_job(job, "COMPLETED", within=60)
    assert [lab.uid_of(ordinal) for ordinal in range(3)] == uids
    lab.wait_for_idle(4, within=30)


def scale_in_with_jobs_on_all():
    job = lab.submit("-N3", "--wrap", "srun -N3 sleep 20")
    lab.wait_for_job(job, "RUNNING", within=20)
    return job


def cordoned():
    key = "nodeset.slinky.slurm.net/scale-in"
    return [name for name, pod in lab.worker_pods().items() if key in pod["metadata"].get("annotations", {})]


def finish(job):
    lab.wait_for_job(job, "COMPLETED", within=90)
    lab.wait_for("one worker is left", lambda: len(lab.worker_pods()) == 1, within=120)
    lab.wait_for_idle(1, within=60)


def test_the_operator_dies_after_the_cordon():
    job = scale_in_with_jobs_on_all()
    with lab.StoppedSlurmrestd():
        lab.scale(1)
        lab.wait_for("two workers are cordoned", lambda: len(cordoned()) == 2, within=30)
        assert not any(state.startswith("drain") for state in lab.node_states().values())
        lab.kill_operator()
    finish(job)


def test_the_operator_dies_after_the_drain():
    job = scale_in_with_jobs_on_all()
    lab.scale(1)
    lab.wait_for("two workers are draining",
                  lambda: sum(state.startswith("drain") for state in lab.node_states().values()) == 2, within=30)
    lab.kill_operator()
    finish(job)


def test_the_operator_dies_after_the_pods_deletion():
    job = lab.submit("-w", "slinky-0", "--wrap", "sleep 20")
    lab.wait_for_job(job, "RUNNING", within=20)
    lab.scale(1)
    lab.wait_for("a pod is being deleted", lambda: any(
        pod["metadata"].get("deletionTimestamp") for pod in lab.worker_pods().values()) or len(lab.worker_pods()) < 3,
        within=60, every=0.05)
    lab.kill_operator()
    finish(job)
