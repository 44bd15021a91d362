"""Volumes of workers: they outlive an update, and go when the NodeSet's user says so."""
import json

import pytest

from lab import NODESET

pytestmark = pytest.mark.long

SETTINGS = tuple(f"nodesets.slinky.{value}" for value in (
    "replicas=2",
    "volumeClaimTemplates[0].metadata.name=data",
    "volumeClaimTemplates[0].spec.accessModes[0]=ReadWriteOnce",
    "volumeClaimTemplates[0].spec.resources.requests.storage=1Gi",
    "slurmd.volumeMounts[0].name=data",
    "slurmd.volumeMounts[0].mountPath=/data",
    "persistentVolumeClaimRetentionPolicy.whenDeleted=Delete",
    "persistentVolumeClaimRetentionPolicy.whenScaled=Delete"))


def claims(lab):
    names = sorted(item["metadata"]["name"] for item in lab.items("persistentvolumeclaims"))
    return [name for name in names if name.startswith("data-")]


def test_data_outlives_an_update_and_goes_in_a_scale_in(lab):
    for i in range(2):
        lab.in_worker("sh", "-c", f"echo of {i} > /data/note", worker=f"{NODESET}-{i}")
    before = [lab.uid_of(i) for i in range(2)]
    lab.kubectl("patch", "nodesets", NODESET, "--type=merge", "-p",
                json.dumps({"spec": {"template": {"metadata": {"annotations": {"example.com/note": "new"}}}}}))
    lab.wait_for("both are renewed", lambda: all(lab.uid_of(i) not in (None, before[i]) for i in range(2)), within=150)
    lab.wait_for_idle(2, within=60)
    for i in range(2):
        assert lab.in_worker("cat", "/data/note", worker=f"{NODESET}-{i}").strip() == f"of {i}"
    lab.scale(1)
    lab.wait_for("the claim of the one that went is gone", lambda: claims(lab) == [f"data-{NODESET}-0"], within=90)
    assert lab.in_worker("cat", "/data/note", worker=f"{NODESET}-0").strip() == "of 0"


def test_claims_go_with_a_cluster_that_is_uninstalled(lab):
    lab.uninstall_slurm()
    lab.wait_for("no claim is left", lambda: claims(lab) == [], within=90)
