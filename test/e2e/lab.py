"""What a person at a terminal does with a cluster: kubectl, helm, srun, and waiting.

Runs against the local cluster only; the caller's KUBECONFIG is not looked at.

Cases run up to three at a time. Each asks for what it needs by the name of a fixture (conftest.py), which is a Lab: a
namespace, and an operator of its own that works in no other.

  shared  one Slurm cluster with three idle workers, for cases that only read it or run a job; they run one after another,
          and each leaves it as it found it
  lab     the same, for the cases of one file alone: what they break is theirs. The file may say
          SETTINGS = ("nodesets.slinky.replicas=2",)  for other values of the chart, and
          NODES = 2  for Kubernetes nodes of its own, lab.nodes, which its workers prefer and no other pod can use: a case
          that cordons, taints, stops or kills a node takes these, and never node1 to node3
  bare    what `lab` is made from: the namespace and the nodes, without operator or Slurm, and without SETTINGS

A case that needs the whole cluster, or changes what belongs to no namespace, is marked `pytest.mark.alone`: it runs when
the others have ended.
"""
import contextlib
import datetime
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from evidence import Harm
from patience import patient

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = "localhost/capstan"
NETWORK_OF_NODE1 = "network of node1"  # the GROUP of files whose slurmd has its port there
NODESET = "slurm-worker-slinky"
LOGINSET = "slurm-login-slinky"
WORKERS = 3
# Lets five jobs a second run: a value of the chart.
PROMPT = "controller.extraConfMap.SchedulerParameters=batch_sched_delay=0\\,sched_interval=1"
STATE = pathlib.Path("/var/lib/capstan-dev")  # of the local cluster
GROUPS = ("slinky.slurm.net", "capstan.dev")  # of our kinds
MARK = "capstan.dev/lab"                      # the label of our namespaces
LOST = ("FAILED", "NODE_FAIL", "CANCELLED", "BOOT_FAIL", "TIMEOUT", "PREEMPTED", "OUT_OF_MEMORY", "REVOKED")  # of a job


class Failed(AssertionError):
    """A command did not do what was asked of it."""


def run(*words, check=True, timeout=60, text_in=None, env=None):
    done = subprocess.run([str(word) for word in words], cwd=ROOT, capture_output=True, text=True, timeout=patient(timeout),
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


def label(item):
    """Its kind and name; of a volume, whose name is drawn by lot, the claim's."""
    return f"{item['kind']}/{item['spec']['claimRef']['name'] if item['kind'] == 'PersistentVolume' else item['metadata']['name']}"


def wait_for(what, condition, within, every=0.2, picture=lambda: ""):
    """Looks until `condition` holds and returns its value; says what was waited for when it never does."""
    deadline = time.monotonic() + patient(within)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed(f"not within {within} s: {what}\n{picture()}")
        time.sleep(every)


# --- The whole cluster -------------------------------------------------------------------------------------------------

def install_kinds():
    helm("upgrade", "--install", "slurm-operator-crds", "charts/slurm-operator-crds", "-n", "default")


def remove_kinds():
    """The API server forgets a definition's deletion when its own controllers meet in a conflict, as they do while it is
    new, until somebody touches the definition: seen in its audit log. Each look here is such a touch."""
    crds = [crd["metadata"]["name"] for crd in items("crd") if crd["spec"]["group"] in GROUPS]
    if crds:
        wait_for("the kinds are gone", lambda: kubectl("delete", "crd", *crds, "--ignore-not-found", "--timeout=10s",
                                                       check=False).returncode == 0, within=120)


def what_holds(namespace):
    """Why a namespace that was deleted is still there: its conditions, its pods, and how those that end are faring."""
    found = get("namespace", namespace)
    if not found:
        return ""
    says = [f"{namespace}: {one['type']}: {one['message']}" for one in found["status"].get("conditions", [])
            if one["status"] == "True"]
    for pod in items("-n", namespace, "pods"):
        says.append(f"pod {pod['metadata']['name']}, deleted at {pod['metadata'].get('deletionTimestamp')}, "
                    f"{pod['metadata'].get('finalizers', [])}: {json.dumps(pod['status'].get('containerStatuses'))}")
        says.append(kubectl("-n", namespace, "logs", pod["metadata"]["name"], "--all-containers", "--prefix", "--tail=15",
                            check=False).stdout)
    says.append(kubectl("-n", namespace, "get", "events", "--sort-by=.lastTimestamp", check=False).stdout[-3000:])
    return "\n".join(says) + "\n"


def forget_finalizers():
    """Of resources whose operator has gone before them: nobody else will ever take their finalizers off."""
    for crd in items("crd"):
        if crd["spec"]["group"] not in GROUPS:
            continue
        kind = crd["metadata"]["name"]
        for item in (get(kind, "--all-namespaces") or {"items": []})["items"]:
            if item["metadata"].get("finalizers"):
                kubectl("-n", item["metadata"]["namespace"], "patch", kind, item["metadata"]["name"], "--type=merge",
                        "-p", '{"metadata":{"finalizers":null}}', check=False)


def erase():
    """As if nothing had ever been installed, and without nodes that were added."""
    kubectl("delete", "apiservices", "-l", MARK)  # first: no namespace goes while an API does not answer
    releases = json.loads(helm("list", "--all-namespaces", "--deployed", "--failed", "--pending", "--uninstalling", "-o", "json"))
    for chart in ("slurm-bridge", "slurm", "slurm-operator", "slurm-operator-crds"):
        for release in releases:
            if re.fullmatch(rf"{chart}-\d.*", release["chart"]):
                helm("uninstall", release["name"], "-n", release["namespace"], "--ignore-not-found", "--wait",
                     "--timeout", "2m", timeout=150)
    forget_finalizers()
    remove_kinds()
    namespaces = {item["metadata"]["name"] for item in items("namespaces", "-l", MARK)} | {"slurm", "slinky", "research", "one-object"}
    done = kubectl("delete", "namespace", *sorted(namespaces), "--ignore-not-found", "--timeout=2m", check=False, timeout=150)
    if done.returncode != 0:
        raise Failed(done.stderr + "".join(map(what_holds, sorted(namespaces))))
    for node in items("nodes", "-l", "capstan.dev/added"):
        run("dev/cluster", "node", "remove", node["metadata"]["name"], timeout=420)


def no_cluster_is_left():
    left = run("dev/cluster", "residue") + "".join(f"process {pid}\n" for pid in cluster_processes())
    if left:
        raise Harm(f"the local cluster has left\n{left}")


# --- A namespace with its operator ---------------------------------------------------------------------------------------

class Lab:
    """One Slurm cluster, release `slurm` in the namespace, and the operator that makes it."""

    def __init__(self, namespace, operator_namespace, operator="slurm-operator", everywhere=False, nodes=()):
        """`operator` is its release, and so the name of its Deployment; `everywhere`: it works in all namespaces."""
        self.namespace = namespace
        self.operator_namespace = operator_namespace
        self.operator = operator
        self.everywhere = everywhere
        self.nodes = tuple(nodes)  # Kubernetes nodes of its own
        self.keys = None           # the folder with the people's, once there are people

    def kubectl(self, *words, **options):
        """In its namespace."""
        return kubectl("-n", self.namespace, *words, **options)

    def get(self, *words):
        return get("-n", self.namespace, *words)

    def items(self, *words):
        return items("-n", self.namespace, *words)

    def wait_for(self, what, condition, within, every=0.2):
        return wait_for(what, condition, within, every, self.picture)

    def picture(self):
        """How things stand, for the message of a failed test."""
        kinds = ("slurmclusters", "sharedroots", "controllers", "restapis", "nodesets", "accountings", "loginsets")
        parts = [self.kubectl("get", "pods," + ",".join(kinds), "-o", "wide", check=False).stdout]
        for kind in kinds:
            for item in (self.get(kind) or {"items": []})["items"]:
                for one in item.get("status", {}).get("conditions", []):
                    parts.append(f"{kind}/{item['metadata']['name']} {one['type']}={one['status']} {one['reason']}: {one['message']}")
        parts.append(kubectl("-n", self.operator_namespace, "logs", f"deploy/{self.operator}", "--tail=40", check=False).stdout)
        parts.append(self.in_worker_result("sinfo", "-N", "-o", "%N %T %E").stdout)
        return "\n".join(parts)

    def everything(self):
        """All that is in the namespace, of every kind that the cluster knows but Events, which only tell, and apart from
        the operator's own rights; and its volumes."""
        def look():
            """None when an API has gone between the two questions: the second one is refused then, for all kinds."""
            asked = kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name", check=False)
            kinds = ",".join(kind for kind in asked.stdout.split() if not re.match(r"events($|\.)", kind))
            answer = asked if asked.returncode else self.kubectl("get", kinds, "-o", "json", check=False)
            said.append(answer.stderr)
            return json.loads(answer.stdout) if answer.returncode == 0 else None

        said = []
        found = wait_for("every kind is listed", look, within=60, every=1, picture=lambda: said[-1])["items"]
        found = [item for item in found
                 if item["metadata"].get("labels", {}).get("app.kubernetes.io/instance") != self.operator]
        return found + [volume for volume in items("persistentvolumes")
                        if volume["spec"].get("claimRef", {}).get("namespace") == self.namespace]

    def condition(self, kind, name, type_):
        found = self.get(kind, name) or {}
        for one in found.get("status", {}).get("conditions", []):
            if one["type"] == type_:
                return one
        return {"status": "", "reason": "", "message": ""}

    def asked_to_delete(self, pod, since):
        """When the API server was asked to delete it, by its own log: seconds since 1970."""
        times = []
        for log in (STATE / "audit").glob("*.log"):
            for line in log.open():
                if '"verb":"delete"' in line and f'"namespace":"{self.namespace}"' in line and f'"name":"{pod}"' in line:
                    when = json.loads(line)["requestReceivedTimestamp"]
                    times.append(datetime.datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp())
        return sorted(when for when in times if when >= since)

    # --- The releases

    def make_namespaces(self):
        objects = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {MARK: "true"}}}
                   for name in (self.namespace, self.operator_namespace)]
        kubectl("apply", "-f", "-", text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def install_operator(self, *settings):
        words = [] if self.everywhere else ["--set", f"operator.namespaces={self.namespace}"]
        for setting in settings:
            words += ["--set", setting]
        helm("upgrade", "--install", self.operator, "charts/slurm-operator", "-n", self.operator_namespace,
             "--set", f"imagePrefix={IMAGES}", *words)

    def uninstall_operator(self):
        helm("uninstall", self.operator, "-n", self.operator_namespace, "--ignore-not-found", "--wait", timeout=120)

    def install_slurm(self, *settings, values=None):
        """`values`: further ones, as a tree."""
        words = [word for setting in (f"nodesets.slinky.replicas={WORKERS}", *settings) for word in ("--set", setting)]
        if self.keys:
            words = ["--values", "examples/demo/people.yaml", "--set", "homes.existingClaim=homes",
                     "--set", f"controller.podSpec.initContainers[0].image={IMAGES}/login:26.05", *words]
        helm("upgrade", "--install", "slurm", "charts/slurm", "-n", self.namespace, "--values", "examples/demo/values.yaml",
             "--values", "-", "--set", f"imagePrefix={IMAGES}", *words, text_in=json.dumps({**self._placement(), **(values or {})}))

    def _placement(self):
        """Values by which each worker has a node to itself, those of our own first."""
        if not self.nodes:
            return {}
        places = [*self.nodes, "node1", "node2", "node3"][:WORKERS]
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": places}]}]
        return {"nodesets": {"slinky": {"podSpec": {
            "tolerations": [{"key": "capstan.dev/added", "value": node, "effect": "NoSchedule"} for node in self.nodes],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}}}}

    def uninstall_slurm(self):
        helm("uninstall", "slurm", "-n", self.namespace, "--ignore-not-found", "--wait", "--timeout", "2m", timeout=150)

    def remove(self):
        """Without waiting for the namespaces to be empty."""
        self.uninstall_slurm()
        self.uninstall_operator()
        kubectl("delete", "namespace", self.namespace, self.operator_namespace, "--ignore-not-found", "--wait=false")

    # --- People

    def install_people(self):
        """Before Slurm: ada and grace, in an LDAP server, and a claim for their homes."""
        self.keys = ROOT / "build/e2e" / self.namespace
        shutil.rmtree(self.keys, ignore_errors=True)
        self.keys.mkdir(parents=True)
        folder = ROOT / "examples/demo"
        people = (folder / "people.ldif").read_text()
        for person in ("ada", "grace"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.keys / person)
            people = people.replace(f"KEY_OF_{person.upper()}", (self.keys / f"{person}.pub").read_text().strip())
        self.kubectl("create", "secret", "generic", "ldap-people", f"--from-literal=people.ldif={people}")
        self.kubectl("apply", "-f", folder / "homes.yaml")
        self.kubectl("apply", "-f", "-", text_in=(folder / "ldap.yaml").read_text().replace("capstan/slapd", f"{IMAGES}/slapd"))

    def ssh_words(self, person, command):
        """By the login's Service."""
        options = ("IdentitiesOnly=yes", "BatchMode=yes", "ConnectTimeout=10", "StrictHostKeyChecking=no",
                   "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
        return ["dev/cluster", "join", "node1", "ssh", "-i", self.keys / person, *(word for option in options for word in ("-o", option)),
                f"{person}@{LOGINSET}.{self.namespace}", command]

    def ssh_result(self, person, command, timeout=60):
        return run(*self.ssh_words(person, command), check=False, timeout=timeout)

    def ssh(self, person, command, timeout=60):
        return run(*self.ssh_words(person, command), timeout=timeout)

    def renew_logins(self):
        """Changes the template of the logins."""
        patch = {"spec": {"template": {"metadata": {"annotations": {"example.com/note": str(time.monotonic())}}}}}
        self.kubectl("patch", "loginset", LOGINSET, "--type=merge", "-p", json.dumps(patch))

    def make_token(self, name, user):
        """In the Secret NAME-jwt-USER."""
        self.kubectl("create", "-f", "-", text_in=json.dumps({
            "apiVersion": "slinky.slurm.net/v1beta1", "kind": "Token", "metadata": {"name": name},
            "spec": {"jwtKeyRef": self.get("controllers", "slurm")["spec"]["jwtKeyRef"], "username": user}}))

    def install_bridge(self, bridged, *settings):
        """By which pods of the namespace `bridged`, which is made, run on this cluster's workers."""
        more = [word for setting in settings for word in ("--set", setting)]
        name = f"{self.namespace}-bridge"
        kubectl("apply", "-f", "-", text_in=json.dumps({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": bridged, "labels": {MARK: "true"}}}))
        self.kubectl("apply", "-f", "-", text_in=json.dumps({
            "apiVersion": "slinky.slurm.net/v1beta1", "kind": "Token", "metadata": {"name": "bridge"},
            "spec": {"jwtKeyRef": self.get("controllers", "slurm")["spec"]["jwtKeyRef"], "username": "slurm", "refresh": True,
                     "secretRef": {"name": "bridge-token", "key": "auth-token"}}}))
        helm("upgrade", "--install", "bridge", "charts/slurm-bridge", "-n", self.namespace, "--set", f"fullnameOverride={name}",
             "--set", f"imagePrefix={IMAGES}", "--set", "schedulerConfig.partition=all",
             "--set", "schedulerConfig.sharing=any", "--set", f"admission.managedNamespaces={{{bridged}}}",
             "--set", f"sharedConfig.slurmRestApi=http://slurm-restapi.{self.namespace}.svc:6820",
             "--set", "sharedConfig.slurmJwtSecret=bridge-token", "--set", "nodes.taint.effect=none", *more, "--wait", "--timeout", "2m", timeout=150)

    def remove_bridge(self, bridged):
        """Before Slurm goes; a pod that waits is nobody's then."""
        kubectl("-n", bridged, "delete", "deployments", "--all", "--wait=false")
        helm("uninstall", "bridge", "-n", self.namespace, "--ignore-not-found", "--wait", timeout=120)
        kubectl("annotate", "nodes", "--all", "capstan.dev/slurm-bridge-")
        kubectl("delete", "namespace", bridged, "--ignore-not-found", "--wait=false")

    # --- The exporter

    def install_exporter(self, *settings):
        more = [word for setting in settings for word in ("--set", setting)]
        self.kubectl("apply", "-f", "-", text_in=json.dumps({
            "apiVersion": "slinky.slurm.net/v1beta1", "kind": "Token", "metadata": {"name": "exporter"},
            "spec": {"jwtKeyRef": self.get("controllers", "slurm")["spec"]["jwtKeyRef"], "username": "slurm", "refresh": True,
                     "secretRef": {"name": "slurm-exporter-token", "key": "auth-token"}}}))
        helm("upgrade", "--install", "slurm-exporter", "charts/slurm-exporter", "-n", self.namespace, "--set", f"imagePrefix={IMAGES}",
             *more, "--wait", "--timeout", "2m", timeout=150)

    def remove_exporter(self):
        helm("uninstall", "slurm-exporter", "-n", self.namespace, "--ignore-not-found", "--wait", timeout=120)
        self.kubectl("delete", "token", "exporter", "--ignore-not-found")

    # --- Accounting

    def wait_for_accounting(self, within):
        self.wait_for("accounting knows the cluster", lambda: self.in_controller_result(
            "sacctmgr", "-nP", "list", "cluster", "format=cluster").stdout.strip(), within)

    def account_for(self, *users):
        """An account "demo" with these."""
        for words in (("account", "demo"), ("user", ",".join(users), "account=demo")):
            done = self.in_controller_result("sacctmgr", "-i", "add", *words)
            assert done.returncode == 0, done.stdout + done.stderr

    def missing_in_history(self, jobs):
        """Those of these jobs that slurmdbd does not know to be completed."""
        rows = self.in_worker_result("sacct", "-anXP", "-o", "jobid,state").stdout.split()
        return [job for job in jobs if f"{job}|COMPLETED" not in rows]

    # --- Workers and jobs

    def worker_pods(self):
        pods = self.items("pods", "-l", "app.kubernetes.io/component=worker")
        return {pod["metadata"]["name"]: pod for pod in pods}

    def uid_of(self, ordinal):
        """Of the worker's pod; None when there is none, or it is being deleted."""
        pod = self.worker_pods().get(f"{NODESET}-{ordinal}")
        return pod and not pod["metadata"].get("deletionTimestamp") and pod["metadata"]["uid"]

    def ready_workers(self):
        """Names of those that are ready as Kubernetes sees it, in their order. Slurm may have a node idle before."""
        def ready(pod):
            statuses = pod["status"].get("containerStatuses", [])
            return not pod["metadata"].get("deletionTimestamp") and statuses and all(one["ready"] for one in statuses)
        return sorted(name for name, pod in self.worker_pods().items() if ready(pod))

    def some_worker(self):
        """A worker to type commands in: one that stays when the set is scaled in."""
        return next(iter(self.ready_workers()), None)

    def in_worker_result(self, *words, worker=None, timeout=60):
        worker = worker or self.some_worker()
        if worker is None:
            return subprocess.CompletedProcess(words, 1, "", "no worker is ready")
        return self.kubectl("exec", worker, "-c", "slurmd", "--", *words, check=False, timeout=timeout)

    def in_worker(self, *words, worker=None, timeout=60):
        """Runs Slurm's own commands where a user could."""
        done = self.in_worker_result(*words, worker=worker, timeout=timeout)
        if done.returncode != 0:
            raise Failed(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def in_controller_result(self, *words):
        """The same where slurmctld runs, for when there may be no worker. srun would hang here: workers cannot reach it."""
        return self.kubectl("exec", "slurm-controller-0", "-c", "slurmctld", "--", *words, check=False)

    def records(self):
        """What slurmctld has in its books: name to state and reason ("none"); None when it does not answer."""
        done = self.in_controller_result("sinfo", "-h", "-N", "-o", "%N %T %E")
        lines = [line.split(None, 2) for line in done.stdout.splitlines()]
        return {name: (state, reason.strip()) for name, state, reason in lines} if done.returncode == 0 else None

    def node_states(self):
        """Slurm's nodes: name to state, "idle", "draining", "down*"."""
        done = self.in_worker_result("sinfo", "-h", "-N", "-o", "%N %T")
        return dict(line.split()[:2] for line in done.stdout.splitlines() if line.strip()) if done.returncode == 0 else {}

    def idle_nodes(self):
        return sorted(name for name, state in self.node_states().items() if state == "idle")

    def wait_for_idle(self, count, within, ready=True):
        """`ready`: and their pods are ready, too; without it, as soon as jobs could start."""
        self.wait_for(f"exactly {count} nodes, all idle", lambda: list(self.node_states().values()) == ["idle"] * count and
                      (not ready or len(self.ready_workers()) == count), within)

    def submit(self, *words):
        return self.in_worker("sbatch", "--parsable", "-o", "/tmp/job-%j", *words).strip()

    def submit_stream(self, count):
        """Submits this many jobs, five a second; the numbers of those that slurmctld has taken."""
        loop = f"for i in $(seq {count}); do sbatch --parsable -o /dev/null --wrap true & sleep 0.2; done; wait"
        return self.in_worker_result("sh", "-c", loop, timeout=60 + count / 5).stdout.split()

    def submit_open(self, *nodes):
        """A job on these nodes that runs until let_end() where its script runs."""
        return self.submit("-w", ",".join(nodes), "--wrap", "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")

    def script_worker(self, job):
        """Where its script runs: on the first of its nodes in Slurm's order, which is that of their registration."""
        return f"{NODESET}-{self.job_fields(job)['BatchHost'][-1]}"

    def let_end(self, job, worker):
        """A kubelet that has just been started does not know its pods for a moment."""
        def told():
            try:
                return self.in_worker("touch", f"/tmp/end-{job}", worker=worker) is not None
            except Failed as error:
                if "pod does not exist" not in str(error):
                    raise
        self.wait_for(f"the script of job {job} is told to end", told, within=30)

    def job_fields(self, job):
        """What Slurm says of it, times as seconds since 1970; empty when slurmctld does not answer."""
        done = self.in_controller_result("env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "show", "job", job)
        return dict(field.split("=", 1) for field in done.stdout.split() if "=" in field)

    def job_state(self, job):
        return self.job_fields(job).get("JobState")

    def never_restarted(self, job):
        restarts = self.job_fields(job)["Restarts"]
        if restarts != "0":
            raise Harm(f"job {job} was started again, {restarts} times")

    def jobs(self):
        """Of all that slurmctld knows, by number, the same."""
        done = self.in_controller_result("env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "show", "job")
        rows = [dict(field.split("=", 1) for field in line.split() if "=" in field) for line in done.stdout.splitlines()]
        return {row["JobId"]: row for row in rows if "JobId" in row}

    def wait_for_job(self, job, state, within):
        def reached():
            now = self.job_state(job)
            if now in LOST and now != state:
                raise Harm(f"job {job} is {now}, not {state}\n{self.picture()}")
            return now == state
        self.wait_for(f"job {job} is {state}", reached, within)

    def still_runs(self, job, worker=None, uid=None):
        """And in the same pod, if the worker and its UID are given."""
        state = self.job_state(job)
        if state != "RUNNING" or (uid and self.uid_of(worker) != uid):
            raise Harm(f"job {job} is {state}; its worker's pod was {uid} and is {uid and self.uid_of(worker)}\n{self.picture()}")

    def scale(self, replicas):
        self.kubectl("scale", f"nodesets/{NODESET}", f"--replicas={replicas}")

    # --- Breaking things

    def processes(self, *words):
        """Of its pods, Slurm's and the operator's, the processes whose command line begins with these words."""
        uids = [pod["metadata"]["uid"] for ns in (self.namespace, self.operator_namespace) for pod in items("-n", ns, "pods")]
        return processes(*words, within=[f"/pod{uid}" for uid in uids])

    def kill(self, *words):
        """SIGKILL, to such processes of its pods."""
        victims = self.processes(*words)
        assert victims, f"{words[0]} does not run"
        for pid in victims:
            os.kill(pid, signal.SIGKILL)

    def kill_operator(self):
        """No goodbye, the lease stays taken."""
        self.kill("capstan", "operator")

    @contextlib.contextmanager
    def stopped(self, *words):
        """For this long, processes of its pods take connections and answer nothing: `with lab.stopped("slurmrestd")`."""
        pids = self.processes(*words)
        assert pids, f"{words[0]} does not run"
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


class Session:
    """One of a person's on a login, which stays open: what it is given comes back."""

    def __init__(self, lab, person):
        self.process = subprocess.Popen([str(word) for word in lab.ssh_words(person, "hostname; cat")], cwd=ROOT, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.host = self.process.stdout.readline().strip()

    def echoes(self, text):
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        return self.process.stdout.readline().strip() == text

    def end(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30)


@functools.cache
def cluster_cgroup():
    """The folder of the cgroup in which all of the local cluster is."""
    version_2 = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    return pathlib.Path("/sys/fs/cgroup" if version_2 else "/sys/fs/cgroup/pids") / "capstan-dev"


def cluster_processes(within=("",)):
    """Process numbers, as this machine counts them, of all that runs in the local cluster, its pods included; or in the
    cgroups whose path holds one of these.

    They are read from the cluster's cgroups, as dev/cluster does: what runs elsewhere on the machine is not ours to stop.
    """
    found = []
    for folder, _, _ in os.walk(cluster_cgroup()):
        if any(part in folder for part in within):
            with contextlib.suppress(OSError):  # gone meanwhile
                found += map(int, pathlib.Path(folder, "cgroup.procs").read_text().split())
    return found


def processes(*words, within=("",)):
    """Of these, the ones whose command line begins with these words."""
    found = []
    for pid in cluster_processes(within):
        try:
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if [os.path.basename(w.decode(errors="replace")) for w in line[:len(words)]] == list(words):
            found.append(pid)
    return found
