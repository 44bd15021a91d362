"""One way through everything that a site does with a cluster: `make demo`, jobs, scaling, an update, a crash, and the way back.

This is what `make test` runs of the end-to-end cases; each case here rests on the ones before it.
"""
import pytest

import lab as labs
from rolling import revisions, set_note
from test_4_demo import HOSTS, last_three_lines

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def demo():
    """Nothing is installed; then everything, by the README's command."""
    labs.erase()
    done = labs.run("make", "demo", check=False, timeout=420)
    print(done.stdout, done.stderr)  # kept in the report: its lines have the time
    assert last_three_lines(done) == HOSTS
    one = labs.Lab("slurm", "slinky", everywhere=True)
    one.keys = labs.ROOT / "build/demo"
    return one


@pytest.fixture(scope="module")
def jobs():
    """The numbers of all jobs that the cases have submitted: none may be missing in the end."""
    return []


def busy_with(demo, jobs, ordinal):
    """A job that runs on this worker until it is let go, and the UID of the worker's pod."""
    job = demo.submit_open(f"slinky-{ordinal}")
    jobs.append(job)
    demo.wait_for_job(job, "RUNNING", within=60)
    return job, demo.uid_of(ordinal)


def let_go(demo, job, ordinal):
    demo.let_end(job, f"{labs.NODESET}-{ordinal}")
    demo.wait_for_job(job, "COMPLETED", within=60)
    demo.never_restarted(job)


def test_everything_is_ready_and_a_persons_job_writes_to_her_home(demo, jobs):
    job = demo.ssh("ada", "sbatch --parsable --wrap 'id -un; pwd'").strip()
    jobs.append(job)
    demo.wait_for(f"job {job} is in ada's history", lambda: demo.ssh("ada", f"sacct -nXP -j {job} -o user,account,state") ==
                  "ada|demo|COMPLETED\n", within=60)
    assert demo.ssh("ada", f"cat slurm-{job}.out").split() == ["ada", "/home/ada"]
    # Whoever may write there could put a slurm.conf of theirs there.
    assert demo.ssh("ada", "stat -c '%a %u' /run/slurm").split() == ["755", "401"]
    for kind, name in (("controllers", "slurm"), ("restapis", "slurm"), ("nodesets", labs.NODESET), ("accountings", "slurm"),
                       ("loginsets", labs.LOGINSET)):
        demo.wait_for(f"{kind}/{name} is Ready", lambda k=kind, n=name: demo.condition(k, n, "Ready")["status"] == "True", within=60)


def test_a_job_outlives_a_scale_in_and_an_operator_that_is_killed_meanwhile(demo, jobs):
    """Idle workers go first; of two that are busy one drains."""
    running = {ordinal: busy_with(demo, jobs, ordinal) for ordinal in (0, 2)}
    demo.scale(1)

    def draining():
        states = demo.node_states()
        return [ordinal for ordinal in running if states.get(f"slinky-{ordinal}", "").startswith("drain")]

    demo.wait_for("the idle one is gone, a busy one drains", lambda: sorted(demo.worker_pods()) == [
        f"{labs.NODESET}-0", f"{labs.NODESET}-2"] and len(draining()) == 1, within=90)
    leaves, = draining()
    demo.kill_operator()
    demo.wait_for("the operator is back", lambda: demo.processes("capstan", "operator"), within=60)
    for ordinal, (job, uid) in running.items():
        demo.still_runs(job, ordinal, uid)
    let_go(demo, running[leaves][0], leaves)
    stays = 2 - leaves
    demo.wait_for("one worker is left", lambda: list(demo.worker_pods()) == [f"{labs.NODESET}-{stays}"], within=120)
    job, uid = running[stays]
    demo.still_runs(job, stays, uid)
    let_go(demo, job, stays)
    demo.scale(3)
    demo.wait_for_idle(3, within=120)


def test_an_update_waits_for_the_job_of_a_worker(demo, jobs):
    before = revisions(demo)
    job, uid = busy_with(demo, jobs, 1)
    set_note(demo, "new")

    def renewed():
        return sorted(name for name, revision in revisions(demo).items() if revision != before.get(name, revision))

    demo.wait_for("the two others are renewed", lambda: renewed() == [f"{labs.NODESET}-0", f"{labs.NODESET}-2"], within=180)
    demo.still_runs(job, 1, uid)
    let_go(demo, job, 1)
    demo.wait_for("all three are renewed", lambda: len(renewed()) == 3, within=120)
    demo.wait_for_idle(3, within=120)


@pytest.mark.long
def test_beside_it_there_is_room_for_a_cluster_that_is_one_object(demo):
    done = labs.run("make", "demo-slurmcluster", check=False, timeout=420)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert sum(line == f"grace on cpu-{n}" for n in range(3) for line in said) == 3, "an account that root made runs on all workers"
    assert sum(line == f"a program of the root, on cpu-{n}" for n in range(3) for line in said) == 3
    labs.kubectl("-n", "one-object", "delete", "slurmcluster", "main", timeout=120)
    labs.kubectl("delete", "namespace", "one-object", timeout=120)


def test_no_job_is_missing_in_the_history(demo, jobs):
    assert len(jobs) == 4
    demo.wait_for("every job is in the history", lambda: not demo.missing_in_history(jobs), within=60)


def test_uninstalling_leaves_the_state_and_the_keys(demo):
    demo.uninstall_slurm()
    demo.remove_exporter()
    claims = {"statesave-slurm-controller-0", "homes"}
    demo.wait_for("Slurm is gone, its state is not", lambda: claims <= {
        item["metadata"]["name"] for item in demo.items("persistentvolumeclaims")} and not any(
            pod["metadata"]["labels"].get("app.kubernetes.io/instance", "").startswith("slurm") for pod in demo.items("pods")),
        within=120)
    assert {"slurm-auth-slurm", "slurm-auth-jwt"} <= {item["metadata"]["name"] for item in demo.items("secrets")}
    for kind in ("controllers", "restapis", "nodesets", "accountings", "loginsets", "statefulsets"):
        assert not demo.items(kind), kind


def test_demo_down_leaves_nothing(demo):
    down = labs.run("make", "demo-down", check=False, timeout=120)
    assert down.returncode == 0, down.stdout + down.stderr
    labs.no_cluster_is_left()
