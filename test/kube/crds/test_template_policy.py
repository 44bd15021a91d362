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


OPERATOR = "system:serviceaccount:default:slurm-operator"
WORKERS = "registry.test/slurmd:26.05"
SYS_ADMIN = {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
UNCONFINED = {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}


def pod(spec):
    return {"template": {"spec": spec}}


def container(**fields):
    return pod({"containers": [{"name": "x", "image": "x"} | fields]})


def context(**fields):
    return container(securityContext=fields)


def made(kind, spec, name="a"):
    return {"apiVersion": OWN.get(kind, "slinky.slurm.net/v1beta1"), "kind": kind, "metadata": {"name": name}, "spec": BASE[kind] | spec}


def path_of(kind):
    return f"{API.replace('slinky.slurm.net/v1beta1', OWN.get(kind, 'slinky.slurm.net/v1beta1'))}/{kind.lower()}s"


def attempt(server, kind, spec, user=None):
    return server.request("POST", f"{path_of(kind)}?dryRun=All", made(kind, spec), user=user)


@pytest.fixture(scope="module")
def guarded(server, tmp_path_factory):
    """With the policy in force, as the chart renders it."""
    helm = [REPOSITORY / "build/tools/helm", "template", "slurm-operator", "charts/slurm-operator", "--set", "templatePolicy.enabled=true",
            "--set", "templatePolicy.nodeSetImages={registry.test/slurmd:*,other.test/slurmd:1}", "--show-only", "templates/template-policy.yaml"]
    home = tmp_path_factory.mktemp("helm")
    text = subprocess.run(helm, cwd=REPOSITORY, env={"PATH": os.environ["PATH"], "HOME": str(home)}, capture_output=True, text=True, timeout=30, check=True).stdout
    policy = [each for each in yaml.safe_load_all(text) if each]
    status, answer = server.request("POST", path_of("NodeSet"), made("NodeSet", pod(HOST_PATH), "older"))
    assert status == 201, answer
    server.kubectl("apply", "-f", "-", stdin=text)
    deadline = time.monotonic() + patient(30)
    while attempt(server, "NodeSet", pod(HOST_PATH))[0] == 201:
        assert time.monotonic() < deadline, "the policy is not in force"
        time.sleep(0.1)
    yield server
    for each in policy:
        server.kubectl("delete", each["kind"], each["metadata"]["name"])
    while attempt(server, "NodeSet", pod(HOST_PATH))[0] != 201:
        assert time.monotonic() < deadline + 30, "the policy is still in force"
        time.sleep(0.1)


@pytest.mark.parametrize("kind", BASE)
@pytest.mark.parametrize("spec, says", [
    (pod(HOST_PATH), "must not have a hostPath"),
    (container(**PRIVILEGED), "securityContext.privileged"),
    (pod({"initContainers": [{"name": "x", "image": "x"} | PRIVILEGED]}), "securityContext.privileged"),
    (pod({"serviceAccountName": "admin"}), "serviceAccountName must be absent"),
    (pod({"serviceAccount": "admin"}), "serviceAccountName must be absent"),
    (pod({"hostPID": True}), "hostPID or hostIPC"),
    (pod({"hostIPC": True}), "hostPID or hostIPC"),
    (container(**SYS_ADMIN), "must not add capabilities"),
    (pod({"initContainers": [{"name": "x", "image": "x"} | SYS_ADMIN]}), "must not add capabilities"),
    (context(procMount="Unmasked"), "procMount"),
    (context(seccompProfile={"type": "Unconfined"}), "seccompProfile"),
    (pod({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}), "seccompProfile"),
    (container(**UNCONFINED), "AppArmor"),
    ({"template": {"metadata": {"annotations": {"container.apparmor.security.beta.kubernetes.io/x": "unconfined"}}}}, "AppArmor"),
    (context(seLinuxOptions={"type": "spc_t"}), "seLinuxOptions"),
    (pod({"securityContext": {"seLinuxOptions": {"user": "system_u"}}}), "seLinuxOptions"),
    (context(windowsOptions={"hostProcess": True}), "hostProcess"),
    (pod({"securityContext": {"sysctls": [{"name": "kernel.core_pattern", "value": "|/x"}]}}), "sysctls"),
    (container(readinessProbe={"httpGet": {"host": "169.254.169.254", "port": 80}}), "name a host"),
    (container(lifecycle={"preStop": {"tcpSocket": {"host": "10.0.0.1", "port": 80}}}), "name a host"),
    (pod({"containers": [{"name": "x", "image": "x", "securityContext": None, "ports": None}, {"name": "y", "image": "y"} | PRIVILEGED]}), "securityContext.privileged"),
], ids=json.dumps)
def test_template_that_reaches_beyond_its_pod_is_refused(guarded, kind, spec, says):
    status, answer = attempt(guarded, kind, spec)
    assert status == 422 and says in answer["message"], answer


@pytest.mark.parametrize("kind", BASE)
@pytest.mark.parametrize("spec, says", [(pod({"hostNetwork": True}), "hostNetwork"), (container(ports=[{"containerPort": 1, "hostPort": 1}]), "hostPort")], ids=json.dumps)
def test_only_workers_are_on_the_network_of_their_machine(guarded, kind, spec, says):
    status, answer = attempt(guarded, kind, spec)
    assert status == 201 if kind == "NodeSet" else status == 422 and says in answer["message"], answer


@pytest.mark.parametrize("kind, daemon", [("Controller", "slurmctld"), ("Controller", "reconfigure"), ("Controller", "logfile"), ("RestApi", "slurmrestd"),
                                          ("NodeSet", "slurmd"), ("NodeSet", "logfile"), ("LoginSet", "login"), ("LoginSet", "initconf"), ("Accounting", "slurmdbd")])
@pytest.mark.parametrize("spec, says", [(PRIVILEGED, "securityContext.privileged"), (SYS_ADMIN, "must not add capabilities")], ids=json.dumps)
def test_daemon_with_more_rights_is_refused(guarded, kind, daemon, spec, says):
    status, answer = attempt(guarded, kind, {daemon: spec})
    assert status == 422 and says in answer["message"], answer


@pytest.mark.parametrize("kind", BASE)
@pytest.mark.parametrize("spec", [
    {},
    pod({"serviceAccountName": "default", "volumes": [{"name": "a", "emptyDir": {}}], "securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]},
         "containers": [{"name": "x", "image": "x", "command": ["x"], "livenessProbe": {"exec": {"command": ["x"]}}, "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
                         "securityContext": {"privileged": False, "capabilities": {"add": ["CHOWN"], "drop": ["ALL"]}}}]}),
    {"template": {"metadata": {"labels": {"a": "b"}}}},
    # What null removes (compatibility.md).
    pod({"volumes": None, "initContainers": None, "serviceAccountName": None, "hostPID": None, "hostNetwork": None, "securityContext": {"sysctls": None, "seLinuxOptions": None},
         "containers": [{"name": "x", "image": "x", "ports": None, "lifecycle": None, "livenessProbe": None, "volumeMounts": None,
                         "securityContext": {"privileged": None, "procMount": None, "capabilities": {"add": None}, "seLinuxOptions": {"user": None}, "seccompProfile": None}}]}),
], ids=json.dumps)
def test_other_template_is_taken(guarded, kind, spec):
    status, answer = attempt(guarded, kind, spec)
    assert status == 201, answer


@pytest.mark.parametrize("where", ["spec.slurmd", "spec.template"])
@pytest.mark.parametrize("slurmd, says", [
    ({"image": "evil.test/slurmd:26.05"}, "must be one of registry.test/slurmd:*, other.test/slurmd:1"),
    ({"image": "other.test/slurmd:12"}, "must be one of"),
    ({"command": ["sh"]}, "neither command nor args"),
    ({"args": ["-c"]}, "neither command nor args"),
    ({"env": [{"name": "LD_PRELOAD", "value": "/home/x.so"}]}, "neither command nor args"),
    ({"envFrom": [{"configMapRef": {"name": "x"}}]}, "neither command nor args"),
    ({"lifecycle": {"postStart": {"exec": {"command": ["sh"]}}}}, "neither command nor args"),
    ({"startupProbe": {"exec": {"command": ["sh"]}}}, "no probe of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "/"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "/usr/sbin/slurmd"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "//etc"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "/./lib64/x"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "/home/../etc"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "etc"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "/etc/profile.d/\n.sh"}]}, "no volumeMount of spec.slurmd"),
    ({"volumeMounts": [{"name": "a", "mountPath": "/data"}, {"name": "b", "mountPath": "/data/x"}]}, "may be within another"),
], ids=json.dumps)
def test_slurmd_runs_what_its_image_has(guarded, where, slurmd, says):
    spec = {"slurmd": slurmd} if where == "spec.slurmd" else pod({"containers": [{"name": "slurmd"} | slurmd]})
    status, answer = attempt(guarded, "NodeSet", spec)
    assert status == 422 and says in answer["message"], answer
    assert attempt(guarded, "NodeSet", spec, user=OPERATOR)[0] == 201, "a SlurmCluster may say that"


@pytest.mark.parametrize("slurmd", [
    {"image": WORKERS}, {"image": "other.test/slurmd:1", "imagePullPolicy": "Always", "resources": {"limits": {"cpu": "2"}}},
    {"volumeMounts": [{"name": "a", "mountPath": "/home"}, {"name": "a", "mountPath": "/data/usr"}, {"name": "a", "mountPath": "/library"}]},
    {"readinessProbe": {"tcpSocket": {"port": 6818}}},
    {"image": None, "command": None, "env": None, "lifecycle": None, "volumeMounts": None, "startupProbe": None},
], ids=json.dumps)
def test_slurmd_of_an_image_of_the_list_is_taken(guarded, slurmd):
    status, answer = attempt(guarded, "NodeSet", {"slurmd": slurmd})
    assert status == 201, answer


@pytest.mark.parametrize("spec", [
    pod({"hostAliases": [{"ip": "192.0.2.1", "hostnames": ["main-controller.slurm"]}]}),
    pod({"dnsConfig": {"nameservers": ["192.0.2.1"]}}),
    pod({"dnsPolicy": "None"}),
    pod({"shareProcessNamespace": True}),
    pod({"volumes": [{"name": "slurm-etc", "secret": {"secretName": "mine"}}]}),
    {"volumeClaimTemplates": [{"metadata": {"name": "slurm-etc"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]},
], ids=json.dumps)
def test_slurmd_asks_the_slurmctld_of_its_controller(guarded, spec):
    status, answer = attempt(guarded, "NodeSet", spec)
    assert status == 422 and ("another slurmctld" in answer["message"] or "no volume may be called" in answer["message"]), answer
    assert attempt(guarded, "NodeSet", spec, user=OPERATOR)[0] == 201


def test_an_annotation_that_pods_inherit_turns_no_apparmor_off(guarded):
    key = "container.apparmor.security.beta.kubernetes.io/login"
    bad = made("LoginSet", {}) | {"metadata": {"name": "a", "annotations": {key: "unconfined"}}}
    status, answer = guarded.request("POST", f"{path_of('LoginSet')}?dryRun=All", bad)
    assert status == 422 and "AppArmor" in answer["message"], answer
    patch = {"metadata": {"annotations": {key: "unconfined"}}}
    status, answer = guarded.request("PATCH", f"{path_of('NodeSet')}/older", patch, content_type="application/merge-patch+json")
    assert status == 422, answer


def test_ssh_files_are_not_for_who_may_not_be_root(guarded):
    ssh = {"ssh": {"enabled": True, "extraSshdConfig": "AuthorizedKeysCommand /bin/x", "sssdConfRef": KEY}}
    status, answer = attempt(guarded, "NodeSet", ssh)
    assert status == 422 and "spec.ssh" in answer["message"], answer
    assert attempt(guarded, "NodeSet", ssh, user=OPERATOR)[0] == 201


def test_the_operator_lets_a_login_mount_its_shared_root(guarded):
    for spec in ({"login": SYS_ADMIN}, {"login": UNCONFINED}):
        assert attempt(guarded, "LoginSet", spec, user=OPERATOR)[0] == 201
        assert attempt(guarded, "Controller", {"slurmctld": spec["login"]}, user=OPERATOR)[0] == 422


def test_what_was_there_before_can_be_labelled_and_deleted(guarded):
    patch = {"metadata": {"labels": {"a": "b"}, "finalizers": []}}
    status, answer = guarded.request("PATCH", f"{path_of('NodeSet')}/older", patch, content_type="application/merge-patch+json")
    assert status == 200, answer
    status, answer = guarded.request("PATCH", f"{path_of('NodeSet')}/older", {"spec": {"replicas": 7}}, content_type="application/merge-patch+json")
    assert status == 422 and "hostPath" in answer["message"], answer
    assert guarded.request("DELETE", f"{path_of('NodeSet')}/older")[0] == 200
