"""What users do with pods: exec, logs, volumes, cordon, drain."""
import json
import time
import pathlib

import pytest

from conftest import NODES, PROBE_IMAGE, eventually

pytestmark = pytest.mark.long

AUDIT_LOG = pathlib.Path("/var/lib/capstan-dev/audit/audit.log")


def test_exec_and_logs_reach_every_node(probes):
    for node, pod in probes.pods().items():
        name = pod["metadata"]["name"]
        assert probes.ask(node, "read", "/etc/hostname").ok() == name
        assert probes.kubectl("logs", name).ok() == f"serving as {name}"


def test_volume_is_shared_by_pods_that_are_not_root(cluster, probes):
    def pod(name, node, *command):
        return probes.named("v1", "Pod", name, {
            "nodeName": node, "restartPolicy": "Never", "securityContext": {"runAsUser": 401, "runAsGroup": 401},
            "containers": [{"name": "probe", "image": PROBE_IMAGE, "args": command,
                            "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]})

    cluster.apply(probes.named("v1", "PersistentVolumeClaim", "data", {
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}}))
    probes.kubectl("wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", "--timeout=30s").ok()
    cluster.apply(pod("writer", "node1", "write", "/data/file", "kept"))
    probes.kubectl("wait", "pod/writer", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s").ok()
    cluster.apply(pod("reader", "node3", "read", "/data/file"))
    probes.kubectl("wait", "pod/reader", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=30s").ok()
    assert probes.kubectl("logs", "reader").ok() == "kept"
    volume = probes.kubectl("get", "pvc", "data", "-o", "jsonpath={.spec.volumeName}").ok()
    probes.kubectl("delete", "pod/writer", "pod/reader", "pvc/data", "--timeout=30s").ok()
    probes.kubectl("wait", f"pv/{volume}", "--for=delete", "--timeout=30s").ok()


def test_drain_moves_pods_and_uncordon_admits_them(cluster, probes):
    labels = {"app": "moving"}
    cluster.apply(
        probes.named("apps/v1", "Deployment", "moving", {
            "replicas": 2, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "terminationGracePeriodSeconds": 1,
                "containers": [{"name": "probe", "image": PROBE_IMAGE, "args": ["serve", ":8081"]}]}}}),
        probes.named("policy/v1", "PodDisruptionBudget", "moving", {
            "minAvailable": 1, "selector": {"matchLabels": labels}}))
    probes.kubectl("rollout", "status", "deployment/moving", "--timeout=30s").ok()

    def places():
        items = cluster.get("pods", "--namespace", probes.namespace, "--selector", "app=moving")["items"]
        return {pod["spec"].get("nodeName") for pod in items if "deletionTimestamp" not in pod["metadata"]}

    for node in ("node1", "node2"):
        cluster.kubectl("cordon", node).ok()
    for node in ("node1", "node2"):
        cluster.kubectl("drain", node, "--ignore-daemonsets", "--pod-selector=app=moving", "--timeout=60s", timeout=70).ok()
    eventually(20, places, {"node3"})
    for node in ("node1", "node2"):
        cluster.kubectl("uncordon", node).ok()
    probes.kubectl("delete", "deployment/moving", "pdb/moving").ok()


def test_pods_tolerate_a_lost_node_for_thirty_seconds(cluster, probes):
    cluster.apply(probes.named("v1", "Pod", "tolerant", {
        "containers": [{"name": "probe", "image": PROBE_IMAGE, "args": ["serve", ":8082"]}]}))
    tolerations = cluster.get("pod", "tolerant", "--namespace", probes.namespace)["spec"]["tolerations"]
    probes.kubectl("delete", "pod/tolerant", "--grace-period=1").ok()
    assert {(item["key"], item["tolerationSeconds"]) for item in tolerations} == {
        ("node.kubernetes.io/not-ready", 30), ("node.kubernetes.io/unreachable", 30)}


def test_aggregated_apis_could_authenticate_callers(cluster):
    settings = cluster.get("configmap", "extension-apiserver-authentication", "--namespace", "kube-system")["data"]
    assert settings["requestheader-client-ca-file"].startswith("-----BEGIN CERTIFICATE")
    assert json.loads(settings["requestheader-allowed-names"]) == ["front-proxy-client"]


def test_audit_log_tells_who_wrote_what(cluster, probes):
    name = f"audited-{time.time_ns()}"  # the log outlives a run
    probes.kubectl("create", "configmap", name).ok()

    def written():
        events = (json.loads(line) for line in AUDIT_LOG.read_text().splitlines() if f'"{name}"' in line)
        return [(event["user"]["username"], event["verb"]) for event in events]

    eventually(10, written, [("admin", "create")])
    probes.kubectl("delete", "configmap", name).ok()


def test_each_node_has_its_own_processes(cluster):
    for node in NODES:
        assert cluster.run("exec", node, "hostname").ok() == node
        names = cluster.run("exec", node, "sh", "-c", "cat /proc/[0-9]*/comm").ok().split("\n")
        assert names.count("kubelet") == 1 and "kube-apiserver" not in names
