"""The cluster under test, and a namespace in it with one probe pod on each node.

The tests own the machine's cluster: they start it, break it and stop it. Files run in the
order of their names, and test_9_lifecycle.py ends with the cluster gone.
"""
import json
import os
import pathlib
import subprocess
import time

import pytest

from evidence import Harm
from patience import patient

CLONE = pathlib.Path(__file__).resolve().parents[2]
PROBE_IMAGE = "localhost/capstan-probe:1"
NODES = ("node1", "node2", "node3")


def clean_environment():
    """The caller's, without the settings that would lead to another cluster or a proxy."""
    return {name: value for name, value in os.environ.items()
            if name != "KUBECONFIG" and not name.lower().endswith("_proxy")}


class Answer:
    """What a command said: its exit status, output and errors."""

    def __init__(self, command, timeout, **options):
        done = subprocess.run(command, timeout=patient(timeout), capture_output=True, text=True, check=False,
                              env=clean_environment(), **options)
        self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
        self.command = " ".join(map(str, command))

    def ok(self):
        assert self.status == 0, f"{self.command}\nended with {self.status}\n{self.output}{self.errors}"
        return self.output.strip()


class Cluster:
    def __init__(self, clone=CLONE):
        self.program = clone / "dev" / "cluster"

    def run(self, *arguments, timeout=60, **options):
        return Answer([self.program, *arguments], timeout, **options)

    def up(self):
        return self.run("up", timeout=240)

    def kubectl(self, *arguments, timeout=60, **options):
        return self.run("kubectl", *arguments, timeout=timeout, **options)

    def get(self, *arguments):
        return json.loads(self.kubectl("get", "-o", "json", *arguments).ok())

    def apply(self, *objects):
        text = "\n---\n".join(json.dumps(item) for item in objects)
        return self.kubectl("apply", "-f", "-", input=text).ok()

    def left_nothing(self):
        left = self.run("residue").ok()
        if left:
            raise Harm(f"the local cluster has left\n{left}")

    def ready_names(self):
        names = [node["metadata"]["name"] for node in self.get("nodes")["items"]]
        return sorted(name for name in names if self.ready(name) == "True")

    def ready(self, node):
        for condition in self.get("node", node)["status"]["conditions"]:
            if condition["type"] == "Ready":
                return condition["status"]
        return "Absent"


def eventually(seconds, look, wanted=True):
    """Looks until what is seen is wanted; fails with what was seen last."""
    deadline = time.monotonic() + patient(seconds)
    while (seen := look()) != wanted:
        assert time.monotonic() < deadline, f"after {seconds} s still {seen!r} instead of {wanted!r}"
        time.sleep(0.25)


@pytest.fixture(scope="session")
def cluster():
    cluster = Cluster()
    cluster.up().ok()
    return cluster


@pytest.fixture(scope="session")
def probe_archive(tmp_path_factory):
    """The test image, built from probe/."""
    folder = tmp_path_factory.mktemp("probe")
    Answer(["env", "CGO_ENABLED=0", "go", "build", "-buildvcs=false", "-trimpath", "-o", folder / "probe", "."], 120,
           cwd=CLONE / "test" / "cluster" / "probe").ok()
    Answer([CLONE / "dev" / "image-tar", "--name", PROBE_IMAGE, "--out", folder / "probe.tar",
            "--entrypoint", "/probe", f"{folder}/probe=/probe"], 30).ok()
    return folder / "probe.tar"


class Probes:
    """One probe pod a node, and two Services before them: "probe" and headless "peers"."""

    namespace = "cluster-test"

    def __init__(self, cluster):
        self.cluster = cluster
        labels = {"app": "probe"}
        container = {"name": "probe", "image": PROBE_IMAGE, "args": ["serve", ":8080"],
                     "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}}
        ports = [{"port": 80, "targetPort": 8080, "nodePort": 30080}]
        cluster.apply(
            self.named("v1", "Namespace", self.namespace, None),
            self.named("apps/v1", "DaemonSet", "probe", {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels},
                             "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}}),
            self.named("v1", "Service", "probe", {"type": "NodePort", "selector": labels, "ports": ports}),
            self.named("v1", "Service", "peers", {"clusterIP": "None", "selector": labels}))
        self.wait()

    def named(self, version, kind, name, spec):
        metadata = {"name": name} if kind == "Namespace" else {"name": name, "namespace": self.namespace}
        return {"apiVersion": version, "kind": kind, "metadata": metadata} | ({"spec": spec} if spec else {})

    def kubectl(self, *arguments, **options):
        return self.cluster.kubectl("--namespace", self.namespace, *arguments, **options)

    def wait(self):
        eventually(60, self.ready_nodes, list(NODES))

    def ready_nodes(self):
        return sorted(node for node, pod in self.pods().items()
                      if self.condition(pod, "Ready").get("status") == "True")

    @staticmethod
    def condition(pod, kind):
        return next((item for item in pod["status"].get("conditions", []) if item["type"] == kind), {})

    def pods(self):
        """The DaemonSet's pods by node."""
        items = self.cluster.get("pods", "--namespace", self.namespace, "--selector", "app=probe")["items"]
        return {pod["spec"]["nodeName"]: pod for pod in items
                if "deletionTimestamp" not in pod["metadata"] and "nodeName" in pod["spec"]}

    def ask(self, node, *arguments):
        """Runs the probe in the pod on a node."""
        return self.kubectl("exec", self.pods()[node]["metadata"]["name"], "--", "/probe", *arguments)


@pytest.fixture(scope="session")
def probes(cluster, probe_archive):
    cluster.run("load", probe_archive, timeout=120).ok()
    yield Probes(cluster)
