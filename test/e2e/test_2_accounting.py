"""No job is missing from the history, whatever happens to slurmdbd and its database."""
import os
import signal

import pytest

JOBS = 60
SETTINGS = ("nodesets.slinky.replicas=2", "accounting.enabled=true", "accounting.database.embedded.enabled=true",
            "accounting.database.embedded.size=1Gi")
PODS = ("slurm-accounting-0", "slurm-accounting-db-0")


@pytest.fixture(autouse=True)
def accounting(lab):
    lab.wait_for_accounting(within=120)


def kill(lab):
    """SIGKILL, to the daemons within their pods."""
    for program in ("slurmdbd", "mariadbd"):
        victims = lab.processes(program)
        assert victims, f"{program} does not run"
        for victim in victims:
            os.kill(victim, signal.SIGKILL)


def take_away(lab):
    """Their pods, at once."""
    lab.kubectl("delete", "pods", *PODS, "--grace-period=0", "--force", "--wait=false")


def submit(lab):
    """Submits jobs, five a second; their numbers."""
    loop = f"for i in $(seq {JOBS // 3}); do sbatch --parsable -o /dev/null --wrap true; sleep 0.2; done"
    return lab.in_worker("sh", "-c", loop, timeout=120).split()


def test_every_job_is_in_the_history_after_slurmdbd_and_the_database_were_killed(lab):
    jobs = submit(lab)
    kill(lab)
    jobs += submit(lab)
    lab.wait_for("both run again", lambda: lab.processes("slurmdbd") and lab.processes("mariadbd"), within=60)
    take_away(lab)
    jobs += submit(lab)
    assert len(set(jobs)) == JOBS

    def missing():
        rows = lab.in_worker_result("sacct", "-anXP", "-o", "jobid,state").stdout.split()
        return [job for job in jobs if f"{job}|COMPLETED" not in rows]
    lab.wait_for("every job is in the history", lambda: not missing(), within=120)
