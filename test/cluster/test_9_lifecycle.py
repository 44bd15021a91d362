"""Failure, repair and removal. The last test of this file leaves no cluster."""
import shutil

import pytest

from conftest import CLONE, NODES, PROBE_IMAGE, Cluster, eventually

STATE = "/var/lib/capstan-dev"


@pytest.fixture(scope="module")
def other_clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(CLONE / "dev", folder / "dev")
    return Cluster(folder)


def test_second_up_takes_less_than_five_seconds(cluster, probes):
    answer = cluster.up()
    answer.ok()
    assert answer.seconds < 5
    assert "started" not in answer.errors


def test_up_from_another_clone_takes_over(other_clone, probes):
    pods = {pod["metadata"]["uid"] for pod in probes.pods().values()}
    answer = other_clone.up()
    answer.ok()
    assert "started" not in answer.errors
    assert {pod["metadata"]["uid"] for pod in probes.pods().values()} == pods


def test_killed_kubelet_loses_its_node_and_what_does_not_tolerate_that_until_up(cluster, probes):
    labels = {"app": "evicted"}
    there = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node2"]}]}
    cluster.apply(probes.named("apps/v1", "Deployment", "evicted", {
        "replicas": 1, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "terminationGracePeriodSeconds": 1,
            "affinity": {"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": there}]}},
            "containers": [{"name": "probe", "image": PROBE_IMAGE, "args": ["serve", ":8083"]}]}}}))
    probes.kubectl("rollout", "status", "deployment/evicted", "--timeout=30s").ok()

    def places():
        """Of each pod, whether it is on node2 and whether it is to go."""
        items = cluster.get("pods", "--namespace", probes.namespace, "--selector", "app=evicted")["items"]
        return sorted((pod["spec"].get("nodeName") == "node2", "deletionTimestamp" in pod["metadata"]) for pod in items)

    assert places() == [(True, False)]
    before = probes.pods()["node2"]
    cluster.run("kill-kubelet", "node2").ok()
    eventually(75, lambda: cluster.ready("node2"), "Unknown")
    eventually(60, places, [(False, False), (True, True)])
    cluster.up().ok()
    eventually(60, places, [(False, False)])
    probes.kubectl("delete", "deployment/evicted").ok()
    assert cluster.ready("node2") == "True"
    after = probes.pods()["node2"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 0


def test_start_kubelet_repairs_too(cluster, probes):
    cluster.run("kill-kubelet", "node1").ok()
    assert cluster.run("status").status == 1
    cluster.run("start-kubelet", "node1").ok()
    eventually(20, lambda: cluster.run("status").status, 0)


def test_node_that_lost_power_comes_back_with_its_pods(cluster, probes):
    cluster.run("kill-node", "node3").ok()
    cluster.up().ok()
    assert cluster.ready("node3") == "True"
    target = probes.pods()["node3"]
    eventually(30, lambda: probes.ask("node1", "get", "http://probe/").status, 0)
    eventually(30, lambda: probes.kubectl("get", "pod", target["metadata"]["name"], "-o",
                                          "jsonpath={.status.containerStatuses[0].restartCount}").output, "1")
    probes.wait()
    address = probes.pods()["node3"]["status"]["podIP"]
    assert probes.ask("node1", "get", f"http://{address}:8080/").status == 0


@pytest.mark.parametrize("tree, program", [
    ("control", "kube-apiserver"), ("control", "etcd"), ("control", "coredns"), ("node1", "containerd"), ("node2", "kube-proxy")])
def test_up_starts_what_was_killed(cluster, probes, tree, program):
    cluster.run("exec", tree, "pkill", "-KILL", "-x", program[:15]).ok()
    answer = cluster.up()
    answer.ok()
    assert f"started {program} of {tree}" in answer.errors
    eventually(20, lambda: probes.ask("node1", "get", "http://probe/").status, 0)


def test_deleted_node_registers_again(cluster, probes):
    cluster.kubectl("delete", "node", "node3").ok()
    cluster.up().ok()
    assert cluster.ready("node3") == "True"


@pytest.mark.parametrize("loss", [
    ("exec", "fabric", "ip", "link", "del", "bridge0"), ("kill-node", "fabric"), ("kill-node", "control")],
    ids=["bridge", "fabric", "control"])
def test_lost_network_or_control_plane_is_made_again(cluster, probes, loss):
    before = {pod["metadata"]["uid"] for pod in probes.pods().values()}
    cluster.run(*loss).ok()
    cluster.up().ok()
    probes.wait()
    assert {pod["metadata"]["uid"] for pod in probes.pods().values()} == before
    for node in NODES:
        eventually(30, lambda: probes.ask(node, "get", "http://probe/").status, 0)


def test_down_from_another_clone_leaves_nothing(cluster, other_clone, probes):
    answer = other_clone.run("down")
    answer.ok()
    assert answer.seconds < 10
    assert cluster.run("residue").ok() == ""
    assert cluster.run("status").status == 1


def test_down_removes_what_a_crash_left(cluster):
    cluster.up().ok()
    # What "up" wrote down is lost; processes, mounts and cgroups are not.
    cluster.run("exec", "node1", "sh", "-c", f"rm -rf {STATE}/control {STATE}/pki {STATE}/fingerprint").ok()
    cluster.run("down").ok()
    assert cluster.run("residue").ok() == ""


def test_down_without_a_cluster_is_harmless(cluster):
    cluster.run("down").ok()
    assert cluster.run("residue").ok() == ""
