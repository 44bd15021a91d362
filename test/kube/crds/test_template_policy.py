"""The policy that the operator's chart offers, on a real API server: which templates it keeps out."""

import json
import os
import subprocess
import time

import pytest
import yaml
from definitions import API, REPOSITORY
from patience import patient

HOST_PATH = {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "root", "hostPath": {"path": "/"}}]}
PRIVILEGED = {"securityContext": {"privileged": True}}
KEY = {"name": "a", "key": "b"}
BASE = {
    "Controller": {"slurmKeyRef": KEY, "jwtKeyRef": KEY},
    "RestApi": {"controllerRef": {"name": "a"}},
    "NodeSet": {"controllerRef": {"name": "a"}},
    "LoginSet": {"controllerRef": {"name": "a"}, "sssdConfRef": KEY},
    "Accounting": {"slurmKeyRef": KEY, "jwtKeyRef": KEY, "storageConfig": {"host": "h", "passwordKeyRef": KEY}},
    "SharedRoot": {"claim": {"size": "1Gi"}, "source": {"image": "x"}},
}
OWN = {"SharedRoot": "capstan.dev/v1alpha1"}


def pod(spec):
    return {"template": {"spec": spec}}


def attempt(server, kind, spec):
    made = {"apiVersion": OWN.get(kind, "slinky.slurm.net/v1beta1"), "kind": kind, "metadata": {"name": "a"}, "spec": BASE[kind] | spec}
    return server.request("POST", f"{API.replace('slinky.slurm.net/v1beta1', made['apiVersion'])}/{kind.lower()}s?dryRun=All", made)


@pytest.fixture(scope="module")
def guarded(server, tmp_path_factory):
    """With the policy in force, as the chart renders it."""
    helm = [REPOSITORY / "build/tools/helm", "template", "slurm-operator", "charts/slurm-operator", "--set", "templatePolicy.enabled=true",
            "--show-only", "templates/template-policy.yaml"]
    home = tmp_path_factory.mktemp("helm")
    text = subprocess.run(helm, cwd=REPOSITORY, env={"PATH": os.environ["PATH"], "HOME": str(home)}, capture_output=True, text=True, timeout=30, check=True).stdout
    made = [each for each in yaml.safe_load_all(text) if each]
    server.kubectl("apply", "-f", "-", stdin=text)
    deadline = time.monotonic() + patient(30)
    while attempt(server, "NodeSet", pod(HOST_PATH))[0] == 201:
        assert time.monotonic() < deadline, "the policy is not in force"
        time.sleep(0.1)
    yield server
    for each in made:
        server.kubectl("delete", each["kind"], each["metadata"]["name"])
    while attempt(server, "NodeSet", pod(HOST_PATH))[0] != 201:
        assert time.monotonic() < deadline + 30, "the policy is still in force"
        time.sleep(0.1)


@pytest.mark.parametrize("kind", BASE)
@pytest.mark.parametrize("spec, says", [
    (pod(HOST_PATH), "must not have a hostPath"),
    (pod({"containers": [{"name": "x", "image": "x"} | PRIVILEGED]}), "securityContext.privileged"),
    (pod({"initContainers": [{"name": "x", "image": "x"} | PRIVILEGED]}), "securityContext.privileged"),
    (pod({"serviceAccountName": "admin"}), "serviceAccountName must be absent"),
    (pod({"serviceAccount": "admin"}), "serviceAccountName must be absent"),
])
def test_template_that_reaches_beyond_its_namespace_is_refused(guarded, kind, spec, says):
    status, answer = attempt(guarded, kind, spec)
    assert status == 422 and says in answer["message"], answer


@pytest.mark.parametrize("kind, daemon", [("Controller", "slurmctld"), ("Controller", "reconfigure"), ("Controller", "logfile"), ("RestApi", "slurmrestd"),
                                          ("NodeSet", "slurmd"), ("NodeSet", "logfile"), ("LoginSet", "login"), ("LoginSet", "initconf"), ("Accounting", "slurmdbd")])
def test_privileged_daemon_is_refused(guarded, kind, daemon):
    status, answer = attempt(guarded, kind, {daemon: PRIVILEGED})
    assert status == 422 and "securityContext.privileged" in answer["message"], answer


@pytest.mark.parametrize("kind", BASE)
@pytest.mark.parametrize("spec", [
    {},
    pod({"serviceAccountName": "default", "volumes": [{"name": "a", "emptyDir": {}}], "containers": [{"name": "x", "image": "x", "securityContext": {"privileged": False}}]}),
    {"template": {"metadata": {"labels": {"a": "b"}}}},
], ids=json.dumps)
def test_other_template_is_taken(guarded, kind, spec):
    status, answer = attempt(guarded, kind, spec)
    assert status == 201, answer
