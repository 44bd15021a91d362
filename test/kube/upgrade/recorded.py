"""What an earlier operator made, and left behind: recorded from an API server, and put onto another one.

    python3 test/kube/upgrade/recorded.py CAPSTAN FILE      # has that program make CLUSTER, and writes what there is then

Recorded once for a release (or a commit that counts as one), and never again: test_upgrade.py has the present operator take
it over. The keys in it were made for this and protect nothing.
"""
import base64
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from apiserver import ApiServer, clean_environment, die_with_parent  # noqa: E402
from patience import patient  # noqa: E402

NAMESPACE = "upgrade"  # of all recordings: it is part of what is made
MANAGER = "capstan-operator"
USERS = ("controllers", "restapis", "accountings", "nodesets", "loginsets", "tokens")
MADE = ("services", "configmaps", "secrets", "statefulsets.apps", "deployments.apps", "poddisruptionbudgets.policy", "pods")
SSSD = "[sssd]\nservices = nss\ndomains = DEFAULT\n\n[domain/DEFAULT]\nid_provider = ldap\n"


def secret(name, **values):
    data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def custom(kind, name, **spec):
    return {"apiVersion": "slinky.slurm.net/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec}


KEYS = {"slurmKeyRef": {"name": "keys", "key": "slurm.key"}, "jwtKeyRef": {"name": "keys", "key": "jwt.key"}}
MAIN = {"controllerRef": {"name": "main"}}
CLUSTER = [
    secret("keys", slurm_key="k" * 64, jwt_key="j" * 64), secret("database", password="p"), secret("people", sssd_conf=SSSD),
    custom("Accounting", "main", **KEYS, storageConfig={"host": "db", "username": "slurm", "passwordKeyRef": {"name": "database", "key": "password"}}),
    custom("Controller", "main", **KEYS, accountingRef={"name": "main"}, extraConf="SlurmctldDebug=info\n"),
    custom("RestApi", "main", **MAIN),
    custom("NodeSet", "plain", **MAIN, replicas=2, partition={"enabled": True, "config": "Default=YES"},
           slurmd={"resources": {"limits": {"cpu": "2", "memory": "4Gi"}}}, template={"spec": {"nodeSelector": {"disk": "ssd"}}}),
    custom("NodeSet", "ssh", **MAIN, replicas=1, ssh={"enabled": True, "sssdConfRef": {"name": "people", "key": "sssd.conf"}}),
    custom("LoginSet", "login", **MAIN, sssdConfRef={"name": "people", "key": "sssd.conf"}),
    custom("Token", "alice", jwtKeyRef=KEYS["jwtKeyRef"], username="alice", lifetime="8760h", secretRef={"name": "alice", "key": "token"})]
WANTED = ("statefulset/main-controller", "statefulset/main-accounting", "deployment/main-restapi", "deployment/login", "pod/plain-0",
          "pod/plain-1", "pod/ssh-0", "secret/alice", "secret/login-ssh-host-keys", "configmap/login-ssh-config")


class Operator:
    """The program at work in the namespace, for a `with`."""

    def __init__(self, program, server):
        self.program, self.server = program, server
        self.log = server.folder / f"{pathlib.Path(program).name}.log"

    def __enter__(self):
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([self.program, "operator", "--kubeconfig", self.server.kubeconfig, "--namespaces", NAMESPACE,
                                             "--health-addr=0", "--metrics-addr=0", "--cluster-domain=cluster.local"],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment(),
                                            preexec_fn=die_with_parent)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    def until(self, what, condition, seconds=60):
        deadline = time.monotonic() + patient(seconds)
        while not condition():
            assert time.monotonic() < deadline and self.process.poll() is None, f"{what}:\n{self.log.read_text()[-3000:]}"
            time.sleep(0.1)


def get(server, *words):
    done = server.kubectl("--namespace", NAMESPACE, "get", *words, "-o", "json", check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def put(server, one, *flags, manager="helm"):
    server.kubectl("--namespace", NAMESPACE, "apply", "--server-side", f"--field-manager={manager}", *flags, "-f", "-", stdin=json.dumps(one))


def run_pods(server):
    """As kubelets would: each pod is placed and ready."""
    for pod in get(server, "pods")["items"]:
        if pod["status"].get("phase") == "Running":
            continue
        name = pod["metadata"]["name"]
        if "nodeName" not in pod["spec"]:
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "machine"}}
            server.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding", binding)
        status = {"phase": "Running", "conditions": [{"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
                                                     for kind in ("PodScheduled", "Ready")]}
        server.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/status", {"status": status},
                       "application/merge-patch+json")


def bare(one):
    """Without what a server adds; owners by kind and name."""
    meta = one["metadata"]
    kept = {key: meta[key] for key in ("name", "labels", "annotations", "finalizers") if key in meta}
    owners = [{key: owner[key] for key in ("apiVersion", "kind", "name", "controller", "blockOwnerDeletion") if key in owner}
              for owner in meta.get("ownerReferences", [])]
    return {key: value for key, value in one.items() if key not in ("metadata", "status")} | {
        "metadata": kept | ({"ownerReferences": owners} if owners else {})}


def record(program, file):
    from definitions import DEFINITIONS
    with ApiServer() as server:
        server.kubectl("create", *(word for path in DEFINITIONS for word in ("-f", path)))
        server.await_definitions()
        server.kubectl("create", "namespace", NAMESPACE)
        for one in CLUSTER:
            put(server, one)
        with Operator(program, server) as operator:
            operator.until("all is made", lambda: run_pods(server) or get(server, *WANTED))
            operator.until("the workers are counted", lambda: get(server, "nodeset", "plain")["status"].get("readyReplicas") == 2)
        users = {(one["kind"], one["metadata"]["name"]) for one in CLUSTER} | {("ConfigMap", "kube-root-ca.crt")}
        made = [bare(one) for kind in MADE for one in get(server, kind)["items"] if (one["kind"], one["metadata"]["name"]) not in users]
        status = {f"{one['kind']} {one['metadata']['name']}": one["status"] for kind in USERS for one in get(server, kind)["items"]}
        file.write_text(json.dumps({"made": made, "status": status}, indent=1, sort_keys=True) + "\n")


def restore(server, file):
    """The user's resources, and what was made of them, by the same field manager."""
    recorded = json.loads(file.read_text())
    server.kubectl("create", "namespace", NAMESPACE)
    for one in CLUSTER:
        put(server, one)
    uids = {(one["kind"], one["metadata"]["name"]): one["metadata"]["uid"] for kind in USERS for one in get(server, kind)["items"]}
    for one in recorded["made"]:
        for owner in one["metadata"].get("ownerReferences", []):
            owner["uid"] = uids[owner["kind"], owner["name"]]
        put(server, one, "--force-conflicts", manager=MANAGER)
    for name, status in recorded["status"].items():
        kind, name = name.split()
        server.kubectl("--namespace", NAMESPACE, "patch", kind, name, "--subresource=status", "--type=merge", "--patch",
                       json.dumps({"status": status}))
    run_pods(server)
    return recorded


if __name__ == "__main__":
    record(sys.argv[1], pathlib.Path(sys.argv[2]))
