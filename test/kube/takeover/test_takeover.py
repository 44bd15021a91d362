"""Taking over what the Slinky projects' operator made, release 1.2.1 and later ones, from a real API server.

There is no kubelet and no controller here: pods are as they were put there, and a StatefulSet replaces none. What is
asked of the operator is that nothing needs to be replaced, and that nothing that runs loses its way meanwhile."""

import itertools
import json
import subprocess
import time

import pytest

from apiserver import REPOSITORY, clean_environment, die_with_parent, free_ports
from patience import patient
from takeover.former import HASH, LATER, OLD, PREFIX, Former

IMAGES = {name: f"registry.example.org/{name}:1" for name in
          ("slurmctld", "slurmrestd", "slurmd", "slurmdbd", "login")}
numbers = itertools.count()
SECONDS = 60  # at most; some, on an idle machine
ACTIVE = "controller.slinky.slurm.net/active"
SCHEDULED = {"updateStrategy": {"type": "ScheduledUpdate",
                                "scheduledUpdate": {"startTime": "2030-01-01T00:00:00Z", "duration": "30m"}}}


class Place:
    """A namespace in which that operator has worked and ours is to, with what is asked of both."""

    def __init__(self, server, namespace, release):
        self.server = server
        self.namespace = namespace
        self.log = server.folder / f"{namespace}.log"
        server.kubectl("create", "namespace", namespace)
        self.former = Former(server.kubectl, namespace, release, IMAGES)
        self.operator = None

    def start(self):
        health, = free_ports(1)
        command = [REPOSITORY / "build/release/bin/capstan", "operator", "--kubeconfig", self.server.kubeconfig,
                   "--namespaces", self.namespace, "--leader-elect", "false", "--health-addr", f"127.0.0.1:{health}",
                   "--metrics-addr", "0", "--zap-log-level", "debug"]
        with open(self.log, "w") as log:
            self.operator = subprocess.Popen(command, stdout=log, stderr=log, env=clean_environment(),
                                             preexec_fn=die_with_parent)

    def stop(self):
        if self.operator is not None:
            self.operator.terminate()
            self.operator.wait(30)

    def get(self, kind, name, check=True):
        done = self.server.kubectl("-n", self.namespace, "get", kind, name, "-o", "json", "--show-managed-fields",
                                   check=False)
        if check:
            assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.returncode == 0 else None

    def until(self, what, condition):
        """Until it holds, `always` all the time."""
        deadline = time.monotonic() + patient(SECONDS)
        while True:
            self.always()
            if condition():
                return
            assert self.operator.poll() is None, f"the operator ended: {self.log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, f"not in time: {what}\n{self.log.read_text()[-3000:]}"
            time.sleep(0.2)

    def always(self):
        """The Service of the clients leads to the slurmctld that runs."""
        selector = self.get("service", "main-controller")["spec"]["selector"]
        labels = self.get("pod", "main-controller-0")["metadata"]["labels"]
        assert selector.items() <= labels.items(), f"{selector} finds nothing with {labels}"

    def put_slurmctld(self):
        """Its pod, as the StatefulSet's controller makes it and that operator labels it."""
        template = self.get("statefulset", "main-controller")["spec"]["template"]
        metadata = {"name": "main-controller-0", "namespace": self.namespace, "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "StatefulSet", "name": "main-controller",
            "uid": self.former.uids["StatefulSet"], "controller": True}]}
        metadata["labels"] = template["metadata"]["labels"] | {"controller-revision-hash": "old"}
        volume = {"name": "statesave", "persistentVolumeClaim": {"claimName": "statesave-main-controller-0"}}
        spec = template["spec"] | {"volumes": [*template["spec"]["volumes"], volume], "nodeName": "node1"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self.server.kubectl("create", "--field-manager=kube-controller-manager", "-f", "-", stdin=json.dumps(pod))
        if not self.former.old:
            self.former.patch("pod", "main-controller-0", {"metadata": {"labels": {ACTIVE: "true"}}})
        self.run("main-controller-0")

    def run(self, pod, **more):
        ready = [{"type": "Ready", "status": "True"}]
        self.former.patch_status("pod", pod, {"phase": "Running", "conditions": ready} | more, manager="kubelet")

    def put_workers(self, count):
        """They run, and that operator has said of them what it says; it is draining one."""
        for ordinal in range(count):
            self.run(f"main-worker-{ordinal}")
            conditions = [{"type": "Ready", "status": "True"},
                          {"type": "SlurmNodeStateIdle", "status": "True", "message": ""}]
            self.former.patch_status("pod", f"main-worker-{ordinal}", {"conditions": conditions})
        annotations = {PREFIX + "pod-cordon": "true", PREFIX + "pod-deadline": "2026-01-01T00:00:00Z"}
        self.former.patch("pod", "main-worker-0", {"metadata": {"annotations": annotations}})

    def condition(self, kind, name, wanted):
        for condition in self.get(kind, name).get("status", {}).get("conditions", []):
            if condition["type"] == wanted:
                return condition
        return {"status": "none", "reason": "", "message": ""}

    def applied(self, kind, name):
        entries = self.get(kind, name)["metadata"]["managedFields"]
        return any(entry["manager"] == "capstan-operator" and entry["operation"] == "Apply" for entry in entries)


@pytest.fixture
def place(server):
    made = []

    def make(release):
        made.append(Place(server, f"takeover-{next(numbers)}", release))
        return made[0]

    yield make
    for each in made:
        each.stop()


def alive(pod):
    metadata = pod["metadata"]
    return metadata["uid"], metadata.get("deletionTimestamp"), pod["spec"]


@pytest.mark.parametrize("release", [OLD, LATER])
def test_nothing_that_runs_is_replaced(place, release):
    """Jobs survived; but workers counted as outdated, slurmrestd was started anew, StatefulSet and finalizer stuck."""
    here = place(release)
    here.former.create(workers=2, node_set=SCHEDULED)
    here.former.patch("nodeset", "main-worker", {"metadata": {"finalizers": [PREFIX + "reservation"]}})
    here.former.say_status(workers=2)
    here.put_slurmctld()
    here.put_workers(2)
    pods = ["main-controller-0", "main-worker-0", "main-worker-1"]
    before = {pod: alive(here.get("pod", pod)) for pod in pods}
    deployment, present = here.get("deployment", "main-restapi"), here.get("statefulset", "main-controller")
    shared = here.get("service", "slurm-workers-main")["metadata"]["uid"]

    here.start()
    here.until("the StatefulSet is ours", lambda: here.applied("statefulset", "main-controller"))
    here.until("slurmrestd is left as it is", lambda: "capstan.dev/taken-over" in here.get(
        "deployment", "main-restapi")["metadata"].get("annotations", {}))
    here.until("the workers are ours", lambda: all(
        here.get("pod", pod)["metadata"]["labels"]["controller.kubernetes.io/hash"] != HASH for pod in pods[1:]))
    here.until("the former operator's cordon is gone", lambda: PREFIX + "pod-cordon" not in here.get(
        "pod", "main-worker-0")["metadata"]["annotations"])
    here.until("ours is beside its finalizer", lambda: here.get("nodeset", "main-worker")["metadata"].get(
        "finalizers") == [PREFIX + "reservation", "capstan.dev/drain"])
    here.until("no worker is outdated", lambda: here.get("nodeset", "main-worker")["status"]["nodeSetHash"] != HASH)

    status = here.get("nodeset", "main-worker")["status"]
    assert status["updatedReplicas"] == 2
    assert not {"ordinalToNode", "collisionCount"} & status.keys()
    assert {each["type"] for each in status["conditions"]} == {"Ready", "Progressing", "Degraded", "ReservationCreated"}
    assert {pod: alive(here.get("pod", pod)) for pod in pods} == before
    assert here.get("deployment", "main-restapi")["spec"] == deployment["spec"]
    spec = here.get("statefulset", "main-controller")["spec"]
    for member in ("serviceName", "selector", "volumeClaimTemplates"):
        assert spec[member] == present["spec"][member]
    assert spec.get("podManagementPolicy") == present["spec"].get("podManagementPolicy")
    assert spec["template"]["metadata"]["labels"][ACTIVE] == "true"
    service = here.get("service", "slurm-workers-main")["metadata"]
    assert (service["uid"], service["ownerReferences"][0]["kind"]) == (shared, "Controller")
    host = "main-controller" if release == OLD else "main-controller-0.main-controller-internal"
    conf = here.get("configmap", "main-config")["data"]["slurm.conf"]
    assert f"SlurmctldHost=main-controller-0({host}.{here.namespace})" in conf
    assert here.condition("controller", "main", "Degraded")["message"] == "nothing is wrong"


@pytest.mark.parametrize("release", [OLD, LATER])
def test_accounting_logins_and_tokens_go_on(place, release):
    here = place(release)
    here.former.create(workers=0, people=True)
    here.put_slurmctld()
    workloads = [("statefulset", "main-accounting"), ("deployment", "login"), ("deployment", "main-restapi")]
    before = {each: here.get(*each) for each in workloads}
    secrets = {name: here.get("secret", name) for name in ("main-accounting", "login-ssh-host-keys", "alice-jwt-alice")}
    ssh_config = here.get("configmap", "login-ssh-config")["data"]

    here.start()
    for kind, name in workloads:
        here.until(f"{kind} {name} is left as it is", lambda: "capstan.dev/taken-over" in here.get(
            kind, name)["metadata"].get("annotations", {}))
    here.until("slurmdbd.conf is ours", lambda: "capstan.dev/made-from" in here.get(
        "secret", "main-accounting")["metadata"].get("annotations", {}))
    here.until("the Token has its Secret", lambda: here.get(
        "secret", "alice-jwt-alice")["metadata"]["ownerReferences"][0]["kind"] == "Token")
    here.until("sshd's files are ours", lambda: here.applied("configmap", "login-ssh-config"))
    here.until("the Token is ready", lambda: here.condition("token", "alice", "Ready")["status"] == "True")
    for each in workloads:
        assert here.get(*each)["spec"] == before[each]["spec"]
    for name, secret in secrets.items():
        assert here.get("secret", name)["data"] == secret["data"], f"{name} has other content"
    owner, = here.get("secret", "main-accounting")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Accounting", here.former.uids["Accounting"])
    ours = here.get("configmap", "login-ssh-config")["data"]
    assert ours["authorized_keys"] == ssh_config["authorized_keys"]
    assert ours["sshd_config"].startswith(ssh_config["sshd_config"]), "what the site says goes before our defaults"
    assert here.get("loginset", "login")["status"]["selector"] == \
        "app.kubernetes.io/instance=login,app.kubernetes.io/name=login"
    conf = here.get("configmap", "main-config")["data"]["slurm.conf"]
    assert "AccountingStorageHost=main-accounting\nAccountingStoragePort=6819\n" in conf
    for kind, name in (("accounting", "main"), ("loginset", "login"), ("token", "alice"), ("controller", "main")):
        assert here.condition(kind, name, "Degraded")["message"] == "nothing is wrong", kind

    here.former.patch("accounting", "main", {"spec": {"slurmdbd": {"image": "x/slurmdbd:2"}}}, manager="helm")
    here.until("another image is taken up", lambda: here.get("statefulset", "main-accounting")["spec"]["template"][
        "spec"]["containers"][0]["image"] == "x/slurmdbd:2")


def test_another_claim_is_told_and_the_rest_rolls(place):
    here = place(LATER)
    here.former.create(workers=0)
    here.put_slurmctld()
    here.start()
    here.until("the StatefulSet is ours", lambda: here.applied("statefulset", "main-controller"))
    larger = {"resources": {"requests": {"storage": "10Gi"}}}
    here.former.patch("controller", "main", {"spec": {"persistence": larger, "slurmctld": {"image": "x/slurmctld:2"}}},
                      manager="helm")
    here.until("it is told", lambda: here.condition("controller", "main", "Degraded")["reason"] == "ClaimUnchanged")
    assert "delete statefulset main-controller --cascade=orphan" in here.condition(
        "controller", "main", "Degraded")["message"]
    here.until("the image rolls", lambda: here.get("statefulset", "main-controller")["spec"]["template"]["spec"][
        "containers"][0]["image"] == "x/slurmctld:2")


@pytest.mark.parametrize("release", [OLD, LATER])
def test_the_service_keeps_its_endpoints_while_slurmctld_is_withheld(place, release):
    here = place(release)
    here.former.create(workers=0)
    here.put_slurmctld()
    withheld = {"configFileRefs": [{"name": "missing"}]}
    here.former.patch("controller", "main", {"spec": withheld}, manager="helm")
    generation = here.get("statefulset", "main-controller")["metadata"]["generation"]
    here.start()
    here.until("the Service is ours", lambda: here.applied("service", "main-controller"))
    here.until("it says why", lambda: here.condition("controller", "main", "Degraded")["status"] == "True")
    assert here.get("statefulset", "main-controller")["metadata"]["generation"] == generation


def test_a_pod_that_never_ran_makes_way_for_its_mended_template(place):
    """Its StatefulSet waited for it for ever."""
    here = place(LATER)
    here.former.create(workers=0)
    here.put_slurmctld()
    stuck = {"name": "slurmctld", "image": "no/such:1", "imageID": "", "ready": False, "restartCount": 0,
             "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    here.run("main-controller-0", phase="Pending", containerStatuses=[stuck],
             conditions=[{"type": "Ready", "status": "False"}])
    here.start()
    here.until("the StatefulSet is ours", lambda: here.applied("statefulset", "main-controller"))
    generation = here.get("statefulset", "main-controller")["metadata"]["generation"]
    here.former.patch_status("statefulset", "main-controller",
                             {"replicas": 1, "observedGeneration": generation, "updateRevision": "new"},
                             manager="kube-controller-manager")
    here.until("it goes", lambda: here.get("pod", "main-controller-0")["metadata"].get("deletionTimestamp"))
