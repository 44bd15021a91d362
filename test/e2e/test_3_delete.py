"""A NodeSet that is deleted goes after its workers, and each of them after its job."""
import json
import time

import pytest

import lab as labs

pytestmark = pytest.mark.long


def owned_by(lab, uid):
    """Everything that says so, by kind and name."""
    return [labs.label(item) for item in lab.everything()
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences", []))]


def test_orphaned_workers_are_taken_back_with_their_job(lab):
    job = lab.submit_open("slinky-1")
    lab.wait_for_job(job, "RUNNING", within=60)
    uids = [lab.uid_of(i) for i in range(3)]
    nodeset = lab.get("nodeset", labs.NODESET)
    nodeset["metadata"] = {key: nodeset["metadata"][key] for key in ("name", "labels", "annotations")}
    lab.kubectl("delete", "nodeset", labs.NODESET, "--cascade=orphan", timeout=90)
    lab.still_runs(job)
    assert [lab.uid_of(i) for i in range(3)] == uids
    lab.kubectl("apply", "-f", "-", text_in=json.dumps(nodeset))
    uid = lab.get("nodeset", labs.NODESET)["metadata"]["uid"]
    lab.wait_for("they are its own", lambda: all(
        [owner["uid"] for owner in pod["metadata"].get("ownerReferences", [])] == [uid]
        for pod in lab.worker_pods().values()), within=60)
    lab.wait_for("all is well", lambda: lab.condition("nodesets", labs.NODESET, "Ready")["status"] == "True", within=60)
    lab.still_runs(job)
    assert [lab.uid_of(i) for i in range(3)] == uids
    lab.let_end(job, f"{labs.NODESET}-1")
    lab.wait_for_job(job, "COMPLETED", within=60)


def test_a_deleted_nodeset_waits_for_its_job_and_leaves_nothing(lab):
    busy = f"{labs.NODESET}-1"
    set_uid = lab.get("nodeset", labs.NODESET)["metadata"]["uid"]
    job = lab.submit_open("slinky-1")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.uid_of(1)
    began = time.time()
    lab.kubectl("delete", "nodeset", labs.NODESET, "--wait=false")
    reason = f"slurm-operator: Pod ({lab.namespace}/{busy}) is pending termination for scale-in"
    lab.wait_for("of the workers only the busy one is left, and draining", lambda:
                 set(lab.worker_pods()) == {busy} and lab.records() == {"slinky-1": ("draining", reason)}, within=60)
    lab.wait_for("a condition says what is waited for", lambda: f"jobs still run on 1 of them ({busy})"
                 in lab.condition("nodesets", labs.NODESET, "Progressing")["message"], within=60)
    lab.still_runs(job)
    assert lab.uid_of(1) == uid
    lab.let_end(job, busy)
    lab.wait_for("the NodeSet is gone", lambda: lab.get("nodeset", labs.NODESET) is None, within=90)
    assert not lab.worker_pods(), "it went last"
    assert not owned_by(lab, set_uid)
    lab.wait_for("slurmctld, started anew without it, has no record left", lambda: lab.records() == {}, within=60)
    ended = lab.job_fields(job)
    assert ended["JobState"] == "COMPLETED"
    assert lab.asked_to_delete(busy, began)[0] >= int(ended["EndTime"]), "the pod was deleted before its job had ended"
