"""slurmctld without a volume: with its pod all records are gone, and no worker is lost for it."""
import pytest

import lab as labs

pytestmark = pytest.mark.long


def test_the_workers_are_back_without_a_pod_deleted(bare):
    lab = bare
    lab.install_operator()
    lab.install_slurm("controller.persistence.enabled=false")
    lab.wait_for_idle(3, within=150)
    before = {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    uid = lab.get("pod", "slurm-controller-0")["metadata"]["uid"]
    lab.kubectl("delete", "pod", "slurm-controller-0", "--wait=false")
    lab.wait_for("another slurmctld runs", lambda: (lab.get("pod", "slurm-controller-0") or {"metadata": {}})["metadata"].get("uid") not in (None, uid),
                 within=120)
    lab.wait_for_idle(3, within=150)
    assert {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()} == before
