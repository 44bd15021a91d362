"""Figures of the bridge: what one look at a group costs and how often it calls (bench/bridge), and what it does with a thousand
machines without a slurmd on the local cluster.

The machines are Node objects that kwok keeps Ready, and kwok runs the pods there. The API server and its scheduler, slurmctld,
slurmrestd and the bridge are the real ones; times are those of the API server's audit log and of slurmctld's.
"""
import base64
import concurrent.futures
import datetime
import http.client
import json
import os
import pathlib
import re
import subprocess
import time

import cluster
from figures import percentile

ROUNDS = int(os.environ.get("ROUNDS", 5))
BIN = cluster.ROOT / "build" / "release" / "bin"
PODS = "bench-bridge-pods"
# As a site with so many nodes sets it: by itself slurmctld looks at a hundred jobs every three seconds.
SCHEDULER = "controller.extraConfMap.SchedulerParameters=default_queue_depth=10000\\,batch_sched_delay=0\\,sched_interval=1"
MACHINES, MANY, TRICKLE, REVIEWS = 1000, 10_000, 200, 2000
GROUP = "bridge"
CONTROLLERS = ("bridge", "controllers")


def prepare():
    cluster.prepare()
    subprocess.run(["dev/tools", "kwok"], cwd=cluster.ROOT, check=True)
    subprocess.run(["dev/build", "release", "bench_bridge_decide", "bench_bridge_calls"], cwd=cluster.ROOT, check=True)


# --- Without a cluster -------------------------------------------------------------------------------------------------------

def slowest_look(pods):
    """The 99th percentile of the slowest kind of look, in milliseconds."""
    text = subprocess.run([BIN / "bench_bridge_decide", str(pods)], check=True, capture_output=True, text=True).stdout
    return max(float(line.split()[2]) for line in text.splitlines())


def calls_and_writes():
    text = subprocess.run([BIN / "bench_bridge_calls", "500"], check=True, capture_output=True, text=True).stdout
    return [float(word) for word in text.split()]


def measure_looks(figures):
    figures.add("bridge_decide_ms_p99", [max(slowest_look(1000), slowest_look(10_000)) for _ in range(ROUNDS)], "ms", "<= 1", GROUP, peer=1400)
    calls, writes = calls_and_writes()
    figures.add("bridge_slurm_calls_per_pod", [calls], "", "<= 6", GROUP)
    figures.add("bridge_writes_per_pod", [writes], "", "<= 4", GROUP)


# --- A thousand machines -----------------------------------------------------------------------------------------------------

def machine(number):
    address = {"type": "InternalIP", "address": f"127.1.{number // 250}.{number % 250 + 1}"}
    return cluster.kwok_node(f"fake-{number:04}", {"cpu": "4", "memory": "16Gi", "pods": "110"},
                             {"scheduler.slinky.slurm.net/external-node": "true"}, [address])


def not_ready():
    """The machines on which Kubernetes' own taint still is."""
    nodes = cluster.lab.items("nodes", "-l", "type=kwok")
    return [node for node in nodes if any(taint["key"] == "node.kubernetes.io/not-ready" for taint in node["spec"].get("taints", []))]


def create(path, objects, ways=4):
    api = cluster.Api()
    with concurrent.futures.ThreadPoolExecutor(ways) as pool:
        for job in [pool.submit(api.create, path, objects[way::ways]) for way in range(ways)]:
            job.result()


def create_pods(prefix, count):
    create(f"/api/v1/namespaces/{PODS}/pods", [{
        "metadata": {"name": f"{prefix}-{i:05}"},
        "spec": {"terminationGracePeriodSeconds": 0, "tolerations": [{"key": "kwok", "operator": "Exists"}],
                 "containers": [{"name": "c", "image": "example/nothing:1", "resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}]}}
        for i in range(count)])


class Server:
    """The local API server, asked for little."""

    def __init__(self):
        self.api = cluster.Api()

    def ask(self, method, path):
        connection = http.client.HTTPSConnection(self.api.host, context=self.api.tls, timeout=60)
        connection.request(method, path)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status in (200, 202, 404), text[:300]
        return json.loads(text)

    def unbound(self):
        """A pod of the bridged namespace is on no node."""
        page = self.ask("GET", f"/api/v1/namespaces/{PODS}/pods?limit=1&fieldSelector=spec.nodeName%3D")
        return bool(page["items"])


def queue(state):
    """How many of Slurm's jobs are in that state."""
    done = cluster.slurm.in_controller_result("squeue", "-h", "-t", state, "-o", "%i")
    return len(done.stdout.split()) if done.returncode == 0 else -1


def audit(since):
    """Of pods of the bridged namespace, by name, when they were created and bound; and the bridge's writes. Seconds since 1970."""
    account = f"system:serviceaccount:{cluster.slurm.namespace}:{cluster.slurm.namespace}-bridge-controllers"
    created, bound, writes = {}, {}, 0
    for log in sorted(pathlib.Path("/var/lib/capstan-dev/audit").glob("*.log"), key=lambda one: one.stat().st_mtime):
        if log.stat().st_mtime < since:
            continue
        for line in log.open():
            if PODS not in line and account not in line:
                continue
            event = json.loads(line)
            if event["stage"] != "ResponseComplete" or event["verb"] in ("get", "list", "watch"):
                continue
            at = datetime.datetime.fromisoformat(event["stageTimestamp"]).timestamp()
            if at < since:
                continue
            what = event["objectRef"]
            if event["user"]["username"] == account:
                writes += what.get("resource") != "leases"
            elif what.get("namespace") == PODS and what.get("resource") == "pods" and event["responseStatus"]["code"] < 300:
                if event["verb"] == "create":
                    (bound if what.get("subresource") == "binding" else created)[what["name"]] = at
    return created, bound, writes


def allocations(since):
    """By job, when slurmctld gave it its node, as its log says. Seconds since 1970."""
    text = cluster.slurm.kubectl("logs", "slurm-controller-0", "-c", "logfile", f"--since={int(time.time() - since) + 5}s", timeout=120)
    found = re.findall(r"\[(\S+)\] sched(?:/backfill)?: (?:Allocate|_start_job: Started|Started) JobId=(\d+)", text)
    return {job: datetime.datetime.fromisoformat(at).replace(tzinfo=datetime.timezone.utc).timestamp() for at, job in found}


def jobs_of_pods():
    pods = cluster.lab.items("-n", PODS, "pods")
    return {pod["metadata"]["name"]: pod["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"] for pod in pods}


# --- The webhook ---------------------------------------------------------------------------------------------------------------

# Run on a node, as the host has no way to pods.
REVIEW = """
import http.client, json, socket, ssl, sys, time
asked = json.load(sys.stdin)
tls = ssl.create_default_context(cadata=asked["ca"])
connection = http.client.HTTPSConnection(asked["address"], 9443, context=tls, timeout=10)
plain = socket.create_connection((asked["address"], 9443), timeout=10)
plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the API server does; else the kernel waits 40 ms in between
connection.sock = tls.wrap_socket(plain, server_hostname=asked["name"])
for _ in range(asked["times"]):
    began = time.monotonic()
    connection.request("POST", asked["path"], asked["body"], {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    print(1000 * (time.monotonic() - began))
    assert answer.status == 200 and b'"patch"' in text, text[:300]
"""


def review_ms(figures):
    slurm = cluster.slurm
    name = f"{slurm.namespace}-bridge-admission"
    hook = cluster.lab.get("mutatingwebhookconfigurations", name)["webhooks"][0]["clientConfig"]
    pod = slurm.items("pods", "-l", "app.kubernetes.io/component=admission")[0]
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE", "namespace": PODS, "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, "spec": {
            "schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "example/nothing:1"}]}}}}
    asked = {"address": pod["status"]["podIP"], "name": f"{name}.{slurm.namespace}.svc", "path": hook["service"]["path"], "times": REVIEWS,
             "ca": base64.b64decode(hook["caBundle"]).decode(), "body": json.dumps(body)}
    text = subprocess.run(["dev/cluster", "join", "node1", "/usr/bin/python3", "-c", REVIEW], cwd=cluster.ROOT, check=True, text=True,
                          input=json.dumps(asked), capture_output=True).stdout
    figures.add("webhook_ms_p99", [percentile([float(line) for line in text.split()], 99)], "ms", "<= 5", GROUP)


# --- The group -----------------------------------------------------------------------------------------------------------------

def measure_pods(figures, server):
    """A thousand pods at once, each of which finds a free machine."""
    began, cpu = time.time(), cluster.cpu_s(*CONTROLLERS)
    create_pods("first", MACHINES)
    cluster.slurm.wait_for("all are bound", lambda: not server.unbound(), within=300, every=0.5)
    time.sleep(2)
    cpu = cluster.cpu_s(*CONTROLLERS) - cpu
    created, bound, writes = audit(began)
    starts = allocations(began)
    seconds = max(bound.values()) - min(created.values())
    figures.add("bridge_pods_per_s", [MACHINES / seconds], "", ">= 100", GROUP, peer=1)
    figures.add("bridge_pods_created_per_s", [MACHINES / (max(created.values()) - min(created.values()))], "", "-", GROUP)
    if len(starts) > 1:
        figures.add("bridge_jobs_started_per_s", [len(starts) / (max(starts.values()) - min(starts.values()))], "", "-", GROUP)
    figures.add("bridge_cpu_ms_per_pod", [1000 * cpu / MACHINES], "ms", "<= 3", GROUP)
    figures.add("bridge_writes_per_pod_to_bound", [writes / MACHINES], "", "-", GROUP)


def measure_rest(figures):
    time.sleep(120)
    began = time.time()
    time.sleep(600)
    figures.add("bridge_writes_at_rest", [audit(began)[2]], "in 10 min", "0", GROUP)


def measure_start(figures, server):
    """Pods that run are deleted, five a second, and each makes room for one that waits."""
    jobs = jobs_of_pods()
    began = time.time()
    for i in range(TRICKLE):
        server.ask("DELETE", f"/api/v1/namespaces/{PODS}/pods/first-{i:05}")
        time.sleep(0.2)
    cluster.slurm.wait_for("as many others are bound", lambda: len(audit(began)[1]) >= TRICKLE, within=120, every=2)
    bound = audit(began)[1]
    starts = allocations(began)
    took = [1000 * (at - starts[jobs[pod]]) for pod, at in bound.items() if jobs.get(pod) in starts]
    assert len(took) >= TRICKLE / 2, f"slurmctld's log tells of {len(took)} starts of {len(bound)}"
    figures.add("bridge_running_to_bound_ms_p50", [percentile(took, 50)], "ms", "<= 500", GROUP, peer=10_000)
    figures.add("bridge_running_to_bound_ms_p99", [percentile(took, 99)], "ms", "<= 1200", GROUP, peer=10_000)


def measure_bridge(figures):
    measure_looks(figures)
    slurm, server = cluster.slurm, Server()
    cluster.fresh()
    slurm.install_slurm("nodesets.slinky.replicas=0", "controller.extraConfMap.MaxNodeCount=2000", "controller.extraConfMap.MaxJobCount=50000", SCHEDULER)
    slurm.wait_for("slurmctld answers", lambda: slurm.records() == {}, within=120)
    slurm.install_bridge(PODS)
    time.sleep(60)
    figures.add("bridge_rss_mib_idle", [cluster.rss_mib(*CONTROLLERS)], "MiB", "<= 12", GROUP)
    review_ms(figures)
    with cluster.kwok("--node-lease-duration-seconds=120"):
        began = time.monotonic()
        create("/api/v1/nodes", [machine(i) for i in range(MACHINES)])
        slurm.wait_for("Slurm knows all machines", lambda: len(slurm.records() or {}) == MACHINES, within=600, every=2)
        figures.add("bridge_machines_per_s", [MACHINES / (time.monotonic() - began)], "", "-", GROUP)
        slurm.wait_for("Kubernetes takes them for ready", lambda: not not_ready(), within=300, every=5)
        time.sleep(30)
        measure_pods(figures, server)
        create_pods("second", MACHINES)
        slurm.wait_for("the others wait", lambda: queue("PD") == MACHINES, within=180, every=2)
        measure_rest(figures)
        measure_start(figures, server)
        create_pods("third", MANY - 2 * MACHINES)
        slurm.wait_for("all wait", lambda: queue("PD") >= 0.99 * (MANY - MACHINES - TRICKLE), within=1200, every=5)
        time.sleep(60)
        figures.add("bridge_rss_mib_10k_pods", [cluster.rss_mib(*CONTROLLERS)], "MiB", "<= 48", GROUP)
    slurm.remove_bridge(PODS)
    cluster.lab.erase()


GROUPS = {GROUP: measure_bridge}
