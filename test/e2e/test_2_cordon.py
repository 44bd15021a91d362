"""A person takes Kubernetes nodes out of service, as for any workload, and gives them back."""
import pytest

import lab as labs

pytestmark = pytest.mark.long

NODES = 2


@pytest.fixture
def cordon(lab):
    """Cordons this node; in the end all are uncordoned."""
    nodes = []

    def cordon(node):
        assert node in lab.nodes, "other cases use it too"
        nodes.append(node)
        labs.kubectl("cordon", node)
    yield cordon
    for node in nodes:
        labs.kubectl("uncordon", node)


def test_a_cordoned_worker_ends_its_job_and_comes_back_but_not_what_a_person_drained(lab, cordon):
    by_node = {pod["spec"]["nodeName"]: int(name[-1]) for name, pod in lab.worker_pods().items()}
    node, other = lab.nodes
    busy, broken = by_node.pop(node), by_node.pop(other)
    idle, = by_node.values()
    job = lab.submit_open(f"slinky-{busy}")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.uid_of(busy)
    lab.in_worker("scontrol", "update", f"nodename=slinky-{broken}", "state=drain", "reason=bad disk")
    cordon(node)
    cordon(other)
    pod = f"{labs.NODESET}-{busy}"
    ours = f"slurm-operator: Node ({node}) was cordoned, Pod ({lab.namespace}/{pod}) must be cordoned"
    theirs = ("drained", "bad disk")
    lab.wait_for("the drain of the busy worker alone", lambda: lab.records() == {
        f"slinky-{idle}": ("idle", "none"), f"slinky-{busy}": ("draining", ours), f"slinky-{broken}": theirs}, within=60)
    lab.wait_for("a condition says why", lambda: f"{pod} takes no new jobs, as a person wants it (Node ({node}) was cordoned"
                 in lab.condition("nodesets", labs.NODESET, "Degraded")["message"], within=60)
    lab.still_runs(job)
    lab.let_end(job, pod)
    lab.wait_for_job(job, "COMPLETED", within=60)
    lab.wait_for("the worker is drained", lambda: lab.records()[f"slinky-{busy}"] == ("drained", ours), within=60)
    labs.kubectl("uncordon", node, other)
    lab.wait_for("our drain is lifted", lambda: lab.records()[f"slinky-{busy}"] == ("idle", "none"), within=60)
    assert lab.records()[f"slinky-{broken}"] == theirs
    assert lab.uid_of(busy) == uid, "it is the same worker"
    lab.in_worker("scontrol", "update", f"nodename=slinky-{broken}", "state=resume")
    lab.wait_for_idle(3, within=60)
