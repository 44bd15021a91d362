"""The Slinky projects' operator is replaced by ours in the middle of a rolling update of its own."""

import pytest

import lab as labs
from test_2_takeover import WORKERS, former, state_of, uids  # noqa: F401  (a fixture among them)

pytestmark = pytest.mark.long
REVISION = "controller.kubernetes.io/hash"
CORDON = "nodeset.slinky.slurm.net/pod-cordon"


def revision_of(bare, pod):
    return bare.get("pod", pod)["metadata"]["labels"][REVISION]


def test_who_waits_for_its_job_is_renewed_after_it_and_who_was_renewed_stays(bare, former):  # noqa: F811
    old, new = WORKERS
    job = bare.submit_open(old)
    bare.wait_for("the job runs", lambda: state_of(bare, job) == "RUNNING", within=60)
    # One is new already, and the other, of the template before, is cordoned and drained until its job ends.
    former.patch("pod", old, {"metadata": {"labels": {REVISION: "5d5c87c9f8"}, "annotations": {CORDON: "true"}}})
    bare.in_worker("scontrol", "update", f"nodename={old}", "state=drain",
                   f"reason=slurm-operator: Pod ({bare.namespace}/{old}) is pending termination for scale-in", worker=new)
    before = uids(bare, "worker")
    bare.install_operator()
    for kind, name in (("controllers", "main"), ("restapis", "main")):
        bare.wait_for(f"{name} of {kind} is ready", lambda: bare.condition(kind, name, "Ready")["status"] == "True", within=180)
    bare.wait_for("it goes on with the update", lambda: f"waiting for the jobs on {old}" in
                  bare.condition("nodesets", "main-worker", "Progressing")["message"], within=120)
    bare.wait_for("the one that waits is drained", lambda: bare.node_states().get(old) == "draining", within=60)
    assert state_of(bare, job) == "RUNNING" and uids(bare, "worker") == before
    bare.let_end(job, old)
    bare.wait_for("the job has ended well", lambda: state_of(bare, job) == "COMPLETED", within=60)
    bare.wait_for("its worker is made anew", lambda: uids(bare, "worker").get(old) not in (None, before[old]), within=90)
    bare.wait_for_idle(len(WORKERS), within=120)
    assert uids(bare, "worker")[new] == before[new]
    assert revision_of(bare, old) == revision_of(bare, new)
    bare.wait_for("it is done", lambda: bare.condition("nodesets", "main-worker", "Progressing")["status"] == "False", within=60)
