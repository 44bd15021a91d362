"""`capstan render --diff` against a real API server on which a real operator has made what files ask for."""
import contextlib
import json
import subprocess
import sys
import time

import pytest
import yaml
from apiserver import clean_environment
from definitions import REPOSITORY
from patience import patient

sys.path.insert(0, str(REPOSITORY / "test" / "charts"))

from helm_render import environment  # noqa: E402

CAPSTAN = REPOSITORY / "build" / "release" / "bin" / "capstan"
HELM = REPOSITORY / "build" / "tools" / "helm"
NAMESPACE = "render"


def chart(*arguments):
    return subprocess.run([HELM, "template", "slurm", REPOSITORY / "charts" / "slurm", "--namespace", NAMESPACE,
                           "--values", REPOSITORY / "examples" / "demo" / "values.yaml", *arguments],
                          env=environment(), capture_output=True, text=True, timeout=30, check=True).stdout


def render(text, *arguments):
    return subprocess.run([CAPSTAN, "render", *arguments, "-"], input=text, text=True, env=clean_environment(),
                          capture_output=True, timeout=60, check=False)


def diff(kubeconfig, text, *arguments):
    return render(text, "--diff", "--kubeconfig", kubeconfig, *arguments)


@contextlib.contextmanager
def operator(server):
    """As long as it runs it makes what custom resources of the namespace ask for; there is no kubelet."""
    log = (server.folder / "operator.log").open("wb")
    process = subprocess.Popen([CAPSTAN, "operator", "--kubeconfig", server.kubeconfig, "--namespaces", NAMESPACE,
                                "--health-addr=0", "--metrics-addr=0", "--cluster-domain=cluster.local"],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)
        log.close()


@pytest.fixture(scope="module")
def made(server):
    """The text of a chart, whose objects are there as the operator has made them."""
    server.kubectl("create", "namespace", NAMESPACE)
    text = chart()
    server.kubectl("--namespace", NAMESPACE, "apply", "-f", "-", stdin=text)
    with operator(server):
        deadline = time.monotonic() + patient(60)
        wanted = ("statefulset/slurm-controller", "deployment/slurm-restapi", "pod/slurm-worker-slinky-0")
        while server.kubectl("--namespace", NAMESPACE, "get", *wanted, check=False).returncode != 0:
            assert time.monotonic() < deadline, (server.folder / "operator.log").read_text()
            time.sleep(0.2)
    return text


def test_what_the_operator_has_made_is_what_is_rendered(server, made):
    done = diff(server.kubeconfig, made)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_a_change_is_shown_and_nothing_else(server, made):
    done = diff(server.kubeconfig, chart("--set", "controller.extraConfMap.SlurmctldDebug=debug"))
    assert done.returncode == 1, done.stderr
    changed = [line for line in done.stdout.splitlines() if line.startswith(("+", "-")) and line[1:2] == " "]
    assert "+    SlurmctldDebug=debug" in changed
    digests = ("SlurmctldDebug", "config-hash", "restart-options")
    assert all(any(word in line for word in digests) for line in changed), done.stdout


def test_programs_read_what_is_rendered_and_what_would_change(server, made):
    done = render(made, "-o", "json")
    printed = json.loads(done.stdout)
    assert (done.returncode, printed["kind"], printed["problems"]) == (0, "List", []), done.stderr
    text = render(made).stdout
    assert printed["items"] == [one for one in yaml.safe_load_all(text) if one]
    comments = [line for line in text.splitlines() if line.startswith("# ")]
    assert comments == [f"# {sentence}." for sentence in printed["missing"] + printed["notes"]] and comments
    server.kubectl("--namespace", NAMESPACE, "apply", "--dry-run=client", "-f", "-", stdin=done.stdout)
    done = diff(server.kubeconfig, chart("--set", "restapi.replicas=2"), "-o", "json")
    change, = json.loads(done.stdout)["items"]
    assert (done.returncode, change["kind"], change["namespace"], change["name"]) == (1, "Deployment", NAMESPACE, "slurm-restapi")
    assert "\n+  replicas: 2\n" in change["diff"] and "\x1b" not in done.stdout


def test_a_number_of_workers_that_somebody_set_is_no_difference(server, made):
    server.kubectl("--namespace", NAMESPACE, "scale", "nodesets.slinky.slurm.net/slurm-worker-slinky", "--replicas=2")
    assert diff(server.kubeconfig, made).returncode == 0


def test_who_may_not_read_secrets_sees_the_rest(reader_of, made):
    rules = [{"apiGroups": ["", "apps", "policy", "slinky.slurm.net"], "verbs": ["get"],
              "resources": ["services", "configmaps", "pods", "statefulsets", "deployments", "poddisruptionbudgets",
                            "controllers", "nodesets", "restapis"]}]
    done = diff(reader_of(rules), made)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    assert "Secret render/slurm-auth-slurm (slurm.key) is not in the files, and cannot be read: " in done.stderr


def test_who_may_read_nothing_is_told_what_is_needed(reader_of, made):
    done = diff(reader_of([]), made)
    assert done.returncode == 2
    assert "cannot get resource" in done.stderr
