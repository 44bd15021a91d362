"""Labels of Kubernetes nodes are Slurm's tree of switches, also for workers on demand, and it follows them while Slurm runs."""
import pytest
from one_object import EXAMPLE, Cluster

import lab as labs

pytestmark = pytest.mark.long

SPINE, LEAF = "test.capstan.dev/spine", "test.capstan.dev/leaf"
SETS = [{"name": "cpu", "replicas": 2, "resources": {"cpu": "1", "memory": "256Mi"}},
        {"name": "burst", "replicas": 1, "resources": {"cpu": "1", "memory": "256Mi"}, "power": {"mode": "OnDemand", "idle": "10m"}}]
CONFIG = EXAMPLE["spec"]["config"]
FASTER = CONFIG | {"slurmConf": CONFIG["slurmConf"] | {"SuspendTimeout": 10, "ResumeTimeout": 120}}


class Tree(Cluster):
    def pods(self):
        return {pod["metadata"]["name"].removeprefix("main-worker-"): pod
                for pod in self.lab.items("pods", "-l", "app.kubernetes.io/component=worker")}

    def uids(self):
        return {host: pod["metadata"]["uid"] for host, pod in self.pods().items()}

    def stand(self, host, spine, leaf):
        labs.kubectl("label", "node", self.pods()[host]["spec"]["nodeName"], "--overwrite", f"{SPINE}={spine}", f"{LEAF}={leaf}")

    def leaves(self):
        """Of each Slurm node the switch that it is at."""
        found = {}
        for line in self.on_controller("scontrol", "-o", "show", "topology").splitlines():
            said = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if said["Level"] == "0" and said["Nodes"]:
                found |= dict.fromkeys(self.on_controller("scontrol", "show", "hostnames", said["Nodes"]).split(), said["SwitchName"])
        return found


@pytest.fixture(scope="module")
def cluster(bare):
    bare.install_operator()
    one = Tree(bare)
    one.apply(nodeSets=SETS, config=FASTER, topology={"labels": [SPINE, LEAF]})
    yield one
    bare.kubectl("delete", "slurmcluster", "main", "--ignore-not-found", timeout=120)
    bare.wait_for("its NodeSets are gone", lambda: not bare.items("nodesets"), within=120)
    labs.kubectl("label", "node", "--all", f"{SPINE}-", f"{LEAF}-")


UNKNOWN = {"cpu-0": "unknown", "cpu-1": "unknown", "burst-0": "unknown"}


def test_the_slurm_nodes_are_where_the_labels_say(cluster):
    cluster.lab.wait_for("two are idle", lambda: cluster.status().get("nodes", {}).get("idle") == 2, within=180)
    cluster.lab.wait_for("all stand somewhere", lambda: cluster.leaves() == UNKNOWN, within=60)
    cluster.lab.wait_for("the missing label is told", lambda: f"has no label {SPINE}" in
                         cluster.lab.condition("nodeset", "main-worker-cpu", "Degraded").get("message", ""), within=30)
    cluster.stand("cpu-0", "s1", "l1")
    cluster.stand("cpu-1", "s2", "l1")
    cluster.lab.wait_for("each is at its leaf", lambda: cluster.leaves() == UNKNOWN | {"cpu-0": "s1/l1", "cpu-1": "s2/l1"}, within=60)


def test_a_changed_label_moves_nodes_and_the_job_of_one_goes_on(cluster):
    before = cluster.uids()
    job = cluster.submit("-w", "cpu-0", "--wrap", "until [ -e /tmp/over ]; do sleep 0.2; done")
    cluster.lab.wait_for("the job runs", lambda: cluster.queued(job) == "RUNNING", within=60)
    cluster.stand("cpu-0", "s3", "l2")
    cluster.stand("cpu-1", "s3", "l3")
    cluster.lab.wait_for("both have moved", lambda: cluster.leaves() == UNKNOWN | {"cpu-0": "s3/l2", "cpu-1": "s3/l3"}, within=60)
    cluster.lab.kubectl("exec", "main-worker-cpu-0", "-c", "slurmd", "--", "touch", "/tmp/over")
    cluster.lab.wait_for("the job is over", lambda: cluster.state(job) == "COMPLETED", within=60)
    assert cluster.uids() == before


def test_a_job_of_several_nodes_takes_one_on_demand_which_then_stands_where_its_worker_is(cluster):
    job = cluster.submit("-N3", "--wrap", "srun true")
    cluster.lab.wait_for("its worker is placed", lambda: cluster.pods().get("burst-0", {}).get("spec", {}).get("nodeName"), within=60)
    cluster.stand("burst-0", "s1", "l9")
    cluster.lab.wait_for("the job is over", lambda: cluster.state(job) == "COMPLETED", within=120)
    cluster.lab.wait_for("it is at its leaf", lambda: cluster.leaves()["burst-0"] == "s1/l9", within=60)


def test_slurmctld_starts_anew_with_the_tree(cluster):
    before = cluster.leaves()
    assert len(before) == 3
    cluster.lab.kubectl("delete", "pod", "main-controller-0")
    cluster.lab.wait_for("it answers", lambda: cluster.lab.kubectl("exec", "main-controller-0", "-c", "slurmctld", "--", "scontrol", "ping",
                                                                  check=False).returncode == 0, within=120)
    assert cluster.leaves() == before


def test_without_the_labels_slurm_has_no_tree(cluster):
    before = cluster.uids()
    cluster.apply(nodeSets=SETS, config=FASTER)
    cluster.lab.wait_for("there is none", lambda: cluster.on_controller("scontrol", "-o", "show", "topology") == "", within=180)
    assert cluster.uids() == before
    assert all("topology.slinky.slurm.net/spec" not in pod["metadata"]["annotations"] for pod in cluster.pods().values())
    job = cluster.submit("-N2", "--wrap", "srun true")
    cluster.lab.wait_for("a job of two nodes is over", lambda: cluster.state(job) == "COMPLETED", within=60)
