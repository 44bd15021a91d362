"""Figures of two slurmctld: how long nobody takes a job when the pod, or the machine, of the one in charge is lost."""
import importlib
import os

import cluster

ROUNDS = int(os.environ.get("ROUNDS", 3))
NODES = ("node4", "node5")  # of both slurmctld


def measure(figures):
    standby = importlib.import_module("standby")
    slurm = cluster.slurm
    cluster.fresh()
    pods, machines = [], []
    with standby.apart(slurm, NODES):
        for _ in range(ROUNDS):
            slurm.kubectl("delete", "pod", standby.pod(0), "--force", "--grace-period=0")
            pods.append(standby.takes_a_job(slurm))
            standby.both_stand(slurm)
        for _ in range(ROUNDS):
            with standby.lost(slurm):
                machines.append(standby.takes_a_job(slurm))
    figures.add("takeover_pod_s", pods, "s", "<= 30", "takeover")
    figures.add("takeover_node_s", machines, "s", "<= 60", "takeover")
    cluster.lab.erase()


prepare = cluster.prepare
GROUPS = {"takeover": measure}
