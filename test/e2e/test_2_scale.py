"""Scaling in never costs a job."""
import pytest

import lab as labs
from evidence import Harm

pytestmark = pytest.mark.long

SETTINGS = ("nodesets.slinky.oversubscribeNode=true",)  # workers may share a node, so that a fourth one finds a place


@pytest.fixture(autouse=True)
def three_workers(lab):
    lab.scale(3)
    lab.wait_for_idle(3, within=90)


def wait_for_end(lab, job, uid, ordinal, within=120):
    """The job ends well, and until then its pod is not touched."""
    def ended():
        state = lab.job_state(job)
        if state not in (None, "RUNNING", "COMPLETING", "COMPLETED"):
            raise Harm(f"job {job} is {state}")
        if state in ("RUNNING", "COMPLETING") and lab.uid_of(ordinal) != uid and lab.job_state(job) != "COMPLETED":
            raise Harm("the pod of a running job was deleted")
        return state == "COMPLETED"
    lab.wait_for(f"job {job} is COMPLETED", ended, within)


def test_idle_workers_go_first_then_a_busy_one_once_its_job_has_ended_and_four_come_back_idle(lab):
    job = lab.submit_open("slinky-1", "slinky-2")
    lab.wait_for_job(job, "RUNNING", within=60)
    lab.wait_for("the operator has seen it",
                 lambda: lab.get("nodesets", labs.NODESET)["status"].get("slurmAllocated") == 2, within=60)
    uids = {ordinal: lab.uid_of(ordinal) for ordinal in (1, 2)}
    lab.scale(1)
    lab.wait_for("the idle one is gone, one of the busy ones drains", lambda: sorted(lab.worker_pods()) == [
        "slurm-worker-slinky-1", "slurm-worker-slinky-2"] and sorted(
            state.startswith("drain") for state in lab.node_states().values()) == [False, True], within=90)
    for ordinal, uid in uids.items():
        lab.still_runs(job, ordinal, uid)
    lab.let_end(job, lab.script_worker(job))
    for ordinal, uid in uids.items():
        wait_for_end(lab, job, uid, ordinal)
    lab.wait_for("one worker is left", lambda: len(lab.worker_pods()) == 1, within=90)
    lab.wait_for_idle(1, within=60)
    lab.scale(4)
    lab.wait_for_idle(4, within=60, ready=False)


def test_what_was_done_is_told_in_events(lab):
    told = {(event["reason"], event["regarding"]["kind"]) for event in lab.items("events.events.k8s.io")
            if event.get("reportingController") == "capstan-operator"}
    assert told >= {("KeyCreated", "Controller"), ("SuccessfulCreate", "NodeSet"), ("ScalingDown", "NodeSet"),
                    ("SuccessfulDelete", "NodeSet"), ("SlurmNodeRemoved", "NodeSet")}


def test_scaling_back_lifts_the_drain_and_the_job_lives(lab):
    job = lab.submit_open(*sorted(lab.node_states()))
    lab.wait_for_job(job, "RUNNING", within=60)
    uids = {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}
    assert len(uids) == 3
    lab.scale(1)
    lab.wait_for("two workers are draining",
                 lambda: sum(state.startswith("drain") for state in lab.node_states().values()) == 2, within=60)
    lab.scale(4)
    lab.wait_for("no drain is left",
                 lambda: not any(state.startswith("drain") for state in lab.node_states().values()), within=60)
    lab.still_runs(job)
    lab.let_end(job, lab.script_worker(job))
    lab.wait_for_job(job, "COMPLETED", within=60)
    assert uids.items() <= {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}.items()
    lab.wait_for_idle(4, within=60)
