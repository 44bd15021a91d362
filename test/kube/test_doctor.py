"""`capstan doctor` against a real API server: what it sees, and what it says that it may not see."""
import json
import os
import subprocess

import pytest
from apiserver import TOOLS, clean_environment
from definitions import REPOSITORY

CAPSTAN = REPOSITORY / "build" / "release" / "bin" / "capstan"
NAMESPACE = "doctor"
GROUP = "slinky.slurm.net"
KINDS = ["accountings", "controllers", "loginsets", "nodesets", "restapis", "tokens"]
CONTROLLER = f"""
apiVersion: {GROUP}/v1beta1
kind: Controller
metadata: {{name: main}}
spec:
  slurmKeyRef: {{name: keys, key: slurm.key}}
  jwtKeyRef: {{name: keys, key: jwt.key}}
"""


def doctor(kubeconfig, *arguments):
    return subprocess.run([CAPSTAN, "doctor", "--kubeconfig", kubeconfig, *arguments], text=True, capture_output=True,
                          env=clean_environment(), timeout=60, check=False)


@pytest.fixture(scope="module")
def controller(server):
    """A Controller without its keys, which no operator looks after."""
    server.kubectl("create", "namespace", NAMESPACE)
    server.kubectl("--namespace", NAMESPACE, "apply", "-f", "-", stdin=CONTROLLER)


def test_what_is_wrong_is_said_most_serious_first(server, controller):
    done = doctor(server.kubeconfig, "--namespace", NAMESPACE, "-o", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["healthy"], report["notSeen"]) == (1, False, []), done.stdout + done.stderr
    assert [each["cause"] for each in report["findings"]] == ["OperatorMissing", "KeyMissing", "KeyMissing"]
    assert "Secret doctor/keys, named in spec.slurmKeyRef, is missing" in report["findings"][1]["what"]


def test_people_read_text_without_colours_where_there_is_no_terminal(server, controller):
    done = doctor(server.kubeconfig, "--namespace", NAMESPACE)
    assert done.stdout.startswith("error  Deployment slurm-operator (OperatorMissing)\n  no operator is installed: ")
    assert "\n  to do: helm install slurm-operator " in done.stdout and "\x1b" not in done.stdout


def test_a_namespace_without_slurm_is_healthy(server, controller):
    done = doctor(server.kubeconfig, "--namespace", "kube-system")
    assert (done.returncode, done.stdout) == (0, "nothing is wrong with 0 custom resources in namespace kube-system, as "
                                                 "far as can be seen\n")


def test_what_the_reader_may_not_see_is_named_with_the_right_it_needs(reader_of, controller):
    kubeconfig = reader_of([{"apiGroups": [GROUP], "resources": KINDS, "verbs": ["list"]}])
    done = doctor(kubeconfig, "--namespace", NAMESPACE, "-o", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["findings"]) == (0, []), done.stdout
    assert report["notSeen"] == [
        "could not look at custom resource definitions: needs the right to get customresourcedefinitions",
        "could not look at sharedroots.capstan.dev in namespace doctor: needs the right to list sharedroots.capstan.dev",
        "could not look at slurmclusters.capstan.dev in namespace doctor: needs the right to list slurmclusters.capstan.dev",
        "could not look at deployments.apps in all namespaces: needs the right to list deployments.apps",
        "could not look at pods in all namespaces: needs the right to list pods",
        "could not look at leases.coordination.k8s.io in all namespaces: needs the right to list leases.coordination.k8s.io",
        "could not look at pods in namespace doctor: needs the right to list pods",
        "could not look at nodes: needs the right to list nodes",
        "could not look at persistentvolumeclaims in namespace doctor: needs the right to list persistentvolumeclaims",
        "could not look at whether keys are there in namespace doctor: needs the right to get secrets",
        "could not look at cgroup.conf in namespace doctor: needs the right to get configmaps"]


def test_who_may_see_nothing_is_told_so(reader_of, controller):
    done = doctor(reader_of([]), "--namespace", NAMESPACE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("capstan: the cluster cannot be looked at: ") and "cannot list" in done.stderr


def test_a_server_that_does_not_answer_is_told(tmp_path, server):
    config = json.loads(server.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "config").write_text(json.dumps(config))
    done = doctor(tmp_path / "config")
    assert done.returncode == 2 and "cannot be looked at" in done.stderr


def test_it_is_a_plugin_of_kubectl(tmp_path, server, controller):
    (tmp_path / "kubectl-capstan").symlink_to(CAPSTAN)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = clean_environment() | {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": str(server.kubeconfig)}

    def plugin(*arguments):
        return subprocess.run([TOOLS / "kubectl", "capstan", *arguments], text=True, capture_output=True, env=environment,
                              timeout=60, check=False)

    assert "Usage: kubectl capstan doctor " in plugin("help", "doctor").stdout
    done = plugin("doctor", "-n", NAMESPACE)
    assert done.returncode == 1 and "(OperatorMissing)" in done.stdout
