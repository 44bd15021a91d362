"""Scaling beside Helm, on a real API server: who owns the number of workers."""

import itertools
import os
import subprocess

import pytest
from definitions import REPOSITORY

numbers = itertools.count()


@pytest.fixture
def helm(server, tmp_path):
    """Upgrades the release with one node set of these values; with check=False the CompletedProcess."""
    name = f"scaling-{next(numbers)}"
    server.kubectl("create", "namespace", name)

    def upgrade(*settings, check=True):
        words = [word for setting in ("nodesets.a.enabled=true", *settings) for word in ("--set", setting)]
        return subprocess.run([REPOSITORY / "build/tools/helm", "upgrade", "--install", "slurm", "charts/slurm", "--namespace", name, *words], cwd=REPOSITORY,
                              env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(server.kubeconfig)}, capture_output=True, text=True, timeout=60, check=check)

    upgrade.scale = lambda replicas: server.kubectl("-n", name, "scale", "nodesets.slinky.slurm.net/slurm-worker-a", f"--replicas={replicas}")
    upgrade.replicas = lambda: server.kubectl("-n", name, "get", "nodesets.slinky.slurm.net/slurm-worker-a", "-o", "jsonpath={.spec.replicas}")
    return upgrade


@pytest.mark.parametrize("replicas", ["0", "7"])
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
