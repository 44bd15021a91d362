"""Failure, repair and removal. The last test of this file leaves no cluster."""
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from conftest import CLONE, NODES, PROBE_IMAGE, Cluster, Probes, clean_environment, eventually

pytestmark = pytest.mark.long

STATE = "/var/lib/capstan-dev"


@pytest.fixture(scope="module")
def other_clone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clone")
    shutil.copytree(CLONE / "dev", folder / "dev")
    return Cluster(folder)


def test_a_second_up_starts_nothing(cluster, probes):
    answer = cluster.up()
    answer.ok()
    assert "going on with the cluster that is here" in answer.errors
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


def killed(cluster, *words, after):
    """dev/cluster with these words, and all that it has started, ended without notice as soon as `after` holds."""
    process = subprocess.Popen([cluster.program, *words], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=clean_environment(), start_new_session=True)
    try:
        eventually(60, after)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_node_that_was_only_half_added_is_not_waited_for(cluster):
    folder = pathlib.Path(STATE, "node5")
    killed(cluster, "node", "add", "node5", after=folder.is_dir)
    cluster.up().ok()
    assert cluster.run("status").status == 0
    cluster.run("node", "add", "node5", timeout=180).ok()
    assert cluster.ready("node5") == "True"
    killed(cluster, "node", "remove", "node5", after=lambda: "node5" not in pathlib.Path(STATE, "added").read_text())
    cluster.up().ok()
    if folder.is_dir():  # it was killed before it had removed everything
        cluster.run("node", "remove", "node5").ok()
    assert not folder.exists() and cluster.ready_names() == list(NODES)


@pytest.mark.parametrize("broken", [
    ("rm", "-rf", f"{STATE}/pki"), ("rm", "-rf", f"{STATE}/control/etcd"), ("sh", "-c", f"echo node7 >> {STATE}/added"),
    ("sh", "-c", f"head -c 65536 /dev/urandom > {STATE}/images/node1/io.containerd.metadata.v1.bolt/meta.db")],
    ids=["certificates", "etcd", "added", "containerd"])
def test_anew_needs_nothing_of_what_is_there(cluster, broken):
    subprocess.run(broken, check=True)
    answer = cluster.run("anew", timeout=300)
    answer.ok()
    assert cluster.ready_names() == list(NODES) and cluster.run("status").status == 0
    assert not cluster.get("pods", "--all-namespaces")["items"]


def test_anew_leaves_no_container_of_before(cluster, probe_archive):
    cluster.run("load", probe_archive, timeout=120).ok()
    Probes(cluster)
    cluster.run("anew", timeout=240).ok()
    for node in NODES:
        ctr = ["ctr", "--address", f"{STATE}/{node}/containerd.sock", "--namespace", "k8s.io"]
        assert cluster.run("exec", node, *ctr, "container", "list", "--quiet").ok() == ""
        assert PROBE_IMAGE in cluster.run("exec", node, *ctr, "image", "list", "--quiet").ok(), "images stay"


def test_down_from_another_clone_leaves_nothing(cluster, other_clone, probes):
    answer = other_clone.run("down")
    answer.ok()
    cluster.left_nothing()
    assert cluster.run("status").status == 1


def test_down_removes_what_a_crash_left(cluster):
    cluster.up().ok()
    # What "up" wrote down is lost; processes, mounts and cgroups are not.
    cluster.run("exec", "node1", "sh", "-c", f"rm -rf {STATE}/control {STATE}/pki {STATE}/fingerprint").ok()
    cluster.run("down").ok()
    cluster.left_nothing()


def test_down_without_a_cluster_is_harmless(cluster):
    cluster.run("down").ok()
    cluster.left_nothing()
