"""Scaling beside Helm, on a real API server: who owns the number of workers."""

import itertools
import os
import subprocess

import pytest
from definitions import REPOSITORY

numbers = itertools.count()
HELM3 = pytest.param("helm3", marks=pytest.mark.long)  # takes minutes to build


@pytest.fixture
def helm(request, server, tmp_path):
    """Upgrades the release with one node set of these values; with check=False the CompletedProcess."""
    program = REPOSITORY / "build/tools" / getattr(request, "param", "helm")
    name = f"scaling-{next(numbers)}"
    server.kubectl("create", "namespace", name)

    def upgrade(*settings, check=True):
        words = [word for setting in ("nodesets.a.enabled=true", *settings) for word in ("--set", setting)]
        return subprocess.run([program, "upgrade", "--install", "slurm", "charts/slurm", "--namespace", name, *words],
                              cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=check,
                              env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(server.kubeconfig)})

    node_set = "nodesets.slinky.slurm.net/slurm-worker-a"
    upgrade.scale = lambda replicas: server.kubectl("-n", name, "scale", node_set, f"--replicas={replicas}")
    upgrade.replicas = lambda: server.kubectl("-n", name, "get", node_set, "-o", "jsonpath={.spec.replicas}")
    return upgrade


@pytest.mark.parametrize("replicas", ["0", "7"])
@pytest.mark.parametrize("helm", ["helm", HELM3], indirect=True)
def test_an_upgrade_leaves_a_number_alone_that_the_values_do_not_hold(helm, replicas):
    """The chart's default of one met the number of `kubectl scale` as a conflict, or was written over it."""
    helm()
    assert helm.replicas() == "1"
    helm.scale(replicas)
    helm("nodesets.a.minReadySeconds=5")
    assert helm.replicas() == replicas


def test_a_number_in_the_values_and_kubectl_scale_are_in_conflict_until_it_is_taken_out(helm):
    helm("nodesets.a.replicas=3")
    helm.scale(5)
    refused = helm("nodesets.a.replicas=3", "nodesets.a.minReadySeconds=5", check=False)
    assert refused.returncode != 0 and ".spec.replicas" in refused.stderr
    assert helm.replicas() == "5"
    helm("nodesets.a.minReadySeconds=5")
    assert helm.replicas() == "5"


@pytest.mark.parametrize("helm", [HELM3], indirect=True)
def test_helm_3_writes_the_number_when_the_values_change_it(helm):
    helm("nodesets.a.replicas=3")
    helm.scale(5)
    helm("nodesets.a.replicas=3", "nodesets.a.minReadySeconds=5")
    assert helm.replicas() == "5"
    helm("nodesets.a.replicas=4")
    assert helm.replicas() == "4"
