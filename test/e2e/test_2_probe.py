"""The kubelet keeps its hands off a slurmd whose machine is starved."""
import time

import pytest

import lab as labs

pytestmark = pytest.mark.long


def test_a_slurmd_that_stands_still_for_seventy_seconds_keeps_its_job(lab):
    """A liveness probe of six tries, ten seconds apart, ended it, and the job with it."""
    before = lab.uid_of(1)
    job = lab.submit_open("slinky-1")
    lab.wait_for_job(job, "RUNNING", within=60)
    with lab.stopped("slurmd"):
        time.sleep(70)
    lab.still_runs(job)
    pod = lab.worker_pods()[f"{labs.NODESET}-1"]
    assert pod["metadata"]["uid"] == before
    assert [status["restartCount"] for status in pod["status"]["containerStatuses"]] == [0]
    lab.wait_for("the worker is ready again", lambda: lab.some_worker() is not None, within=60)
    lab.let_end(job, f"{labs.NODESET}-1")
    lab.wait_for_job(job, "COMPLETED", within=60)
