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


def time_until_ready(spec):
    runs = []
    for _ in range(3):
        cluster.fresh()
        began = time.monotonic()
        apply(cluster.slurm, spec)
        wait_until_ready(cluster.slurm, within=240)
        runs.append(time.monotonic() - began)
    return runs


def measure(figures):
    """Without a root, and with one that is filled from the image of logins; at rest with it."""
    source = {"image": f"{cluster.lab.IMAGES}/login:26.05", "imagePullPolicy": "IfNotPresent"}
    rooted = SMALL["spec"] | {"sharedRoot": {"claim": {"size": "2Gi"}, "source": source}}
    figures.add("slurmcluster_without_root_ready_s", time_until_ready(SMALL["spec"]), "s", "", "slurmcluster")
    figures.add("slurmcluster_ready_s", time_until_ready(rooted), "s", "<= 120", "slurmcluster")
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


def measure_power(figures):
    """From srun until it is over, where Slurm has powered all nodes down and the images are there."""
    cluster.fresh()
    on_demand = SMALL["spec"]["nodeSets"][0] | {"resources": {"cpu": "1", "memory": "256Mi"}, "power": {"mode": "OnDemand", "idle": "5s"}}
    config = SMALL["spec"]["config"]
    faster = config | {"slurmConf": config["slurmConf"] | {"SuspendTimeout": 10}}
    apply(cluster.slurm, SMALL["spec"] | {"nodeSets": [on_demand], "config": faster})
    wait_until_ready(cluster.slurm, within=240)

    def in_login(*words):
        return cluster.slurm.kubectl("exec", "deploy/main-login", "-c", "login", "--", *words, timeout=180)

    def are_down():
        states = in_login("sinfo", "-h", "-N", "-o", "%T").split()
        return len(states) == on_demand["replicas"] and set(states) == {"idle~"}

    runs = []
    for _ in range(3):
        cluster.slurm.wait_for("all are powered down", are_down, within=180)
        began = time.monotonic()
        in_login("srun", "-N2", "true")
        runs.append(time.monotonic() - began)
    figures.add("power_up_to_job_s", runs, "s", "<= 30", "power")
    cluster.lab.erase()


GROUPS = {"slurmcluster": measure, "slurmclusters": measure_many, "power": measure_power}
