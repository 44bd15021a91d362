"""Uninstalling leaves what would be lost for good, and nothing else."""
import re
import shlex

import pytest

import lab as labs

pytestmark = pytest.mark.long

# What Kubernetes puts into every namespace.
KUBERNETES = {"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"}
STATE = "statesave-slurm-controller-0"
KEPT = {f"PersistentVolumeClaim/{STATE}", f"PersistentVolume/{STATE}", "Secret/slurm-auth-slurm", "Secret/slurm-auth-jwt"}


def left(lab):
    return {labs.label(item) for item in lab.everything()} - KUBERNETES


def uninstall(lab):
    lab.uninstall_slurm()
    lab.wait_for("everything else is gone", lambda: left(lab) <= KEPT, within=90)
    assert left(lab) == KEPT


@pytest.fixture(scope="module")
def held_job(lab):
    return lab.submit("--hold", "--wrap", "true")


def test_uninstall_leaves_only_the_state_and_the_keys(lab, held_job):
    uninstall(lab)


def test_installing_again_finds_the_old_jobs(lab, held_job):
    lab.install_slurm()
    lab.wait_for_idle(3, within=90)
    assert lab.job_state(held_job) == "PENDING"
    lab.in_worker("scancel", held_job)


def test_the_notes_name_the_command_that_removes_the_rest_too(lab, held_job):
    notes = labs.helm("get", "notes", "slurm", "-n", lab.namespace)
    command = re.findall(r"^ *kubectl (.* delete .*)$", notes, re.M)[-1]
    uninstall(lab)
    labs.kubectl(*shlex.split(command))
    lab.wait_for("nothing is left, and the volume has followed its claim", lambda: not left(lab), within=60)
