"""What a machine says of its place in the network is where Slurm has its worker, also when it changes."""
import pytest

import lab as labs

pytestmark = pytest.mark.long
NODES = 2
ANNOTATION = "topology.slinky.slurm.net/spec"
TOPOLOGY = """\
- topology: racks
  cluster_default: true
  tree:
    switches:
      - {switch: core, children: "rack[1-2]"}
      - {switch: rack1}
      - {switch: rack2}
"""


@pytest.fixture
def annotate():
    said = set()

    def annotate(node, where):
        said.add(node)
        labs.kubectl("annotate", "node", node, "--overwrite", f"{ANNOTATION}={where}")
    yield annotate
    for node in said:
        labs.kubectl("annotate", "node", node, f"{ANNOTATION}-")


def racks(lab):
    """By rack, the nodes that Slurm has there."""
    found = {}
    for line in lab.in_controller_result("scontrol", "-o", "show", "topology").stdout.splitlines():
        said = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if said.get("SwitchName", "").startswith("rack"):
            names = lab.in_controller_result("scontrol", "show", "hostnames", said.get("Nodes", "")).stdout.split()
            found[said["SwitchName"]] = set(names)
    return found


def test_a_changed_annotation_moves_a_worker(bare, annotate):
    lab = bare
    for node, rack in zip(lab.nodes, ("rack1", "rack2")):
        annotate(node, f"racks:{rack}")
    lab.install_operator()
    lab.install_slurm(values={"configFiles": {"topology.yaml": TOPOLOGY}})
    lab.wait_for_idle(3, within=150)
    by_node = {pod["spec"]["nodeName"]: f"slinky-{name[-1]}" for name, pod in lab.worker_pods().items()}
    first, second = (by_node[node] for node in lab.nodes)
    lab.wait_for("each is in its rack", lambda: racks(lab) == {"rack1": {first}, "rack2": {second}}, within=60)
    before = {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}
    job = lab.submit_open(first)
    lab.wait_for_job(job, "RUNNING", within=60)
    annotate(lab.nodes[0], "racks:rack2")
    lab.wait_for("it has moved", lambda: racks(lab).get("rack2") == {first, second}, within=60)
    assert {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()} == before
    lab.still_runs(job)
    pod = lab.worker_pods()[f"{labs.NODESET}-{first[-1]}"]
    assert pod["metadata"]["annotations"][ANNOTATION] == "racks:rack2"
    lab.let_end(job, f"{labs.NODESET}-{first[-1]}")
    lab.wait_for_job(job, "COMPLETED", within=60)
