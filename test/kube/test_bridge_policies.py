"""What a real API server makes of the bridge's webhook configuration and of the policy that guards bridged pods."""
import copy
import json
import sys
import time

import pytest
import yaml
from definitions import REPOSITORY
from patience import patient

sys.path.insert(0, str(REPOSITORY / "test" / "charts"))

from helm_render import pick, pick_all, render  # noqa: E402

BRIDGE = "system:serviceaccount:default:slurm-bridge-controllers"
GATE = {"name": "capstan.dev/slurm"}
JOB = "scheduler.slinky.slurm.net/slurm-jobid"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"capstan.dev/bridged": "default.slurm-bridge"}},
       "spec": {"schedulingGates": [GATE, {"name": "others/gate"}], "containers": [
           {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}]}}
PODS = "/api/v1/namespaces/default/pods"


def documents():
    return render("slurm-bridge", {"admission": {"managedNamespaces": ["research"]}}, namespace="default")


@pytest.fixture(scope="module")
def guarded(apiserver):
    """With the policy in force, and the bridge's rights; without the webhook, which nobody serves."""
    wanted = [one for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ServiceAccount", "ClusterRole",
                               "ClusterRoleBinding") for one in pick_all(documents(), kind)]
    apiserver.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(wanted))
    deadline = time.monotonic() + patient(30)
    while create(apiserver, lambda pod: pod["metadata"]["labels"].update({JOB: "7"}))[0] != 422:
        assert time.monotonic() < deadline, "the policy does not come into force"
        time.sleep(0.1)
    yield apiserver
    apiserver.kubectl("delete", "-f", "-", stdin=yaml.safe_dump_all(wanted))


def create(apiserver, change, dry=True):
    pod = copy.deepcopy(POD)
    change(pod)
    return apiserver.request("POST", PODS + ("?dryRun=All" if dry else ""), pod)


@pytest.fixture
def pod(guarded):
    """A bridged pod that waits, with its job."""
    assert create(guarded, lambda pod: None, dry=False)[0] == 201
    as_bridge(guarded, [{"op": "add", "path": f"/metadata/labels/{JOB.replace('/', '~1')}", "value": "48000000"}])
    yield "p"
    assert change(guarded, {"metadata": {"finalizers": None}})[0] == 200
    guarded.kubectl("delete", "pod", "p", "--force", "--grace-period=0")


def as_bridge(apiserver, operations):
    apiserver.kubectl("patch", "pod", "p", "--type=json", "-p", json.dumps(operations), "--as", BRIDGE)


def change(apiserver, patch, subresource=""):
    return apiserver.request("PATCH", f"{PODS}/p{subresource}", patch, content_type="application/merge-patch+json")


def test_the_webhooks_conditions_are_taken(apiserver):
    configuration = pick(documents(), "MutatingWebhookConfiguration")
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All&fieldValidation=Strict"
    status, answer = apiserver.request("POST", path, configuration)
    assert status == 201, answer.get("message")


@pytest.mark.parametrize("make, words", [
    (lambda pod: pod["metadata"]["labels"].update({JOB: "7"}), f"label {JOB} of a bridged pod is set and changed by the bridge only"),
    (lambda pod: pod["metadata"].update(annotations={"slinky.slurm.net/slurm-node": "n"}),
     "annotation slinky.slurm.net/slurm-node of a bridged pod is set and changed by the bridge only"),
    (lambda pod: pod["metadata"].update(annotations={"capstan.dev/attempt": "2"}),
     "annotation capstan.dev/attempt of a bridged pod is set and changed by the bridge only"),
    (lambda pod: pod["spec"].pop("schedulingGates"),
     "label capstan.dev/bridged is set by the bridge; remove it from the pod (or its template)"),
], ids=["job", "node", "attempt", "no gate"])
def test_nobody_makes_a_pod_that_bears_what_the_bridge_writes(guarded, make, words):
    status, answer = create(guarded, make)
    assert status == 422 and words in answer["message"], answer


@pytest.mark.parametrize("patch, words", [
    ({"metadata": {"labels": {JOB: "1"}}}, f"label {JOB} of a bridged pod is set and changed by the bridge only"),
    ({"metadata": {"labels": {JOB: None}}}, f"label {JOB} of a bridged pod is set and changed by the bridge only"),
    ({"metadata": {"labels": {"capstan.dev/bridged": None}}}, "label capstan.dev/bridged of a bridged pod"),
    ({"metadata": {"labels": {"capstan.dev/bridged": "others"}}}, "label capstan.dev/bridged of a bridged pod"),
    ({"metadata": {"annotations": {"slinky.slurm.net/slurm-node": "n"}}}, "annotation slinky.slurm.net/slurm-node of a bridged pod"),
    ({"spec": {"schedulingGates": [{"name": "others/gate"}]}}, "only Slurm lets this pod go"),
    ({"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}, "label scheduling.x-k8s.io/pod-group of a bridged pod cannot be changed"),
    ({"metadata": {"annotations": {"capstan.dev/gang": "job"}}}, "annotation capstan.dev/gang of a bridged pod cannot be changed"),
], ids=["job", "no job", "unbridged", "another's", "node", "gate", "group", "gang"])
def test_nobody_changes_what_the_bridge_relies_on(guarded, pod, patch, words):
    status, answer = change(guarded, patch)
    assert status == 422 and words in answer["message"], answer


# The API server takes labels and annotations there, too.
@pytest.mark.parametrize("patch, words", [
    ({"metadata": {"labels": {JOB: "1"}}}, f"label {JOB} of a bridged pod is set and changed by the bridge only"),
    ({"metadata": {"annotations": {"capstan.dev/attempt": "7"}}}, "annotation capstan.dev/attempt of a bridged pod"),
    ({"status": {"conditions": [{"type": "capstan.dev/SlurmJob", "status": "True"}]}},
     "condition capstan.dev/SlurmJob of a bridged pod is written by the bridge only"),
], ids=["job", "attempt", "condition"])
def test_nor_by_way_of_its_status(guarded, pod, patch, words):
    status, answer = change(guarded, patch, "/status")
    assert status == 422 and words in answer["message"], answer


def test_others_say_in_its_status_what_they_like(guarded, pod):
    said = [{"type": "Ready", "status": "False"}, {"type": "others/Condition", "status": "True"}]
    assert change(guarded, {"status": {"conditions": said}}, "/status")[0] == 200


def test_a_bridged_pod_is_not_resized(guarded, pod):
    status, answer = change(guarded, {"spec": {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "2"}}}]}}, "/resize")
    if status == 404:  # before Kubernetes 1.33 there is no resize
        assert "pods/resize" not in {one["name"] for one in guarded.request("GET", "/api/v1")[1]["resources"]}
    else:
        assert status == 422 and "a bridged pod cannot be resized: its Slurm job would not follow" in answer["message"], answer


@pytest.mark.parametrize("patch", [
    {"metadata": {"labels": {"team": "a"}}}, {"metadata": {"annotations": {"note": "x"}}}, {"metadata": {"finalizers": ["batch.kubernetes.io/job-tracking"]}},
    {"metadata": {"finalizers": None}}, {"spec": {"schedulingGates": [GATE]}},
], ids=["label", "annotation", "finalizer", "no finalizer", "another's gate"])
def test_everything_else_is_as_it_was(guarded, pod, patch):
    status, answer = change(guarded, patch)
    assert status == 200, answer


def test_the_bridge_itself_may_let_a_pod_go(guarded, pod):
    as_bridge(guarded, [{"op": "replace", "path": "/spec/schedulingGates", "value": [{"name": "others/gate"}]}])


def test_pods_that_are_not_bridged_are_nobodys_business(guarded):
    status, answer = create(guarded, lambda pod: pod["metadata"].update(labels={JOB: "7"}))
    assert status == 201, answer
