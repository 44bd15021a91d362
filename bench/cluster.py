"""Figures of the operator on the local cluster: what installing takes, and what it costs at rest.

Nothing leaves this machine: the API server is reached on loopback.
"""
import base64
import concurrent.futures
import contextlib
import http.client
import importlib
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test" / folder) for folder in ("e2e", "support")]
lab = None  # test/e2e/lab.py, which wants a cluster when it is loaded: prepare()
slurm = None  # a lab.Lab: what is measured

NOISE = "bench-noise"
IMAGES = ("slurmctld", "slurmd", "slurmrestd", "capstan")


# --- The API server, without kubectl's own throttle ------------------------------------------------------------------------

class Api:
    """Many small requests over one kept-alive connection each thread."""

    def __init__(self):
        config = yaml.safe_load(pathlib.Path(lab.KUBECONFIG).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host = cluster["server"].removeprefix("https://")
        assert self.host.startswith("127.0.0.1:"), "load is for this machine's own API server only"
        self.tls = ssl.create_default_context(cadata=self.text(cluster, "certificate-authority").decode())
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(self.text(user, "client-certificate") + b"\n" + self.text(user, "client-key"))
            pem.flush()
            self.tls.load_cert_chain(pem.name)

    @staticmethod
    def text(where, name):
        inline = where.get(name + "-data")
        return base64.b64decode(inline) if inline else pathlib.Path(where[name]).read_bytes()

    def create(self, path, objects):
        connection = http.client.HTTPSConnection(self.host, context=self.tls, timeout=60)
        for item in objects:
            connection.request("POST", path, json.dumps(item), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status in (201, 409), text[:300]
        connection.close()


def fill(count):
    """Foreign pods that nobody schedules, and foreign Secrets of 1 KiB."""
    lab.kubectl("create", "namespace", NOISE, check=False)
    api = Api()
    pods = [{"metadata": {"name": f"p-{i:05}", "labels": {"app": "foreign"}},
             "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "example/foreign:1"}]}}
            for i in range(count)]
    data = base64.b64encode(b"x" * 1024).decode()
    secrets = [{"metadata": {"name": f"s-{i:05}"}, "data": {"blob": data}} for i in range(count)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(api.create, f"/api/v1/namespaces/{NOISE}/{kind}", objects[part::2])
                for kind, objects in (("pods", pods), ("secrets", secrets)) for part in range(2)]
        for job in jobs:
            job.result()


# --- The operator ------------------------------------------------------------------------------------------------------------

def process_of(*words):
    """The number of the one process of the lab's pods whose command line begins so."""
    pid, = slurm.processes("capstan", *words)
    return pid


def rss_mib(*words):
    status = pathlib.Path(f"/proc/{process_of(*words)}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def cpu_s(*words):
    """So far."""
    return time.clock_gettime_ns((~process_of(*words) << 3) | 2) / 1e9


def operator_rss_mib():
    return rss_mib("operator")


def restart_operator():
    rollout("restart")
    wait_for_operator()
    lab.wait_for("one operator", lambda: len(slurm.processes("capstan", "operator")) == 1, within=60)


def wait_for_operator():
    rollout("status", "--timeout=90s")


def rollout(verb, *options):
    lab.kubectl("-n", slurm.operator_namespace, "rollout", verb, f"deployment/{slurm.operator}", *options, timeout=100)


def writes_in_audit_log(since, until):
    """Successful or not: every request of the operator's account that could change something, besides the lease."""
    count = 0
    account = f"system:serviceaccount:{slurm.operator_namespace}:{slurm.operator}"
    for log in sorted(pathlib.Path("/var/lib/capstan-dev/audit").glob("*.log")):
        for line in log.open():
            if account not in line:
                continue
            event = json.loads(line)
            if event["stage"] != "ResponseComplete" or event["user"]["username"] != account:
                continue
            if event["verb"] in ("get", "list", "watch") or event["objectRef"].get("resource") == "leases":
                continue
            count += since <= event["requestReceivedTimestamp"] <= until
    return count


def utc(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


def fresh():
    lab.erase()
    lab.install_kinds()
    slurm.make_namespaces()
    slurm.install_operator()
    wait_for_operator()


# --- Machines that kwok plays ---------------------------------------------------------------------------------------------

def kwok_node(name, size, labels=(), addresses=()):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok", **dict(labels)}},
        "spec": {"taints": [{"key": "kwok", "effect": "NoSchedule"}]},
        "status": {"allocatable": size, "capacity": size, "addresses": list(addresses)}}


@contextlib.contextmanager
def kwok(*options):
    """Keeps such nodes Ready and runs their pods; they are deleted in the end."""
    with open(ROOT / "build/kwok.log", "wb") as log:
        process = subprocess.Popen([ROOT / "build/tools/kwok", "--kubeconfig", lab.KUBECONFIG, "--manage-all-nodes=false",
                                    "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", *options], stdout=log, stderr=log)
        try:
            yield
        finally:
            lab.kubectl("delete", "nodes", "-l", "type=kwok", "--wait=false", timeout=300)
            process.terminate()
            process.wait(20)


# --- The groups ----------------------------------------------------------------------------------------------------------------

def measure_install(figures):
    runs = []
    for _ in range(3):
        fresh()
        began = time.monotonic()
        slurm.install_slurm()
        slurm.wait_for_idle(3, within=120, ready=False)
        runs.append(time.monotonic() - began)
    figures.add("install_to_idle_s", runs, "s", "<= 25", "install")
    lab.erase()


def measure_quiet(figures, prefix, memory_asked, group, peers):
    """What the operator needs and does while nothing happens."""
    def add(key, value, unit, asked):
        figures.add(prefix + key, [value], unit, asked, group, peer=peers.get(key))
    time.sleep(60)
    add("operator_rss_mib_idle", operator_rss_mib(), "MiB", memory_asked)
    began = time.time()
    time.sleep(300)
    add("writes_at_rest", writes_in_audit_log(utc(began), utc(began + 300)), "in 5 min", "0")


def measure_memory(figures, key, asked, group):
    """Of the operator, as it has become and started anew."""
    time.sleep(60)
    figures.add(key, [operator_rss_mib()], "MiB", asked, group)
    restart_operator()
    time.sleep(60)
    figures.add(f"{key}_restarted", [operator_rss_mib()], "MiB", asked, group)


def measure_rest(figures):
    fresh()
    slurm.install_slurm()
    slurm.wait_for_idle(3, within=120)
    measure_quiet(figures, "", "<= 12", "rest", {"operator_rss_mib_idle": 71, "writes_at_rest": 39})
    fill(5000)
    restart_operator()
    time.sleep(60)
    figures.add("operator_rss_mib_noise", [operator_rss_mib()], "MiB", "<= 14", "rest", peer=143)
    lab.kubectl("delete", "namespace", NOISE, "--wait=false")
    lab.erase()


def measure_image(figures):
    line = subprocess.run(["dev/images", "--sizes", "capstan"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    figures.add("image_mib", [float(line.split()[1])], "MiB", "<= 10", "image", peer=18)


def prepare(images=IMAGES):
    global lab, slurm
    for command in ("dev/tools", "dev/build release capstan capstan-entry", "dev/images", "dev/cluster up",
                    "dev/cluster routes", "dev/cluster load " + " ".join(f"build/images/{name}.tar" for name in images)):
        subprocess.run(command.split(), cwd=ROOT, check=True)
    lab = importlib.import_module("lab")
    slurm = lab.Lab("slurm", "slinky", everywhere=True)


GROUPS = {"image": measure_image, "install": measure_install, "rest": measure_rest}
