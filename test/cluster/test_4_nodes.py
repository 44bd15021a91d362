"""Nodes that are added to a running cluster, for a test of its own, and removed."""
import pathlib

import pytest

from conftest import CLONE, NODES, PROBE_IMAGE, eventually

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def node4(cluster, probe_archive):
    """The way back is a test's part too: nothing else removes it before "down"."""
    cluster.run("node", "add", "node4", probe_archive, timeout=180).ok()
    yield "node4"
    cluster.run("node", "remove", "node4").ok()


@pytest.fixture(scope="module")
def guest(probes, node4):
    """A pod on it, by its toleration: its address."""
    probes.cluster.apply(probes.named("v1", "Pod", "guest", {
        "nodeSelector": {"kubernetes.io/hostname": node4}, "terminationGracePeriodSeconds": 1,
        "tolerations": [{"key": "capstan.dev/added", "value": node4, "effect": "NoSchedule"}],
        "containers": [{"name": "probe", "image": PROBE_IMAGE, "args": ["serve", ":8080"]}]}))
    probes.kubectl("wait", "pod/guest", "--for=condition=Ready", "--timeout=30s").ok()
    yield probes.kubectl("get", "pod", "guest", "-o", "jsonpath={.status.podIP}").ok()
    probes.kubectl("delete", "pod/guest", "--timeout=30s").ok()


def test_an_added_node_is_ready_and_no_other_pod_uses_it(cluster, probes, node4):
    assert cluster.ready(node4) == "True"
    assert probes.ready_nodes() == list(NODES), "the DaemonSet stays away"
    assert cluster.run("status").status == 0


def test_a_pod_on_it_reaches_and_is_reached(probes, guest):
    assert guest.startswith("10.244.4.")
    for node in NODES:
        assert probes.ask(node, "get", f"http://{guest}:8080/").ok().startswith("guest ")
    assert probes.kubectl("exec", "guest", "--", "/probe", "get", "http://probe/").ok().startswith("probe-")
    assert probes.kubectl("logs", "guest").ok() == "serving as guest"


def test_nothing_leads_out_of_it(cluster, guest):
    assert cluster.run("routes").status == 0


def test_add_repairs_it_alone(cluster, node4):
    cluster.run("kill-node", node4).ok()
    cluster.run("kill-kubelet", "node1").ok()
    answer = cluster.run("node", "add", node4)
    answer.ok()
    assert cluster.ready(node4) == "True"
    assert "of node4" in answer.errors and "node1" not in answer.errors
    cluster.up().ok()


def test_a_removed_node_leaves_nothing(cluster, probes, node4):
    cluster.run("node", "add", "node5").ok()
    cluster.run("node", "remove", "node5").ok()
    assert "node5" not in {node["metadata"]["name"] for node in cluster.get("nodes")["items"]}
    assert "node5" not in cluster.run("residue").output
    assert not pathlib.Path("/var/lib/capstan-dev/node5").exists()
    for tree in ("control", *NODES, node4):
        assert "10.244.5.0/24" not in cluster.run("exec", tree, "ip", "route").ok()
    assert cluster.run("status").status == 0


@pytest.mark.parametrize("words, says", [
    (("add", "node1"), '"node1" cannot be added or removed; node4 to node9 can.'),
    (("remove", "node1"), '"node1" cannot be added or removed; node4 to node9 can.'),
    (("add", "other"), '"other" cannot be added or removed; node4 to node9 can.'),
    (("remove", "node9"), '"node9" was not added; there are node4.'),
    (("add", "node4", "none.tar"), 'there is no image archive "none.tar".'),
    (("list",), "usage: dev/cluster node add NODE [ARCHIVE...], or node remove NODE")])
def test_what_cannot_be_is_refused(cluster, node4, words, says):
    answer = cluster.run("node", *words, cwd=CLONE)
    assert answer.status == 1 and answer.errors.strip() == f"cluster: {says}"


def test_up_starts_it_again_with_the_others(cluster, node4):
    cluster.run("kill-node", node4).ok()
    answer = cluster.up()
    answer.ok()
    assert cluster.ready(node4) == "True" and "4 nodes are Ready" in answer.errors
