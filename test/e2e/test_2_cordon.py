"""A person takes Kubernetes nodes out of service, as for any workload, and gives them back."""
import pytest

import lab


@pytest.fixture
def cordon():
    """Cordons the node of a worker and returns its name; in the end all are uncordoned."""
    nodes = []

    def cordon(ordinal):
        nodes.append(lab.worker_pods()[f"{lab.NODESET}-{ordinal}"]["spec"]["nodeName"])
        lab.kubectl("cordon", nodes[-1])
        return nodes[-1]
    yield cordon
    for node in nodes:
        lab.kubectl("uncordon", node)


def test_a_cordoned_worker_ends_its_job_and_comes_back_but_not_what_a_person_drained(slurm, cordon):
    lab.wait_for_idle(3, within=60)
    job = lab.submit_open("slinky-1")
    lab.wait_for_job(job, "RUNNING", within=20)
    uid = lab.uid_of(1)
    lab.in_worker("scontrol", "update", "nodename=slinky-2", "state=drain", "reason=bad disk")
    node, other = cordon(1), cordon(2)
    pod = f"{lab.NODESET}-1"
    ours = f"slurm-operator: Node ({node}) was cordoned, Pod ({lab.SLURM}/{pod}) must be cordoned"
    theirs = ("drained", "bad disk")
    lab.wait_for("the drain of the busy worker alone", lambda: lab.records() == {
        "slinky-0": ("idle", "none"), "slinky-1": ("draining", ours), "slinky-2": theirs}, within=30)
    lab.wait_for("a condition says why", lambda: f"{pod} takes no new jobs, as a person wants it (Node ({node}) was cordoned"
                 in lab.condition("nodesets", lab.NODESET, "Degraded")["message"], within=30)
    assert lab.job_state(job) == "RUNNING"
    lab.let_end(job, pod)
    lab.wait_for_job(job, "COMPLETED", within=30)
    lab.wait_for("the worker is drained", lambda: lab.records()["slinky-1"] == ("drained", ours), within=30)
    lab.kubectl("uncordon", node, other)
    lab.wait_for("our drain is lifted", lambda: lab.records()["slinky-1"] == ("idle", "none"), within=30)
    assert lab.records()["slinky-2"] == theirs
    assert lab.uid_of(1) == uid, "it is the same worker"
    lab.in_worker("scontrol", "update", "nodename=slinky-2", "state=resume")
    lab.wait_for_idle(3, within=30)
