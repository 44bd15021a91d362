"""Uninstalling leaves what would be lost for good, and nothing else."""
import re
import shlex

import pytest

import lab

# What Kubernetes puts into every namespace.
KUBERNETES = {"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"}
STATE = "statesave-slurm-controller-0"
KEPT = {f"PersistentVolumeClaim/{STATE}", f"PersistentVolume/{STATE}", "Secret/slurm-auth-slurm", "Secret/slurm-auth-jwt"}


def left():
    return {lab.label(item) for item in lab.everything()} - KUBERNETES


def uninstall():
    lab.uninstall_slurm()
    lab.wait_for("everything else is gone", lambda: left() <= KEPT, within=90)
    assert left() == KEPT


@pytest.fixture(scope="module")
def held_job(slurm):
    lab.scale(3)
    lab.wait_for_idle(3, within=90)
    return lab.submit("--hold", "--wrap", "true")


def test_uninstall_leaves_only_the_state_and_the_keys(held_job):
    uninstall()


def test_installing_again_finds_the_old_jobs(held_job):
    lab.install_slurm()
    lab.wait_for_idle(3, within=90)
    assert lab.job_state(held_job) == "PENDING"
    lab.in_worker("scancel", held_job)


def test_the_notes_name_the_command_that_removes_the_rest_too(held_job):
    notes = lab.helm("get", "notes", lab.SLURM, "-n", lab.SLURM)
    command, = re.findall(r"^ *kubectl (.* delete .*)$", notes, re.M)
    uninstall()
    lab.kubectl(*shlex.split(command))
    lab.wait_for("nothing is left, and the volume has followed its claim", lambda: not left(), within=60)
