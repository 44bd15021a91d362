"""A new template reaches the workers in turn, and no job is lost."""
import datetime

import pytest

from rolling import out_of_service, patch, revisions, set_note

pytestmark = pytest.mark.long

SETTINGS = ("nodesets.slinky.oversubscribeNode=true",)  # a worker that comes back finds a place at once


def notes_kept(lab):
    """Of the template, by ControllerRevision."""
    return {item["metadata"]["name"].rpartition("-")[2]:
            item["data"]["spec"]["template"].get("metadata", {}).get("annotations", {}).get("example.com/note")
            for item in lab.items("controllerrevisions", "-l", "app.kubernetes.io/instance=slurm-worker-slinky")}


def test_workers_are_renewed_one_after_another_under_jobs(lab):
    before = revisions(lab)
    long_one = lab.submit_open("slinky-1")
    lab.wait_for_job(long_one, "RUNNING", within=60)
    uid = lab.uid_of(1)
    short_ones = [lab.submit("-t", "1", "--wrap", "sleep 2") for _ in range(12)]
    set_note(lab, "new")
    seen, last = set(), {}

    def two_are_renewed():
        nonlocal last
        out = out_of_service(lab)
        # Slurm and Kubernetes are not read at one moment: who is out twice in a row was so in between.
        assert len(last.keys() & (out or {}).keys()) <= 1, (last, out)
        last = out or {}
        seen.update(last)
        now = revisions(lab)
        return len(now) == 3 and sum(now[name] != before[name] for name in now) == 2 and out is not None and list(out) == ["slinky-1"]

    lab.wait_for("the two others are renewed, and the third waits for its job", two_are_renewed, within=150)
    assert seen == {"slinky-0", "slinky-1", "slinky-2"}
    assert notes_kept(lab) == {before["slurm-worker-slinky-1"]: None, revisions(lab)["slurm-worker-slinky-0"]: "new"}
    lab.still_runs(long_one, 1, uid)
    told = lab.condition("nodesets", "slurm-worker-slinky", "Progressing")
    assert told["reason"] == "RollingUpdate" and "waiting for the jobs on slurm-worker-slinky-1" in told["message"]
    lab.let_end(long_one, "slurm-worker-slinky-1")
    lab.wait_for("all are of the new template",
                 lambda: len(set(revisions(lab).values())) == 1 and revisions(lab).keys() == before.keys(), within=60)
    lab.wait_for("what the old ones were made from is forgotten", lambda: list(notes_kept(lab).values()) == ["new"], within=60)
    for job in (long_one, *short_ones):
        lab.wait_for_job(job, "COMPLETED", within=60)
        lab.never_restarted(job)
    lab.wait_for("it says so", lambda: lab.condition("nodesets", "slurm-worker-slinky", "Progressing")["status"] == "False", within=60)


def test_the_old_template_put_back_ends_the_update(lab):
    lab.wait_for_idle(3, within=60)
    job = lab.submit_open("slinky-2")
    lab.wait_for_job(job, "RUNNING", within=60)
    uids = {ordinal: lab.uid_of(ordinal) for ordinal in range(3)}
    patch(lab, {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}},
                "template": {"spec": {"nodeSelector": {"example.com/nowhere": "yes"}}}})
    lab.wait_for("the worker with a job is drained", lambda: lab.node_states().get("slinky-2", "").startswith("drain"), within=60)
    patch(lab, {"template": {"spec": {"nodeSelector": {"example.com/nowhere": None}}}})
    lab.wait_for("all are in service", lambda: out_of_service(lab) == {}, within=90)
    lab.still_runs(job, 2, uids[2])
    lab.let_end(job, "slurm-worker-slinky-2")
    lab.wait_for_job(job, "COMPLETED", within=60)


def test_a_scheduled_update_keeps_to_its_reservation(lab):
    lab.wait_for_idle(3, within=60)
    before = revisions(lab)
    name = "SlurmOperatorMaint-slurm-worker-slinky"

    def strategy(value):
        patch(lab, {"updateStrategy": value})

    def reservation():
        said = lab.in_controller_result("scontrol", "-o", "show", "reservation", name)
        return dict(word.split("=", 1) for word in said.stdout.split() if "=" in word) if said.returncode == 0 else {}

    def scheduled(start):
        return {"type": "ScheduledUpdate", "rollingUpdate": None, "scheduledUpdate": {
            "startTime": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "duration": "1m"}}

    long_one = lab.submit_open("slinky-1")  # before: it would not end in time to begin later
    lab.wait_for_job(long_one, "RUNNING", within=60)
    strategy(scheduled(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)))
    lab.wait_for("the reservation is there", lambda: reservation().get("Nodes") == "slinky-[0-2]", within=60)
    set_note(lab, "scheduled")
    start = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=15)
    strategy(scheduled(start))
    lab.wait_for("it has moved", lambda: reservation().get("StartTime") == start.strftime("%Y-%m-%dT%H:%M:%S"), within=60)
    assert lab.condition("nodesets", "slurm-worker-slinky", "ReservationCreated")["status"] == "True"
    assert revisions(lab) == before, "it has not begun"
    lab.wait_for("the idle workers are renewed", lambda: {
        worker for worker, revision in revisions(lab).items() if revision != before[worker]} == {
            "slurm-worker-slinky-0", "slurm-worker-slinky-2"}, within=60)
    lab.still_runs(long_one)
    lab.let_end(long_one, "slurm-worker-slinky-1")
    lab.wait_for_job(long_one, "COMPLETED", within=60)
    lab.wait_for("all are renewed", lambda: len(set(revisions(lab).values())) == 1 and revisions(lab).keys() == before.keys(), within=60)
    strategy({"type": "RollingUpdate", "scheduledUpdate": None})
    lab.wait_for("the reservation goes", lambda: not reservation(), within=60)
    lab.wait_for("all are in service", lambda: out_of_service(lab) == {}, within=90)
