"""A NodeSet that is deleted goes after its workers, and each of them after its job."""
import time

import pytest

import lab

PATH = ("-n", lab.SLURM, "nodeset", lab.NODESET)


@pytest.fixture(autouse=True)
def three_workers(slurm):
    """Three at the beginning, and again for whoever comes next."""
    lab.scale(3)
    lab.wait_for_idle(3, within=90)
    yield
    lab.install_slurm()
    lab.wait_for_idle(3, within=90)


def owned_by(uid):
    """Everything that says so, by kind and name."""
    return [lab.label(item) for item in lab.everything()
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", []))]


def test_a_deleted_nodeset_waits_for_its_job_and_leaves_nothing():
    busy = f"{lab.NODESET}-1"
    set_uid = lab.get(*PATH)["metadata"]["uid"]
    job = lab.submit_open("slinky-1")
    lab.wait_for_job(job, "RUNNING", within=20)
    uid = lab.uid_of(1)
    began = time.time()
    lab.kubectl(*PATH[:2], "delete", *PATH[2:], "--wait=false")
    reason = f"slurm-operator: Pod ({lab.SLURM}/{busy}) is pending termination for scale-in"
    lab.wait_for("of the workers only the busy one is left, and draining", lambda:
                 set(lab.worker_pods()) == {busy} and lab.records() == {"slinky-1": ("draining", reason)}, within=60)
    lab.wait_for("a condition says what is waited for", lambda: f"jobs still run on 1 of them ({busy})"
                 in lab.condition("nodesets", lab.NODESET, "Progressing")["message"], within=30)
    assert lab.job_state(job) == "RUNNING"
    assert lab.uid_of(1) == uid
    lab.let_end(job, busy)
    lab.wait_for("the NodeSet is gone", lambda: lab.get(*PATH) is None, within=90)
    assert not lab.worker_pods(), "it went last"
    assert not owned_by(set_uid)
    lab.wait_for("slurmctld, started anew without it, has no record left", lambda: lab.records() == {}, within=60)
    ended = lab.job_fields(job)
    assert ended["JobState"] == "COMPLETED"
    assert lab.asked_to_delete(busy, began)[0] >= int(ended["EndTime"]), "the pod was deleted before its job had ended"
