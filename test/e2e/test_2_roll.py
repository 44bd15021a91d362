"""Six workers on three nodes are renewed while jobs come and go, and while what renews them is taken away."""
import concurrent.futures
import random
import time

import pytest

import lab as labs
from evidence import Harm
from rolling import Budget, patch, renewed, revisions, set_note

pytestmark = pytest.mark.long
WORKERS = 6
UNAVAILABLE = 2
SETTINGS = (f"nodesets.slinky.replicas={WORKERS}", "nodesets.slinky.oversubscribeNode=true", labs.PROMPT,
            f"nodesets.slinky.updateStrategy.rollingUpdate.maxUnavailable={UNAVAILABLE}")
STREAM = 90  # jobs, of two seconds each
KILLS = 10
BUSY = 4     # the worker of the job that outlasts everything


@pytest.fixture
def long_one(lab):
    """It must have run through, wherever it was."""
    lab.wait_for_idle(WORKERS, within=120)
    job = lab.submit_open(f"slinky-{BUSY}")
    lab.wait_for_job(job, "RUNNING", within=60)
    return job


def unharmed(lab, jobs):
    """They have ended well, and where they began."""
    ended = lab.jobs()
    for job in jobs:
        state = (ended.get(job, {}).get("JobState"), ended.get(job, {}).get("Restarts"))
        if state != ("COMPLETED", "0"):
            raise Harm(f"job {job} is {state[0]}, restarted {state[1]} times")


def stream(lab):
    """Numbers of the jobs. They are submitted where slurmctld is, which no update of workers takes away."""
    loop = (f"for i in $(seq {STREAM}); do until sbatch --parsable -t 1 -D /tmp -o /dev/null --wrap 'sleep 2'; do sleep 1; done; "
            "sleep 0.7; done")
    return lab.kubectl("exec", "slurm-controller-0", "-c", "slurmctld", "--", "sh", "-c", loop, timeout=300).split()


def all_but_the_busy_one(lab, before):
    now = revisions(lab)
    return now.keys() == before.keys() and [name for name in now if now[name] == before[name]] == [f"{labs.NODESET}-{BUSY}"]


def finish(lab, long_one, before, uid):
    """The update has gone around the long job, and ends with it."""
    lab.still_runs(long_one, BUSY, uid)
    lab.let_end(long_one, f"{labs.NODESET}-{BUSY}")
    lab.wait_for("all are renewed", lambda: renewed(lab, before), within=120)
    lab.wait_for_idle(WORKERS, within=120)
    unharmed(lab, [long_one])


def test_no_job_of_a_stream_is_lost_and_the_budget_is_kept(lab, long_one):
    before, uid = revisions(lab), lab.uid_of(BUSY)
    budget = Budget(lab, WORKERS)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, budget.sampled():
        streamed = pool.submit(stream, lab)
        set_note(lab, "under a stream")
        lab.wait_for("the others are renewed", lambda: all_but_the_busy_one(lab, before), within=300)
        jobs = streamed.result()
        finish(lab, long_one, before, uid)
    assert len(set(jobs)) == STREAM
    assert len(budget.most) <= UNAVAILABLE, budget.most
    assert budget.seen == {f"slinky-{i}" for i in range(WORKERS)}
    lab.wait_for("every job has ended", lambda: not {lab.jobs().get(job, {}).get("JobState") for job in jobs} & {"PENDING", "RUNNING"},
                 within=60)
    unharmed(lab, jobs)


def test_a_rollback_in_the_middle_renews_only_who_was_renewed(lab, long_one):
    before, uid = revisions(lab), lab.uid_of(BUSY)
    uids = {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}
    note = next(iter(lab.worker_pods().values()))["metadata"]["annotations"].get("example.com/note")
    set_note(lab, "a mistake")
    lab.wait_for("some are renewed", lambda: sum(now != before[name] for name, now in revisions(lab).items()) >= 2, within=120,
                 every=0.05)
    set_note(lab, note)
    lab.wait_for("all are of the former template", lambda: revisions(lab) == before, within=180)
    lab.wait_for("the busy one is in service", lambda: lab.node_states().get(f"slinky-{BUSY}") in ("mixed", "allocated"), within=60)
    lab.still_runs(long_one, BUSY, uid)
    kept = [name for name, pod in lab.worker_pods().items() if pod["metadata"]["uid"] == uids[name]]
    assert len(kept) >= 2, "those that had not been renewed yet stay"
    lab.let_end(long_one, f"{labs.NODESET}-{BUSY}")
    lab.wait_for_job(long_one, "COMPLETED", within=60)


def test_slurmctld_goes_in_the_middle_and_comes_back(lab, long_one):
    before, uid = revisions(lab), lab.uid_of(BUSY)
    budget = Budget(lab, WORKERS)
    with budget.sampled():
        set_note(lab, "without slurmctld")
        lab.wait_for("the first is on its way", lambda: any(
            state.startswith("drain") for state in lab.node_states().values()) or revisions(lab) != before, within=60, every=0.05)
        lab.kubectl("delete", "pod", "slurm-controller-0", "--grace-period=0", "--force", "--wait=false")
        lab.wait_for("the others are renewed", lambda: all_but_the_busy_one(lab, before), within=300)
    assert len(budget.most) <= UNAVAILABLE, budget.most
    lab.wait_for("slurmctld answers", lambda: lab.records() is not None, within=60)
    finish(lab, long_one, before, uid)


def test_the_operator_is_killed_ten_times_at_random(lab, long_one):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    moments = random.Random(seed)
    before, uid = revisions(lab), lab.uid_of(BUSY)
    lab.install_operator("operator.leaderElection=false")  # else the next one waits for a quarter of a minute, and nothing goes on
    labs.kubectl("-n", lab.operator_namespace, "rollout", "status", f"deployment/{lab.operator}", "--timeout=90s", timeout=100)
    budget = Budget(lab, WORKERS)
    with budget.sampled():
        patch(lab, {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}})
        set_note(lab, f"killed, seed {seed}")
        for _ in range(KILLS):
            time.sleep(moments.uniform(0, 4))
            lab.wait_for("it runs", lambda: lab.processes("capstan", "operator"), within=60, every=0.05)
            lab.kill_operator()
            # Its container would be started again later each time.
            labs.kubectl("-n", lab.operator_namespace, "delete", "pods", "-l", f"app.kubernetes.io/instance={lab.operator}",
                         "--grace-period=0", "--force", "--wait=false")
        lab.wait_for("the others are renewed", lambda: all_but_the_busy_one(lab, before), within=300)
    assert len(budget.most) <= 1, (seed, budget.most)
    lab.install_operator()
    finish(lab, long_one, before, uid)
