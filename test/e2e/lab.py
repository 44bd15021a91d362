"""What a person at a terminal does with a cluster: kubectl, helm, srun, and waiting.

Runs against the local cluster only; the caller's KUBECONFIG is not looked at.
"""
import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = "localhost/capstan"
SLURM = "slurm"       # namespace and release of the Slurm cluster
OPERATOR = "slinky"   # namespace of the operator
NODESET = "slurm-worker-slinky"
STATE = pathlib.Path("/var/lib/capstan-dev")  # of the local cluster


class Failed(AssertionError):
    """A command did not do what was asked of it."""


def run(*words, check=True, timeout=60, text_in=None, env=None):
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True, timeout=timeout,
                          input=text_in, env=env, check=False)
    if check and done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if check else done


KUBECONFIG = run("dev/cluster", "kubeconfig").strip()


def kubectl(*words, **options):
    return run(ROOT / "build/tools/kubectl", "--kubeconfig", KUBECONFIG, *words, **options)


def helm(*words, **options):
    return run(ROOT / "build/tools/helm", "--kubeconfig", KUBECONFIG, *words, **options)


def get(*words):
    """An object, or a list of them, as Python data; None when it is not there."""
    done = kubectl("get", *words, "-o", "json", check=False)
    if done.returncode != 0:
        if "NotFound" in done.stderr or "not found" in done.stderr:
            return None
        raise Failed(done.stderr)
    return json.loads(done.stdout)


def items(*words):
    return get(*words)["items"]


def everything():
    """All that is in Slurm's namespace, of every kind that the cluster knows but Events, which only tell; and its volumes."""
    kinds = kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    found = items("-n", SLURM, ",".join(kind for kind in kinds if not re.match(r"events($|\.)", kind)))
    return found + [volume for volume in items("persistentvolumes")
                    if volume["spec"].get("claimRef", {}).get("namespace") == SLURM]


def label(item):
    """Its kind and name; of a volume, whose name is drawn by lot, the claim's."""
    return f"{item['kind']}/{item['spec']['claimRef']['name'] if item['kind'] == 'PersistentVolume' else item['metadata']['name']}"


def wait_for(what, condition, within, every=0.2):
    """Looks until `condition` holds and returns its value; says what was waited for when it never does."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"not within {within} s: {what}\n{picture()}")
        time.sleep(every)


def picture():
    """How things stand, for the message of a failed test."""
    parts = [kubectl("-n", SLURM, "get", "pods,controllers,restapis,nodesets", "-o", "wide", check=False).stdout]
    for kind in ("controllers", "restapis", "nodesets"):
        for item in (get("-n", SLURM, kind) or {"items": []})["items"]:
            for condition in item.get("status", {}).get("conditions", []):
                parts.append(f"{kind}/{item['metadata']['name']} {condition['type']}={condition['status']} "
                             f"{condition['reason']}: {condition['message']}")
    parts.append(kubectl("-n", OPERATOR, "logs", "deploy/slurm-operator", "--tail=40", check=False).stdout)
    parts.append(in_worker_result("sinfo", "-N", "-o", "%N %T %E").stdout)
    return "\n".join(parts)


# --- The release -------------------------------------------------------------------------------------------------------

def install_operator():
    helm("upgrade", "--install", "slurm-operator-crds", "charts/slurm-operator-crds", "-n", OPERATOR, "--create-namespace")
    helm("upgrade", "--install", "slurm-operator", "charts/slurm-operator", "-n", OPERATOR,
         "--set", f"imagePrefix={IMAGES}")


def install_slurm(*settings):
    words = [word for setting in ("nodesets.slinky.replicas=3", *settings) for word in ("--set", setting)]
    helm("upgrade", "--install", SLURM, "charts/slurm", "-n", SLURM, "--create-namespace",
         "--values", "examples/demo/values.yaml", "--set", f"imagePrefix={IMAGES}", *words)


def uninstall_slurm():
    helm("uninstall", SLURM, "-n", SLURM, "--ignore-not-found", "--wait", "--timeout", "2m", timeout=150)


def erase():
    """As if nothing had ever been installed."""
    uninstall_slurm()
    helm("uninstall", "slurm-operator", "-n", OPERATOR, "--ignore-not-found", "--wait", timeout=120)
    helm("uninstall", "slurm-operator-crds", "-n", OPERATOR, "--ignore-not-found", "--wait", timeout=120)
    crds = [crd["metadata"]["name"] for crd in items("crd") if crd["spec"]["group"] == "slinky.slurm.net"]
    if crds:
        kubectl("delete", "crd", *crds, timeout=120)
    kubectl("delete", "namespace", SLURM, OPERATOR, "--ignore-not-found", "--timeout=2m", timeout=150)


# --- Workers and jobs ----------------------------------------------------------------------------------------------------

def worker_pods():
    pods = items("-n", SLURM, "pods", "-l", "app.kubernetes.io/component=worker")
    return {pod["metadata"]["name"]: pod for pod in pods}


def uid_of(ordinal):
    """Of the worker's pod; None when there is none, or it is being deleted."""
    pod = worker_pods().get(f"{NODESET}-{ordinal}")
    return pod and not pod["metadata"].get("deletionTimestamp") and pod["metadata"]["uid"]


def some_worker():
    """A worker to type commands in: one that stays when the set is scaled in."""
    for name, pod in sorted(worker_pods().items()):
        statuses = pod["status"].get("containerStatuses", [])
        if not pod["metadata"].get("deletionTimestamp") and statuses and all(s["ready"] for s in statuses):
            return name
    return None


def in_worker_result(*words, worker=None, timeout=60):
    worker = worker or some_worker()
    if worker is None:
        return subprocess.CompletedProcess(words, 1, "", "no worker is ready")
    return kubectl("-n", SLURM, "exec", worker, "-c", "slurmd", "--", *words, check=False, timeout=timeout)


def in_worker(*words, worker=None, timeout=60):
    """Runs Slurm's own commands where a user could."""
    done = in_worker_result(*words, worker=worker, timeout=timeout)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def in_controller_result(*words):
    """The same where slurmctld runs, for when there may be no worker. srun would hang here: workers cannot reach it."""
    return kubectl("-n", SLURM, "exec", "slurm-controller-0", "-c", "slurmctld", "--", *words, check=False)


def records():
    """What slurmctld has in its books: name to state and reason ("none"); None when it does not answer."""
    done = in_controller_result("sinfo", "-h", "-N", "-o", "%N %T %E")
    lines = [line.split(None, 2) for line in done.stdout.splitlines()]
    return {name: (state, reason.strip()) for name, state, reason in lines} if done.returncode == 0 else None


def node_states():
    """Slurm's nodes: name to state, "idle", "draining", "down*"."""
    done = in_worker_result("sinfo", "-h", "-N", "-o", "%N %T")
    return dict(line.split()[:2] for line in done.stdout.splitlines() if line.strip()) if done.returncode == 0 else {}


def idle_nodes():
    return sorted(name for name, state in node_states().items() if state == "idle")


def wait_for_idle(count, within):
    wait_for(f"exactly {count} nodes, all idle", lambda: list(node_states().values()) == ["idle"] * count, within)


def submit(*words):
    return in_worker("sbatch", "--parsable", "-o", "/tmp/job-%j", *words).strip()


def submit_open(node):
    """A job on this node that runs until let_end()."""
    return submit("-w", node, "--wrap", "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")


def let_end(job, worker):
    in_worker("touch", f"/tmp/end-{job}", worker=worker)


def job_fields(job):
    """What Slurm says of it, times as seconds since 1970; empty when slurmctld does not answer."""
    done = in_controller_result("env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "show", "job", job)
    return dict(field.split("=", 1) for field in done.stdout.split() if "=" in field)


def job_state(job):
    return job_fields(job).get("JobState")


def wait_for_job(job, state, within):
    wait_for(f"job {job} is {state}", lambda: job_state(job) == state, within)


def scale(replicas):
    kubectl("-n", SLURM, "scale", f"nodesets/{NODESET}", f"--replicas={replicas}")


def condition(kind, name, type_):
    found = get("-n", SLURM, kind, name) or {}
    for one in found.get("status", {}).get("conditions", []):
        if one["type"] == type_:
            return one
    return {"status": "", "reason": "", "message": ""}


def asked_to_delete(pod, since):
    """When the API server was asked to delete it, by its own log: seconds since 1970."""
    times = []
    for log in (STATE / "audit").glob("*.log"):
        for line in log.open():
            if '"verb":"delete"' in line and f'"name":"{pod}"' in line:
                when = json.loads(line)["requestReceivedTimestamp"]
                times.append(datetime.datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp())
    return sorted(when for when in times if when >= since)


# --- Breaking things -------------------------------------------------------------------------------------------------------

def cluster_processes():
    """Process numbers, as this machine counts them, of all that runs in the local cluster, its pods included.

    They are read from the cluster's cgroups, as dev/cluster does: what runs elsewhere on the machine is not ours to stop.
    """
    version_2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    group = pathlib.Path("/sys/fs/cgroup" if version_2 else "/sys/fs/cgroup/pids") / "capstan-dev"
    found = []
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):  # gone meanwhile
            found += map(int, pathlib.Path(folder, "cgroup.procs").read_text().split())
    return found


def processes(*words):
    """Of these, the ones whose command line begins with these words."""
    found = []
    for pid in cluster_processes():
        try:
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if [os.path.basename(w.decode(errors="replace")) for w in line[:len(words)]] == list(words):
            found.append(pid)
    return found


def kill_operator():
    """SIGKILL: no goodbye, the lease stays taken."""
    victims = processes("capstan", "operator")
    assert victims, "the operator does not run"
    for pid in victims:
        os.kill(pid, signal.SIGKILL)


class StoppedSlurmrestd:
    """slurmrestd takes connections and answers nothing."""

    def __enter__(self):
        self.pids = processes("slurmrestd")
        assert self.pids, "slurmrestd does not run"
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for pid in self.pids:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
