"""Figures of what a changed configuration takes, of doctor, and of many and large clusters."""
import json
import subprocess
import time

import cluster
import yaml

CHANGES = 20
CLUSTERS = 20
CAPSTAN = "build/release/bin/capstan"


def prepare():
    cluster.prepare()


def reconfigurer():
    """What the container of slurmctld says of the configuration that is live."""
    return json.loads(cluster.lab.kubectl(
        "get", "--raw", f"/api/v1/namespaces/{cluster.slurm.namespace}/pods/slurm-controller-0:6815/proxy/configuration"))


def slurmctld():
    """Its pod, and how often its containers were started."""
    pod = cluster.slurm.get("pod", "slurm-controller-0")
    return pod["metadata"]["uid"], sum(status["restartCount"] for status in pod["status"]["containerStatuses"])


def seconds_until_live(seconds):
    """From the change of spec.extraConf until `scontrol show config` shows it."""
    slurm = cluster.slurm
    before = slurm.get("controllers", "slurm")["spec"].get("extraConf", "")
    lines = [line for line in before.splitlines() if not line.startswith("KillWait=")]
    patch = {"spec": {"extraConf": "\n".join([*lines, f"KillWait={seconds}"]) + "\n"}}
    look = f"until scontrol show config | grep -q 'KillWait  *= {seconds} sec'; do sleep 0.05; done"
    watching = subprocess.Popen([cluster.ROOT / "build/tools/kubectl", "--kubeconfig", cluster.lab.KUBECONFIG, "-n", slurm.namespace,
                                 "exec", "slurm-controller-0", "-c", "slurmctld", "--", "sh", "-c", look])
    time.sleep(2)  # it looks already when the change comes
    began = time.monotonic()
    slurm.kubectl("patch", "controller", "slurm", "--type=merge", "-p", json.dumps(patch))
    watching.wait(timeout=120)
    return time.monotonic() - began


def measure_changes(figures):
    cluster.fresh()
    cluster.slurm.install_slurm()
    cluster.slurm.wait_for_idle(3, within=120)
    cluster.slurm.wait_for("what is published is live", lambda: cluster.slurm.condition("controllers", "slurm", "ConfigLive")["status"] == "True",
                           within=60)
    pod, restarts, reconfigures = *slurmctld(), reconfigurer()["reconfigures"]
    runs = []
    for change in range(CHANGES):
        runs.append(seconds_until_live(40 + change))
        time.sleep(3)
    pod_then, restarts_then = slurmctld()
    figures.add("conf_change_to_live_s_p50", runs, "s", "-", "changes")
    figures.add("conf_change_to_live_s_p99", [max(runs)], "s", "<= 5", "changes")
    figures.add("reconfigures_per_change", [(reconfigurer()["reconfigures"] - reconfigures) / CHANGES], "", "1", "changes")
    figures.add("slurmctld_restarts_over_20_changes", [restarts_then - restarts + (pod_then != pod)], "", "0", "changes")
    figures.add("doctor_s", [doctor() for _ in range(5)], "s", "<= 2", "changes")
    cluster.lab.erase()


def doctor():
    began = time.monotonic()
    done = subprocess.run([CAPSTAN, "doctor", "--kubeconfig", cluster.lab.KUBECONFIG, "-n", cluster.slurm.namespace], cwd=cluster.ROOT,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), done.stderr
    return time.monotonic() - began


def measure_large(figures):
    """The ConfigMap of a cluster with 10,000 workers: a hundred NodeSets with a partition each."""
    objects = [{"apiVersion": "slinky.slurm.net/v1beta1", "kind": "Controller", "metadata": {"name": "slurm", "namespace": "slurm"},
                "spec": {"slurmKeyRef": {"name": "slurm", "key": "slurm.key"}, "jwtKeyRef": {"name": "jwt", "key": "jwt.key"},
                         "extraConf": "MaxNodeCount=10000\n"}}]
    objects += [{"apiVersion": "slinky.slurm.net/v1beta1", "kind": "NodeSet", "metadata": {"name": f"workers-{i:02}", "namespace": "slurm"},
                 "spec": {"controllerRef": {"name": "slurm"}, "replicas": 100, "slurmd": {"image": "slurmd"},
                          "partition": {"enabled": True, "config": "State=UP MaxTime=7-00:00:00 OverSubscribe=NO"}}} for i in range(100)]
    rendered = subprocess.run([CAPSTAN, "render", "-"], cwd=cluster.ROOT, input=yaml.safe_dump_all(objects), capture_output=True, text=True)
    config = next(item for item in yaml.safe_load_all(rendered.stdout)
                  if item and item["kind"] == "ConfigMap" and item["metadata"]["name"] == "slurm-config")
    assert config["data"]["slurm.conf"].count("PartitionName=") == 100
    figures.add("render_10k_nodes_kib", [sum(len(text) for text in config["data"].values()) / 1024], "KiB", "<= 200", "large")


def measure_clusters(figures):
    """One operator of twenty clusters, each of a slurmctld, a slurmrestd and a worker."""
    cluster.fresh()
    clusters = [cluster.lab.Lab(f"bench-{i:02}", cluster.slurm.operator_namespace, everywhere=True) for i in range(CLUSTERS)]
    for one in clusters:
        one.make_namespaces()
        one.install_slurm("nodesets.slinky.replicas=1")
    for one in clusters:
        one.wait_for_idle(1, within=600)
    cluster.measure_memory(figures, "operator_rss_mib_20_clusters", "<= 25", "clusters")
    cluster.lab.erase()


GROUPS = {"changes": measure_changes, "large": measure_large, "clusters": measure_clusters}
