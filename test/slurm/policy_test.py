"""What sites do with accounting: who may run what, when and at whose cost; and that its records survive losses. With the
slurm.conf that the operator writes, our images of the database, slurmdbd, slurmctld and slurmd, without Kubernetes."""
import json
import os
import pathlib
import re
import time

import pytest
from pods import Pods, await_that

from accounting_test import PASSWORD, clusters, configure, secret

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "src/operator/controller/testdata/slurm.conf"
# The site's own lines: what a machine without control groups lacks, and policies.
EXTRA_CONF = """\
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=1
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
AccountingStorageEnforce=associations,limits,qos
PreemptType=preempt/qos
PreemptMode=REQUEUE
PriorityWeightFairshare=100000
PriorityWeightQOS=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP
"""
USERS = {"ada": 20001, "bob": 20002, "eve": 20003}


def slurm_conf():
    conf = re.sub(r"^Slurm(ctld|d|Sched)LogFile=.*\n", "", GOLDEN.read_text(), flags=re.M)
    for key, value in {"ClusterName": "trial", "SlurmctldHost": "ctl", "SlurmctldAddr": "ctl",
                       "StateSaveLocation": "/var/spool/slurmctld",
                       "AccountingStorageType": "accounting_storage/slurmdbd\nAccountingStorageHost=dbd"}.items():
        conf, found = re.subn(f"^{key}=.*$", f"{key}={value}", conf, flags=re.M)
        assert found == 1, key
    return conf + EXTRA_CONF


class Site:
    """Two nodes, two accounts with a user each, and a user without one."""

    def __init__(self):
        self.pods = Pods()
        slurm_key, jwt_key = os.urandom(1024), os.urandom(64)
        passwd = "".join(f"{name}:x:{uid}:{uid}::/tmp:/bin/sh\n" for name, uid in USERS.items())
        for name, image in (("db", "mariadb"), ("dbd", "slurmdbd"), ("ctl", "slurmctld"), ("w0", "slurmd"), ("w1", "slurmd")):
            pod = self.pods.add(name, image)
            setattr(self, name, pod)
            if name != "db":
                pod.write("/etc/slurm/slurm.key", slurm_key, 0o600, 401)
                pod.write("/etc/passwd", pod.read("/etc/passwd") + passwd)
        self.ctl.write("/etc/slurm/jwt.key", jwt_key, 0o600, 401)
        self.ctl.write("/etc/slurm/slurm.conf", slurm_conf())
        self.ctl.write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")
        self.db.folder("/var/lib/mysql", 402)
        secret(self.db, PASSWORD)
        configure(self.dbd, PASSWORD)
        self.w0.privileged = self.w1.privileged = True  # as the operator makes them

    def limit_database(self, size):
        """To a volume of its own of this size."""
        made = self.pods.within("mount", "-t", "tmpfs", "-o", f"size={size},uid=402,gid=402", "tmpfs",
                                self.db.inner_root + "/var/lib/mysql")
        assert made.returncode == 0, made.stderr

    def start(self):
        for pod in (self.db, self.dbd, self.ctl):
            pod.start()
        await_that(lambda: "trial|" in clusters(self.ctl), "registered cluster", 60, self.ctl.said)
        for words in ("account physics", "account chemistry", "user ada account=physics", "user bob account=chemistry",
                      "qos urgent priority=1000 preempt=normal usagefactor=1000"):
            self.sacctmgr("add", *words.split())
        self.sacctmgr("modify", "user", "ada", "set", "qos+=urgent")
        self.start_workers()
        return self

    def start_workers(self):
        for pod in (self.w0, self.w1):
            pod.start("-Z", "--conf-server", "ctl:6817")
        await_that(lambda: self.ctl.run("sinfo", "-hN", "-t", "idle", "-o", "%N", check=False).stdout.split() == ["w0", "w1"],
                   "two idle nodes", 30, lambda: ": " + self.ctl.run("sinfo", "-N", check=False).stdout + self.w0.said())

    def stop_slurmctld(self):
        """In order. One that aborts at its end (docs/slurm-facts.md) had begun to save its state; the caller looks whether
        it is all there."""
        status = self.ctl.stop()
        if status != 0:
            print(self.ctl.said())  # pytest shows it if the test fails
            assert "Saving all slurm state" in self.ctl.said().rpartition("Terminate signal")[2], status

    def kill_slurmctld(self):
        """After it has saved its state once, as at each change of slurm.conf: one that is lost in the first minutes of a
        cluster does not start again by itself (docs/slurm-facts.md)."""
        self.ctl.run("scontrol", "reconfigure")
        self.ctl.await_that(lambda: os.path.exists(self.ctl.root + "/var/spool/slurmctld/assoc_usage"), "saved usage")
        self.ctl.kill()

    def sacctmgr(self, *words):
        return self.ctl.run("sacctmgr", "-i", *words)

    def submit(self, user, *words, run="true", check=True):
        """The job's id."""
        said = self.ctl.run("sbatch", "--parsable", "-o", "/dev/null", "-D", "/tmp", *words, f"--wrap={run}",
                            user=f"{USERS[user]}:{USERS[user]}", check=check)
        return said.strip() if check else said.stdout

    def squeue(self, job, what):
        return self.ctl.run("squeue", "-h", "-j", job, "-o", what, check=False).stdout.strip()

    def sacct(self, what, *words, pod=None):
        """Rows of fields; none while slurmdbd or its database is away."""
        done = (pod or self.ctl).run("sacct", "-anPX", "-S", "now-1hour", "-o", what, *words, check=False)
        return [line.split("|") for line in done.stdout.splitlines()] if done.returncode == 0 else []

    def state(self, job):
        return "".join(row[0] for row in self.sacct("state", "-j", job))

    def await_state(self, job, wanted, seconds=30):
        await_that(lambda: self.state(job) == wanted, f"{wanted} of job {job}", seconds,
                   lambda: f", which is {self.state(job)} ({self.squeue(job, '%T %r')})\n{self.ctl.said()}")

    def await_records(self, jobs, seconds):
        """All of them, ended as they should."""
        def missing():
            known = {row[0]: row[1:] for row in self.sacct("jobid,state,end")}
            return {job: known.get(job) for job in jobs
                    if known.get(job, [""])[0] != "COMPLETED" or known[job][1] == "Unknown"}
        await_that(lambda: not missing(), "records", seconds, lambda: f" of {len(jobs)} jobs lack: {missing()}")


@pytest.fixture
def site():
    made = Site()
    yield made
    made.pods.stop()


def test_who_may_run_what_and_who_comes_first(site):
    site.start()
    # Without an association nobody runs anything, and is told.
    refused = site.submit("eve", check=False)
    assert "Invalid account or account/partition combination specified" in refused, refused

    first = site.submit("ada", run="sleep 1")
    second = site.submit("ada", f"--dependency=afterok:{first}")
    site.await_state(second, "COMPLETED")
    (ended,), (began,) = site.sacct("end", "-j", first) + site.sacct("start", "-j", second)
    assert ended <= began

    site.ctl.run("scontrol", "create", "reservation", "ReservationName=course", "StartTime=now", "Duration=10", "Users=ada",
                 "Nodes=w1")
    kept_out = site.submit("bob", "-w", "w1")
    inside = site.submit("ada", "--reservation=course")
    site.await_state(inside, "COMPLETED")
    assert site.sacct("nodelist,account,user", "-j", inside) == [["w1", "physics", "ada"]]
    assert site.squeue(kept_out, "%T") == "PENDING" and "eserv" in site.squeue(kept_out, "%r"), site.squeue(kept_out, "%T %r")
    site.ctl.run("scontrol", "delete", "reservation=course")
    site.await_state(kept_out, "COMPLETED")

    long = [site.submit("bob", "--exclusive", "-w", node, run="sleep 600") for node in ("w0", "w1")]
    for job in long:
        site.await_state(job, "RUNNING")
    refused = site.submit("bob", "--qos=urgent", check=False)
    assert "Invalid qos specification" in refused, refused
    urgent = site.submit("ada", "--qos=urgent", "--exclusive", "-w", "w0", run="sleep 1")
    site.await_state(urgent, "COMPLETED")
    states = [row[0] for row in site.sacct("state", "-j", long[0], "-D")]
    assert states[0] == "PREEMPTED", states
    site.ctl.run("scancel", long[0])

    site.sacctmgr("modify", "user", "bob", "set", "maxjobs=1")
    limited = site.submit("bob")
    await_that(lambda: site.squeue(limited, "%r") == "AssocMaxJobsLimit", "limit", 20, lambda: site.squeue(limited, "%r"))
    site.ctl.run("scancel", limited)
    site.sacctmgr("modify", "user", "bob", "set", "maxjobs=-1")

    # What was used is counted now and then; a slurmctld that starts does it at once.
    site.ctl.run("scancel", long[1])
    site.await_state(long[1], "CANCELLED by 0")
    site.stop_slurmctld()
    site.ctl.start()
    shares = lambda: {user: (int(used), float(share)) for user, used, share in (line.split("|") for line in site.ctl.run(
        "sshare", "-anhPU", "-o", "user,rawusage,fairshare", check=False).stdout.splitlines() if line.count("|") == 2)}

    def ada_used_more_and_has_less():  # her urgent second counts a thousand times
        now = shares()
        return {"ada", "bob"} <= now.keys() and now["ada"][0] > now["bob"][0] and now["ada"][1] < now["bob"][1]

    await_that(ada_used_more_and_has_less, "shares", 30, lambda: f": {shares()}")
    more, less = "bob", "ada"
    pending = {user: site.submit(user, "--hold") for user in (less, more)}
    site.ctl.run("scontrol", "update", "nodename=w0,w1", "state=drain", "reason=test")
    site.ctl.run("scontrol", "release", ",".join(pending.values()))
    await_that(lambda: int(site.squeue(pending[more], "%Q") or 0) > int(site.squeue(pending[less], "%Q") or 0) > 0,
               "priorities", 30, lambda: f": {[site.squeue(job, '%u %Q %r') for job in pending.values()]}")


def test_accounting_may_be_turned_on_and_off(site):
    without = slurm_conf().replace("accounting_storage/slurmdbd", "accounting_storage/none").replace(
        "AccountingStorageEnforce=associations,limits,qos\n", "")
    site.ctl.write("/etc/slurm/slurm.conf", without)
    site.ctl.start()
    site.start_workers()
    first = site.submit("eve", run="sleep 1000")
    await_that(lambda: site.squeue(first, "%T") == "RUNNING", "running job", 30, site.ctl.said)
    site.stop_slurmctld()
    site.ctl.write("/etc/slurm/slurm.conf", slurm_conf().replace("AccountingStorageEnforce=associations,limits,qos\n", ""))
    # As the operator does it: slurmdbd first. slurmctld has state of before, and does not start without it.
    site.db.start()
    site.dbd.start()
    site.dbd.await_said("slurmdbd version")
    site.ctl.start()
    await_that(lambda: not site.ctl.running() or "trial|" in clusters(site.ctl), "registered cluster", 60, site.ctl.said)
    assert site.squeue(first, "%T") == "RUNNING", site.ctl.said()
    second = site.submit("eve")
    site.await_state(second, "COMPLETED")
    site.stop_slurmctld()
    site.ctl.write("/etc/slurm/slurm.conf", without)
    site.ctl.start()
    await_that(lambda: site.squeue(first, "%T") == "RUNNING", "running job", 30, site.ctl.said)


def test_the_history_is_there_without_slurmctld(site):
    site.start()
    job = site.submit("ada")
    site.await_state(job, "COMPLETED")
    site.kill_slurmctld()
    assert site.sacct("user,account,state", "-j", job, pod=site.w0) == [["ada", "physics", "COMPLETED"]]
    site.ctl.start()
    site.ctl.await_said("Running as primary controller")
    after = site.submit("bob")
    site.await_state(after, "COMPLETED")
    assert int(after) > int(job)
    assert site.state(job) == "COMPLETED"


def fill(site):
    """No byte is left beside the database's files."""
    with open(site.db.root + "/var/lib/mysql/filler", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            return


TROUBLES = {
    "gone": (lambda site: site.db.kill(), lambda site: site.db.start()),
    "full": (fill, lambda site: os.unlink(site.db.root + "/var/lib/mysql/filler")),
    "read-only": (lambda site: (site.db.kill(), site.db.start("--read-only=ON")), lambda site: (site.db.kill(), site.db.start())),
}


@pytest.mark.parametrize("trouble", ["full", *(pytest.param(name, marks=pytest.mark.long) for name in TROUBLES if name != "full")])
def test_a_database_in_trouble_loses_no_record(site, trouble):
    site.limit_database("256m")
    site.start()
    before = site.submit("ada")
    site.await_state(before, "COMPLETED")
    breaks, mends = TROUBLES[trouble]
    breaks(site)
    jobs = [site.submit(("ada", "bob")[i % 2]) for i in range(20)]
    await_that(lambda: not site.ctl.run("squeue", "-h"), "end of all jobs", 30, site.ctl.said)
    mends(site)
    if not site.dbd.running():  # as a kubelet does
        site.dbd.start()
    site.await_records([before, *jobs], 60)


@pytest.mark.parametrize("seconds", [10, pytest.param(600, marks=pytest.mark.long)])
def test_a_slurmdbd_that_is_away_loses_no_record(site, seconds):
    site.start()
    site.await_state(site.submit("ada"), "COMPLETED")
    running = site.submit("bob", run="sleep 10")
    site.await_state(running, "RUNNING")
    site.dbd.kill()
    asked = site.ctl.run("sacct", check=False)  # its words differ: refused, timed out, unable to contact
    assert asked.returncode != 0, asked.stdout
    jobs, until = [running], time.monotonic() + seconds
    while time.monotonic() < until:
        jobs.append(site.submit(("ada", "bob")[len(jobs) % 2]))
        time.sleep(0.5)  # two jobs a second, as a busy site has them
    statistics = json.loads(site.ctl.run("sdiag", "--json"))["statistics"]
    assert statistics["dbd_agent_queue_size"] >= len(jobs), statistics["dbd_agent_queue_size"]
    site.dbd.start()
    site.await_records(jobs, 60)
    assert site.ctl.run("sacctmgr", "-nP", "show", "runawayjobs").strip() in ("", "Runaway Jobs: No runaway jobs found on cluster trial")
    await_that(lambda: json.loads(site.ctl.run("sdiag", "--json"))["statistics"]["dbd_agent_queue_size"] == 0, "empty queue", 60)
