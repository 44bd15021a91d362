"""Figures of Slurm clusters that are one object each: examples/slurmcluster/small.yaml, on the local cluster."""
import json
import time

import cluster
import yaml

IMAGES = (*cluster.IMAGES, "slurmdbd", "login", "mariadb")
CLUSTERS = 20
SMALL = yaml.safe_load((cluster.ROOT / "examples/slurmcluster/small.yaml").read_text())


def prepare():
    cluster.prepare(IMAGES)


def apply(lab, spec):
    lab.kubectl("apply", "-f", "-", text_in=json.dumps(SMALL | {"spec": spec}))


def wait_until_ready(lab, within):
    def phase():
        return (lab.get("slurmclusters", "main") or {}).get("status", {}).get("phase")

    lab.wait_for("it is ready", lambda: phase() == "Ready", within)


def measure(figures):
    runs = []
    for _ in range(3):
        cluster.fresh()
        began = time.monotonic()
        apply(cluster.slurm, SMALL["spec"])
        wait_until_ready(cluster.slurm, within=240)
        runs.append(time.monotonic() - began)
    figures.add("slurmcluster_ready_s", runs, "s", "<= 120", "slurmcluster")
    cluster.measure_quiet(figures, "slurmcluster_", "", "slurmcluster", {})
    cluster.lab.erase()


def measure_many(figures):
    """One operator of twenty, each of a slurmctld, a slurmrestd and a worker."""
    cluster.fresh()
    spec = {"config": SMALL["spec"]["config"], "nodeSets": [SMALL["spec"]["nodeSets"][0] | {"replicas": 1}]}
    clusters = [cluster.lab.Lab(f"bench-{i:02}", cluster.slurm.operator_namespace, everywhere=True) for i in range(CLUSTERS)]
    for one in clusters:
        one.make_namespaces()
        apply(one, spec)
    for one in clusters:
        wait_until_ready(one, within=600)
    cluster.measure_memory(figures, "operator_rss_mib_20_slurmclusters", "<= 28", "slurmclusters")
    cluster.lab.erase()


GROUPS = {"slurmcluster": measure, "slurmclusters": measure_many}
