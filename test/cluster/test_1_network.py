"""Pods, Services and names across the nodes, and that nothing leads out."""
import itertools

import pytest

from conftest import NODES, eventually

OUTSIDE = ("198.51.100.1", "2001:db8::1")


def test_has_three_ready_nodes(cluster):
    nodes = {node["metadata"]["name"]: node for node in cluster.get("nodes")["items"]}
    assert sorted(nodes) == list(NODES)
    assert {cluster.ready(node) for node in NODES} == {"True"}
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes.values()} == {"v1.35.4"}
    assert len({node["status"]["nodeInfo"]["machineID"] for node in nodes.values()}) == 3


def test_reaches_pods_on_other_nodes_under_their_own_address(probes):
    pods = probes.pods()
    for source, target in itertools.permutations(NODES, 2):
        answer = probes.ask(source, "get", f"http://{pods[target]['status']['podIP']}:8080/").ok()
        assert answer == f"{pods[target]['metadata']['name']} {pods[source]['status']['podIP']}"


def test_service_name_answers_from_every_node_and_spreads(probes):
    names = {pod["metadata"]["name"] for pod in probes.pods().values()}
    seen = set()
    for node in NODES:
        for _ in range(8):
            seen.add(probes.ask(node, "get", "http://probe/").ok().split()[0])
    # 24 draws from 3: one is missed once in 17,000 runs.
    assert seen == names


def test_headless_service_names_every_pod(probes):
    addresses = sorted(pod["status"]["podIP"] for pod in probes.pods().values())
    for node in NODES:
        assert probes.ask(node, "lookup", f"peers.{probes.namespace}.svc.cluster.local").ok().split() == addresses


@pytest.mark.parametrize("name", ["no-such-service", "example.com", "www.example.org."])
def test_unknown_names_do_not_exist(probes, name):
    answer = probes.ask("node2", "lookup", name)
    assert answer.status == 1 and "no such host" in answer.errors


@pytest.mark.parametrize("node", NODES)
def test_node_port_answers_on_every_node(cluster, probes, node):
    answer = cluster.run("join", "node1", "curl", "-sS", "--max-time", "3", f"http://{node}:30080/")
    assert answer.ok().split()[0] in {pod["metadata"]["name"] for pod in probes.pods().values()}


def test_joined_program_uses_services_by_name(cluster, probes):
    url = f"http://probe.{probes.namespace}/"
    assert cluster.run("join", "node3", "curl", "-sS", "--max-time", "3", url).ok().startswith("probe-")


def test_nothing_leads_out(cluster, probes):
    answer = cluster.run("routes")
    assert (answer.status, answer.errors) == (0, "")
    for node, address in itertools.product(NODES, OUTSIDE):
        answer = probes.ask(node, "route", address)
        assert answer.status == 1 and "unreachable" in answer.errors


@pytest.mark.parametrize("where", ["node", "pod"])
def test_refuses_a_route_that_leads_out(cluster, probes, where):
    enter = ["exec", "node3"]
    if where == "pod":
        sandbox = cluster.run("exec", "node3", "sh", "-c", "ls /run/netns").ok().split()[0]
        enter += ["nsenter", f"--net=/run/netns/{sandbox}"]
    cluster.run(*enter, "ip", "link", "add", "name", "leak", "type", "bridge").ok()
    try:
        cluster.run(*enter, "ip", "link", "set", "leak", "up").ok()
        cluster.run(*enter, "ip", "route", "add", "default", "dev", "leak").ok()
        for answer in cluster.run("routes"), cluster.up():
            assert answer.status == 1 and "198.51.100.1 dev leak" in answer.errors and "node3" in answer.errors
    finally:
        cluster.run(*enter, "ip", "link", "del", "leak").ok()
    assert cluster.run("routes").status == 0


def test_host_has_no_link_to_the_cluster(cluster):
    answer = cluster.run("residue").ok()
    assert answer.count(" kubelet\n") == 3
    assert [line for line in answer.splitlines() if line.split()[0] not in ("process", "cgroup", "path")] == []


def test_loads_an_archive_once_and_again_when_its_name_moved_on(cluster, probes, probe_archive):
    assert cluster.run("load", probe_archive).errors == ""
    ctr = ["ctr", "--address", "/var/lib/capstan-dev/node2/containerd.sock", "--namespace", "k8s.io", "image"]
    cluster.run("exec", "node2", *ctr, "tag", "--force", "localhost/pause:1", "localhost/capstan-probe:1").ok()
    assert cluster.run("load", probe_archive).errors == "cluster: loaded localhost/capstan-probe:1 on node2\n"
    eventually(5, lambda: cluster.run("load", probe_archive).errors, "")
