"""Two slurmctld on one volume, a worker, and a job that must live through whatever happens to one of them."""
import contextlib
import json
import time

import lab as labs

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "state"},
         "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}}
SETTINGS = ("nodesets.slinky.replicas=1", "controller.ha.enabled=true", "controller.persistence.existingClaim=state",
            "controller.extraConfMap.SlurmdTimeout=600")


@contextlib.contextmanager
def running(lab, values=None):
    """Both, with the chart's `values`, and the job, lab.job. In the end it must end well."""
    lab.kubectl("apply", "-f", "-", text_in=json.dumps(CLAIM))
    lab.install_operator()
    lab.install_slurm(*SETTINGS, values=values)
    lab.wait_for_idle(1, within=120)
    lab.job = lab.submit_open("slinky-0")
    both_stand(lab)
    yield lab
    assert state(lab) == "RUNNING", "the job of before"
    lab.let_end(lab.job, f"{labs.NODESET}-0")
    lab.wait_for("it has ended well", lambda: state(lab) == "COMPLETED", within=60)


@contextlib.contextmanager
def apart(lab, nodes):
    """The same, with both on these nodes, which were added for that, and the worker elsewhere."""
    for node in nodes:
        labs.run("dev/cluster", "node", "add", node, "build/images/slurmctld.tar", timeout=180)
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}]
    placed = {"tolerations": [{"key": "capstan.dev/added", "operator": "Exists", "effect": "NoSchedule"}],
              "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}
    own, lab.nodes = lab.nodes, ()
    with running(lab, {"controller": {"podSpec": placed}}):
        yield lab
    lab.nodes = own


@contextlib.contextmanager
def lost(lab):
    """The machine of the first slurmctld, as if its power had failed."""
    node = lab.get("pod", pod(0))["spec"]["nodeName"]
    labs.run("dev/cluster", "kill-node", node)
    try:
        yield
    finally:
        labs.run("dev/cluster", "node", "add", node, timeout=180)
    both_stand(lab)


def pod(ordinal):
    return f"slurm-controller-{ordinal}"


def state(lab):
    done = lab.in_worker_result("squeue", "-h", "--states=all", "-j", lab.job, "-o", "%T")
    return done.stdout.strip() if done.returncode == 0 else ""


def in_charge(lab):
    return lab.condition("controllers", "slurm", "SlurmctldInCharge")


def leads_to(lab):
    """The pods behind the Service."""
    slices = lab.items("endpointslices", "-l", "kubernetes.io/service-name=slurm-controller")
    return [end["targetRef"]["name"] for found in slices for end in found.get("endpoints") or []]


def charged(lab, ordinal):
    return in_charge(lab)["status"] == "True" and pod(ordinal) in in_charge(lab)["message"] and leads_to(lab) == [pod(ordinal)]


def both_stand(lab):
    lab.wait_for("both are ready, and the first is in charge", lambda: charged(lab, 0) and
                 lab.get("statefulset", "slurm-controller")["status"].get("readyReplicas") == 2, within=150)
    lab.wait_for("the job runs", lambda: state(lab) == "RUNNING", within=60)
    lab.wait_for("both have what is published", lambda: lab.condition("controllers", "slurm", "ConfigLive")["status"] == "True",
                 within=60)


def takes_a_job(lab):
    """Seconds until slurmctld has taken one more job."""
    began = time.monotonic()
    lab.wait_for("a job is taken", lambda: lab.in_worker_result(
        "sbatch", "--parsable", "--hold", "-o", "/dev/null", "--wrap", "true", timeout=120).returncode == 0, within=120)
    return time.monotonic() - began
