"""No job is missing from the history, whatever happens to slurmdbd and its database."""
import pytest

import lab as labs

JOBS = 60
SETTINGS = ("nodesets.slinky.replicas=2", "accounting.enabled=true", "accounting.database.embedded.enabled=true",
            "accounting.database.embedded.size=1Gi", labs.PROMPT)
PODS = ("slurm-accounting-0", "slurm-accounting-db-0")


@pytest.fixture(autouse=True)
def accounting(lab):
    lab.wait_for_accounting(within=120)


def take_away(lab):
    """Their pods, at once."""
    lab.kubectl("delete", "pods", *PODS, "--grace-period=0", "--force", "--wait=false")


def test_every_job_is_in_the_history_after_slurmdbd_and_the_database_were_killed(lab):
    jobs = lab.submit_stream(JOBS // 3)
    for program in ("slurmdbd", "mariadbd"):
        lab.kill(program)
    jobs += lab.submit_stream(JOBS // 3)
    lab.wait_for("both run again", lambda: lab.processes("slurmdbd") and lab.processes("mariadbd"), within=60)
    take_away(lab)
    jobs += lab.submit_stream(JOBS // 3)
    assert len(set(jobs)) == JOBS
    lab.wait_for("every job is in the history", lambda: not lab.missing_in_history(jobs), within=120)
