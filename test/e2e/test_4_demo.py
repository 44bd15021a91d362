"""`make demo`, and with CLUSTER=mine: on a cluster known only by its kubeconfig, which is not ours to tidy up."""
import contextlib
import os
import re
import shutil

import pytest

import lab

pytestmark = [pytest.mark.alone, pytest.mark.long]

FAILURE = "dev/demo: "
SLURM = "slurm"  # its namespace
HOSTS = ["slinky-0", "slinky-1", "slinky-2"]


@pytest.fixture(scope="module", autouse=True)
def bare():
    """The local cluster with nothing on it."""
    lab.erase()
    lab.wait_for("no volume is left", lambda: not lab.items("persistentvolumes"), within=60)


@pytest.fixture
def mine(tmp_path):
    """Runs make with CLUSTER=mine: given a copy of the kubeconfig, and the local cluster's folder out of sight."""
    kubeconfig = shutil.copy(lab.KUBECONFIG, tmp_path / "config")

    def make(target, *settings, kubeconfig=kubeconfig):
        return lab.run("unshare", "--mount", "--propagation", "private", "sh", "-c",
                       'mount -t tmpfs none "$1" && shift && exec make --no-print-directory "$@"', "-", lab.STATE,
                       target, "CLUSTER=mine", *settings, check=False, timeout=420,
                       env=os.environ | {"KUBECONFIG": str(kubeconfig)})
    return make


def contents():
    """The names of what a demo could leave behind, or take away."""
    found = lab.kubectl("get", "namespaces,crd,clusterroles,clusterrolebindings,persistentvolumes", "-o", "name")
    return sorted(found.split() + lab.kubectl("get", "pods,secrets", "--all-namespaces", "-o", "name").split())


def refusal(done):
    """The one sentence with which it ended."""
    assert done.returncode != 0, done.stdout
    sentence, = [line for line in done.stderr.splitlines() if line.startswith(FAILURE)]
    return sentence.removeprefix(FAILURE)


@contextlib.contextmanager
def another_slurm_cluster():
    """The user's own, made while the demo was there, and run by its operator."""
    lab.kubectl("create", "namespace", "prod")
    try:
        lab.helm("install", "prod", "charts/slurm", "-n", "prod", "--set", f"imagePrefix={lab.IMAGES}")
        yield "prod", "prod-slurm"
    finally:
        lab.helm("uninstall", "prod", "-n", "prod", "--ignore-not-found", "--wait", "--timeout", "2m", timeout=150)
        lab.kubectl("delete", "namespace", "prod", timeout=120)


def last_three_lines(done):
    """After how to log in, and what ada sees of an earlier job of hers."""
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "log in as ada or grace" in lines[-7], done.stdout
    assert re.match(r"\d+ +ada +demo +wrap +slinky-\d +COMPLETED", lines[-5]), done.stdout
    return sorted(lines[-3:])


def test_refuses_images_that_the_nodes_cannot_pull(mine):
    before = contents()
    sentence = refusal(mine("demo", "IMAGES=nowhere.invalid/x"))
    assert re.match(r"node node[123] cannot use the image nowhere\.invalid/x/(slurmctld|slurmd|slurmrestd|slurmdbd|login|capstan|mariadb|slapd):\S+ "
                    r"\((ErrImagePull|ImagePullBackOff): .*nowhere\.invalid.*\); push .*, and say IMAGES=its prefix$", sentence)
    assert contents() == before


@pytest.mark.parametrize("settings, kubeconfig, says", [
    ((), None, "CLUSTER=mine needs IMAGES=prefix"),
    ((f"IMAGES={lab.IMAGES}",), "", "CLUSTER=mine needs KUBECONFIG"),
    ((f"IMAGES={lab.IMAGES}",), "/nonexistent", "the cluster of /nonexistent does not answer")],
    ids=["no-images", "no-kubeconfig", "no-cluster"])
def test_refuses_without_being_told_what_to_use(mine, settings, kubeconfig, says):
    given = {} if kubeconfig is None else {"kubeconfig": kubeconfig}
    assert refusal(mine("demo", *settings, **given)).startswith(says)


def test_refuses_with_too_few_nodes(mine):
    lab.kubectl("cordon", "node2")
    try:
        assert refusal(mine("demo", f"IMAGES={lab.IMAGES}")) == "your cluster has 2 nodes that take pods; the demo needs 3"
    finally:
        lab.kubectl("uncordon", "node2")


def test_neither_enters_nor_removes_what_others_made(mine):
    lab.kubectl("create", "namespace", SLURM)
    lab.helm("upgrade", "--install", "kinds", "charts/slurm-operator-crds", "-n", "default")
    before = contents()
    assert refusal(mine("demo", f"IMAGES={lab.IMAGES}")).startswith("your cluster has a namespace slurm that this demo did not make")
    assert mine("demo-down").stdout.endswith("your cluster has nothing of this demo\n")
    assert contents() == before
    lab.kubectl("delete", "namespace", SLURM)
    assert re.match(r"your cluster already has the kind \w+\.slinky\.slurm\.net;", refusal(mine("demo", f"IMAGES={lab.IMAGES}")))
    lab.helm("uninstall", "kinds", "-n", "default", "--wait")
    lab.erase()


def test_a_kubeconfig_is_enough(mine):
    before = contents()
    for _ in range(2):
        done = mine("demo", f"IMAGES={lab.IMAGES}")
        assert last_three_lines(done) == HOSTS
    with another_slurm_cluster() as (namespace, name):
        assert re.match(rf"namespace {namespace} has the \w+ {name}, which needs the operator of this demo;",
                        refusal(mine("demo-down")))
        assert lab.get("-n", SLURM, "nodeset", lab.NODESET) and lab.get("-n", namespace, "controller", name)
    done = mine("demo-down")
    assert done.returncode == 0, done.stdout + done.stderr
    lab.wait_for("the cluster is as it was before", lambda: contents() == before, within=60)


def demo():
    """On the local cluster."""
    assert last_three_lines(lab.run("make", "demo", check=False, timeout=420)) == HOSTS


def test_without_cluster_the_local_one_is_used_and_goes_and_comes_back():
    demo()
    down = lab.run("make", "demo-down", check=False, timeout=120)
    assert down.returncode == 0, down.stdout + down.stderr
    lab.no_cluster_is_left()
    demo()
    bridge = lab.run("make", "demo-bridge", check=False, timeout=420)
    assert bridge.returncode == 0 and "squeue is empty again" in bridge.stdout, bridge.stdout + bridge.stderr
    lab.erase()
