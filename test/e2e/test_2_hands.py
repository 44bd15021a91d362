"""What a person does by hand in Slurm stays as it is, whatever the operator does meanwhile."""
import time

import pytest

import lab as labs
from rolling import renewed, revisions, set_note

pytestmark = pytest.mark.long
SETTINGS = ("nodesets.slinky.oversubscribeNode=true",)  # a worker that comes back finds a place at once
THEIRS = ("drained", "bad disk")


def restart_operator(lab):
    for verb, *options in (("restart",), ("status", "--timeout=90s")):
        labs.kubectl("-n", lab.operator_namespace, "rollout", verb, f"deployment/{lab.operator}", *options, timeout=100)


def going(lab):
    return sorted(name for name, pod in lab.worker_pods().items() if "capstan.dev/scale-in" in pod["metadata"].get("annotations", {}))


def test_a_drain_outlives_an_update_a_scale_in_and_the_operator(lab):
    """In the first ten minutes of an operator, who is drained by others stays: one before it may have sent what lifts it."""
    lab.in_worker("scontrol", "update", "nodename=slinky-0", "state=drain", "reason=bad disk")
    before, uid = revisions(lab), lab.uid_of(0)
    set_note(lab, "new")
    lab.wait_for("the two others are renewed", lambda: {name for name, revision in revisions(lab).items() if revision != before[name]} ==
                 {f"{labs.NODESET}-1", f"{labs.NODESET}-2"}, within=180)
    as_left = {"slinky-0": THEIRS, "slinky-1": ("idle", "none"), "slinky-2": ("idle", "none")}
    # One that is not ready would go first.
    lab.wait_for("they are in service, and the third is as the person left it",
                 lambda: lab.records() == as_left and len(lab.ready_workers()) == 3, within=90)
    lab.scale(2)
    lab.wait_for("who serves nobody is to go", lambda: going(lab) == [f"{labs.NODESET}-0"], within=60)
    restart_operator(lab)
    assert lab.records() == as_left
    lab.scale(3)
    # It may be marked for the update instead.
    lab.wait_for("nobody is too many", lambda: lab.condition("nodesets", labs.NODESET, "Progressing")["reason"] == "RollingUpdate",
                 within=60)
    assert lab.records() == as_left and lab.uid_of(0) == uid
    lab.in_worker("scontrol", "update", "nodename=slinky-0", "state=resume")
    lab.wait_for("it is renewed, too", lambda: renewed(lab, before), within=120)
    lab.wait_for_idle(3, within=90)


def test_a_suspended_job_is_waited_for_in_a_scale_in(lab):
    lab.wait_for_idle(3, within=90)
    job = lab.submit_open("slinky-2")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.uid_of(2)
    lab.in_worker("scontrol", "suspend", job)
    lab.wait_for_job(job, "SUSPENDED", within=60)
    lab.scale(0)
    lab.wait_for("the others have gone", lambda: sorted(lab.worker_pods()) == [f"{labs.NODESET}-2"], within=120)
    time.sleep(15)  # an operator that takes it for idle has deleted it by now
    assert lab.uid_of(2) == uid and lab.job_state(job) == "SUSPENDED"
    lab.in_controller_result("scontrol", "resume", job)
    lab.wait_for_job(job, "RUNNING", within=60)
    assert lab.uid_of(2) == uid
    lab.let_end(job, f"{labs.NODESET}-2")
    lab.wait_for_job(job, "COMPLETED", within=60)
    lab.wait_for("it goes", lambda: not lab.worker_pods(), within=90)


def test_without_slurmrestd_nobody_goes_and_with_it_all_do(lab):
    lab.scale(3)
    lab.wait_for_idle(3, within=90)
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    lab.wait_for("the operator hears of the job",
                 lambda: lab.get("nodesets", labs.NODESET)["status"].get("slurmAllocated") == 1, within=60)
    uids = {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}
    with lab.stopped("slurmrestd"):
        lab.scale(1)
        lab.wait_for("two are marked", lambda: sum("capstan.dev/scale-in" in pod["metadata"].get("annotations", {})
                                                   for pod in lab.worker_pods().values()) == 2, within=60)
        time.sleep(20)  # longer than any answer is waited for
        assert {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()} == uids
        assert not any(pod["metadata"].get("deletionTimestamp") for pod in lab.worker_pods().values())
    lab.wait_for("the idle ones have gone", lambda: sorted(lab.worker_pods()) == [f"{labs.NODESET}-0"], within=120)
    lab.still_runs(job, 0, uids[f"{labs.NODESET}-0"])
    lab.let_end(job, f"{labs.NODESET}-0")
    lab.wait_for_job(job, "COMPLETED", within=60)
