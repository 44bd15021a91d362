"""Figures of workers on the local cluster: how soon they go, are renewed and are told of; and what a thousand cost.

Seen from outside: by slurmctld's own words, by the API server's audit log and by a watch. The thousand run on a node that
kwok plays on the real API server; their records in Slurm are real, and nobody is behind them.
"""
import concurrent.futures
import contextlib
import importlib
import json
import os
import subprocess
import threading
import time

import cluster
from figures import percentile

ROUNDS = int(os.environ.get("ROUNDS", 5))
WORKERS = 6
MANY, FOREIGN = 1000, 10_000
FAKE = "fake1"  # kwok's node
rolling = None  # test/e2e/rolling.py, with the cluster


def prepare():
    global rolling
    cluster.prepare()
    subprocess.run(["dev/tools", "kwok"], cwd=cluster.ROOT, check=True)
    rolling = importlib.import_module("rolling")


# --- Few workers -------------------------------------------------------------------------------------------------------------

class Drained:
    """When slurmctld first says of each node that it is drained, looked for all the time."""

    def __init__(self):
        look = 'while :; do date +%s.%N; sinfo -h -N -o "%N %T"; sleep 0.01; done'
        self.process = subprocess.Popen([cluster.ROOT / "build/tools/kubectl", "--kubeconfig", cluster.lab.KUBECONFIG, "-n",
                                         cluster.slurm.namespace, "exec", "slurm-controller-0", "-c", "slurmctld", "--", "sh", "-c", look],
                                        stdout=subprocess.PIPE, text=True)
        self.at = {}
        self.reading = threading.Thread(target=self._read)
        self.reading.start()

    def _read(self):
        now = 0.0
        for line in self.process.stdout:
            words = line.split()
            if len(words) == 1:
                now = float(words[0])
            elif words[1] == "drained":
                self.at.setdefault(words[0], now)

    def stop(self):
        self.process.kill()
        self.reading.join()
        return self.at


def scale_in(count):
    """Of idle workers, to one: seconds until the last of the others was asked to go, and milliseconds from drained to that."""
    slurm, lab = cluster.slurm, cluster.lab
    slurm.scale(count)
    slurm.wait_for_idle(count, within=180)
    looking = Drained()
    time.sleep(2)
    began = time.time()
    slurm.scale(1)
    slurm.wait_for("one is left", lambda: len(slurm.worker_pods()) == 1, within=120)
    drained = looking.stop()
    asked = {i: slurm.asked_to_delete(f"{lab.NODESET}-{i}", began)[0] for i in range(1, count)}
    return max(asked.values()) - began, [1000 * (when - drained[f"slinky-{i}"]) for i, when in asked.items()]


def starts():
    """The sum of what it takes one worker after another to come back after its pod was deleted."""
    slurm, lab = cluster.slurm, cluster.lab
    began = time.monotonic()
    for i in range(WORKERS):
        before = slurm.uid_of(i)
        slurm.kubectl("delete", "pod", f"{lab.NODESET}-{i}", "--wait=false")
        slurm.wait_for("it is back", lambda: slurm.uid_of(i) not in (None, False, before), within=90, every=0.05)
        slurm.wait_for_idle(WORKERS, within=90)
    return time.monotonic() - began


def rolling_update(note):
    slurm = cluster.slurm
    before = rolling.revisions(slurm)
    began = time.monotonic()
    rolling.set_note(slurm, note)
    slurm.wait_for("all are renewed", lambda: rolling.renewed(slurm, before), within=300)
    slurm.wait_for_idle(WORKERS, within=90)
    return time.monotonic() - began


@contextlib.contextmanager
def watched_conditions():
    """(time, pod, types of conditions that are true), as the API server tells them."""
    seen = []
    words = [cluster.ROOT / "build/tools/kubectl", "--kubeconfig", cluster.lab.KUBECONFIG, "-n", cluster.slurm.namespace, "get", "pods", "-w",
             "--no-headers", "-o", "custom-columns=NAME:.metadata.name,TYPES:.status.conditions[?(@.status=='True')].type"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def read():
        for line in process.stdout:
            name, types = line.split()
            seen.append((time.time(), name, set(types.split(","))))

    reading = threading.Thread(target=read)
    reading.start()
    try:
        yield seen
    finally:
        process.kill()
        reading.join()


def condition_lags():
    """Milliseconds from just before a node changes in Slurm until its pod says so, while jobs come and go."""
    slurm, lab = cluster.slurm, cluster.lab
    lags = []
    with watched_conditions() as seen, concurrent.futures.ThreadPoolExecutor(1) as pool:
        jobs = pool.submit(slurm.submit_stream, 300)
        time.sleep(5)
        for change in range(20):
            node, to = change // 2 % 3, ("resume", "drain reason=bench")[change % 2 == 0]
            said = slurm.in_controller_result("sh", "-c", f"date +%s.%N; scontrol update nodename=slinky-{node} state={to}")
            began, wanted = float(said.stdout.split()[0]), change % 2 == 0
            pod = f"{lab.NODESET}-{node}"

            def told():
                return next((when for when, name, types in list(seen)
                             if when > began and name == pod and ("SlurmNodeStateDrain" in types) == wanted), None)
            lags.append(1000 * (slurm.wait_for("the pod says it", told, within=60, every=0.05) - began))
        jobs.result()
    return lags


def measure_workers(figures):
    slurm = cluster.slurm
    cluster.fresh()
    slurm.install_slurm()
    slurm.wait_for_idle(3, within=120)
    runs = [scale_in(3) for _ in range(ROUNDS)]
    figures.add("scale_in_idle_s", [seconds for seconds, _ in runs], "s", "<= 2", "workers")
    gone = [one for _, each in runs for one in each]
    slurm.scale(3)
    slurm.wait_for_idle(3, within=120)
    lags = condition_lags()
    figures.add("pod_condition_lag_ms_p50", lags, "ms", "-", "workers")
    figures.add("pod_condition_lag_ms_p99", [percentile(lags, 99)], "ms", "<= 2000", "workers")
    slurm.install_slurm(f"nodesets.slinky.replicas={WORKERS}", "nodesets.slinky.oversubscribeNode=true",
                        "nodesets.slinky.updateStrategy.rollingUpdate.maxUnavailable=1")
    slurm.wait_for("it is seen", lambda: len(slurm.worker_pods()) == WORKERS, within=180)
    slurm.wait_for("nothing is under way", lambda: slurm.condition("nodesets", cluster.lab.NODESET, "Progressing")["status"] == "False",
                   within=300)
    slurm.wait_for_idle(WORKERS, within=180)
    sums, rolls = [], []
    for number in range(max(1, ROUNDS // 2)):
        sums.append(starts())
        rolls.append(rolling_update(f"round {number}"))
    figures.add("six_worker_starts_s", sums, "s", "-", "workers")
    figures.add("rolling_update_6_s", rolls, "s", "<= 1.3 x six_worker_starts_s", "workers")
    figures.add("rolling_update_6_ratio", [roll / each for roll, each in zip(rolls, sums)], "", "<= 1.3", "workers")
    for _ in range(ROUNDS):
        gone += scale_in(WORKERS)[1]
    figures.add("drained_to_deleted_ms_p50", gone, "ms", "-", "workers")
    figures.add("drained_to_deleted_ms_p99", [percentile(gone, 99)], "ms", "<= 1000", "workers")
    cluster.lab.erase()


# --- A thousand ----------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def one_machine():
    with cluster.kwok():
        much = {"cpu": "4000", "memory": "8Ti", "pods": str(2 * MANY)}
        cluster.lab.kubectl("apply", "-f", "-", text_in=json.dumps(cluster.kwok_node(FAKE, much)))
        yield


def unregistered():
    """Workers that run and of which Slurm has no record."""
    pods = cluster.slurm.kubectl("get", "pods", "-l", "app.kubernetes.io/component=worker", "--field-selector=status.phase=Running", "-o",
                                 "jsonpath={.items[*].metadata.name}").split()
    return sorted({f"slinky-{name.rpartition('-')[2]}" for name in pods} - (cluster.slurm.records() or {}).keys())


@contextlib.contextmanager
def registered():
    """Slurm gets a record of each worker that runs, as of a slurmd that registers."""
    ended = threading.Event()

    def register():
        while not ended.wait(0.5):
            names = unregistered()
            if names:
                cluster.slurm.in_controller_result("scontrol", "create", f"nodename={','.join(names)}", "features=slinky", "state=cloud",
                                                   "cpus=4")

    thread = threading.Thread(target=register)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def measure_many(figures):
    slurm, lab = cluster.slurm, cluster.lab
    cluster.fresh()
    with one_machine(), registered():
        place = {"nodeSelector": {"type": "kwok"}, "tolerations": [{"key": "kwok", "operator": "Exists"}]}
        slurm.install_slurm("nodesets.slinky.replicas=0", "nodesets.slinky.oversubscribeNode=true",
                            "controller.extraConfMap.MaxNodeCount=2000", values={"nodesets": {"slinky": {"podSpec": place}}})
        slurm.wait_for("slurmctld answers", lambda: slurm.records() == {}, within=120)
        time.sleep(20)
        before, began = cluster.cpu_s("operator"), time.monotonic()
        slurm.scale(MANY)
        slurm.wait_for("all are ready", lambda: slurm.get("nodesets", lab.NODESET)["status"].get("readyReplicas") == MANY and
                       not unregistered(), within=900, every=1)
        figures.add("nodeset_1000_up_cpu_s", [cluster.cpu_s("operator") - before], "s", "-", "many")
        figures.add("nodeset_1000_up_s", [time.monotonic() - began], "s", "-", "many")
        cluster.fill(FOREIGN)
        time.sleep(30)
        figures.add("operator_rss_mib_1000_grown", [cluster.operator_rss_mib()], "MiB", "-", "many")
        cluster.restart_operator()
        time.sleep(60)
        figures.add("operator_rss_mib_1000", [cluster.operator_rss_mib()], "MiB", "<= 40", "many")
        lab.kubectl("delete", "namespace", cluster.NOISE, "--wait=false")
        # Nobody drains what has no slurmd.
        slurm.kubectl("delete", "deployment,replicaset", "--all", "-n", slurm.operator_namespace, "--wait=false")
        pods = slurm.worker_pods()
        slurm.kubectl("delete", "pods", *pods, "--grace-period=0", "--force", "--wait=false", timeout=300)
        slurm.kubectl("patch", "nodesets", lab.NODESET, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    lab.erase()


GROUPS = {"workers": measure_workers, "many": measure_many}
