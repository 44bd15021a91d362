"""Scaling in never costs a job."""
import pytest

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


def test_a_job_on_the_highest_ordinal_survives_scaling_in_and_four_come_back_idle(lab):
    job = lab.submit_open("slinky-2")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.uid_of(2)
    lab.scale(1)
    lab.wait_for("the idle one is gone, the busy one drains", lambda: len(lab.worker_pods()) == 2 and lab.node_states().get(
        "slinky-2", "").startswith("drain"), within=90)
    lab.still_runs(job, 2, uid)
    lab.let_end(job, "slurm-worker-slinky-2")
    wait_for_end(lab, job, uid, 2)
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
    job = lab.submit_open("slinky-0", "slinky-1", "slinky-2")
    lab.wait_for_job(job, "RUNNING", within=60)
    uids = [lab.uid_of(ordinal) for ordinal in range(3)]
    lab.scale(1)
    lab.wait_for("two workers are draining",
                  lambda: sum(state.startswith("drain") for state in lab.node_states().values()) == 2, within=60)
    lab.scale(4)
    lab.wait_for("no drain is left",
                  lambda: not any(state.startswith("drain") for state in lab.node_states().values()), within=60)
    lab.still_runs(job)
    lab.let_end(job, lab.script_worker(job))
    lab.wait_for_job(job, "COMPLETED", within=60)
    assert [lab.uid_of(ordinal) for ordinal in range(3)] == uids
    lab.wait_for_idle(4, within=60)
