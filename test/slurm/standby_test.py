"""Two slurmctld on one volume, from our image and without Kubernetes: control goes from one to the other and back."""
import os

import pytest
from patience import patient
from pods import Pods, await_that

SLURM_CONF = """\
ClusterName=trial
SlurmctldHost=ctl0(ctl0)
SlurmctldHost=ctl1(ctl1)
SlurmUser=slurm
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
SlurmctldParameters=enable_configless
SlurmctldTimeout=8
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
MaxNodeCount=8
PartitionName=all Nodes=ALL Default=YES
"""


class Pair:
    def __init__(self):
        self.pods = Pods()
        key = os.urandom(1024)
        for name, image in (("ctl0", "slurmctld"), ("ctl1", "slurmctld"), ("w0", "slurmd")):
            pod = self.pods.add(name, image)
            setattr(self, name, pod)
            pod.write("/etc/slurm/slurm.key", key, 0o600, 401)
        self.both = (self.ctl0, self.ctl1)
        for pod in self.both:
            pod.write("/etc/slurm/slurm.conf", SLURM_CONF)
            pod.write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")
        self.pods.share("/var/spool/slurmctld", *self.both)
        self.w0.privileged = True  # as the operator makes it

    def start(self):
        for pod in self.both:
            pod.start()
        self.answers(30)
        self.w0.start("-Z", "--conf-server", "ctl0:6817")
        await_that(lambda: "idle" in self.ask("sinfo", "-hN", "-o", "%T"), "idle node", 30, self.said)
        self.job = self.ask("sbatch", "--parsable", "-D/tmp", "-o/dev/null", "--wrap",
                            "until [ -e /tmp/end ]; do sleep 0.2; done").strip()
        await_that(lambda: self.state() == "RUNNING", "job that runs", 30, self.said)
        # slurmctld saves a job's state some seconds after it has changed.
        await_that(lambda: os.path.exists(self.ctl0.root + "/var/spool/slurmctld/job_state"), "saved state", 30)
        saved = os.stat(self.ctl0.root + "/var/spool/slurmctld/job_state").st_mtime
        self.ask("scontrol", "update", f"jobid={self.job}", "comment=saved")
        await_that(lambda: os.stat(self.ctl0.root + "/var/spool/slurmctld/job_state").st_mtime > saved, "saved state", 30)

    def ask(self, *words):
        return self.w0.run(*words, check=False, timeout=120).stdout

    def state(self):
        return self.ask("squeue", "-h", "-j", self.job, "-o", "%T").strip()

    def answers(self, within):
        """Waits until slurmctld does."""
        someone = self.w0 if self.w0.running() else self.ctl1
        await_that(lambda: someone.run("sinfo", "-h", check=False, timeout=120).returncode == 0, "answer", within, self.said)

    def said(self):
        return "\n".join(f"--- {pod.name}\n{pod.said()[-4000:]}" for pod in self.both)


@pytest.fixture
def pair():
    made = Pair()
    yield made
    made.pods.stop()


def test_control_goes_over_and_back_while_a_job_runs(pair):
    pair.start()
    pair.ctl0.kill()
    pair.answers(40)
    pair.ctl1.await_said("Running as primary controller")
    assert pair.state() == "RUNNING"
    # A changed file is live in the one in charge.
    pair.ctl1.write("/etc/slurm/slurm.conf", SLURM_CONF + "KillWait=17\n")
    pair.ctl0.write("/etc/slurm/slurm.conf", SLURM_CONF + "KillWait=17\n")
    await_that(lambda: "= 17 sec" in pair.ask("scontrol", "show", "config"), "live configuration", 30, pair.said)
    # Slurm alone took half a minute for the way back, and read the state before it was saved.
    pair.ctl0.start()
    assert pair.ctl1.process.wait(patient(20)) == 0, pair.said()
    assert "gives control back" in pair.ctl1.said()
    pair.answers(20)
    assert pair.state() == "RUNNING", pair.said()
    pair.ctl1.start()
    pair.ctl1.await_said("slurmctld running in background mode")
    assert "not completely done" not in pair.ctl1.said()
    pair.w0.write("/tmp/end", "")
    await_that(lambda: "COMPLETED" in pair.ask("scontrol", "show", "job", pair.job), "end of the job", 30, pair.said)


# Neither would have been there until somebody mended the text.
def test_one_that_comes_back_to_a_bad_text_starts_with_what_ran_and_one_that_stands_by_does_not(pair):
    pair.start()
    await_that(lambda: os.path.exists(pair.ctl0.root + "/var/spool/slurmctld/capstan-kept"), "kept configuration", 30, pair.said)
    pair.ctl0.kill()
    pair.answers(40)
    for pod in pair.both:
        pod.write("/etc/slurm/slurm.conf", SLURM_CONF + "Nonsense=1\n")
    pair.ctl0.start()
    assert pair.ctl1.process.wait(patient(20)) == 0, pair.said()
    pair.ctl0.await_said("it was started with the one that is live since")
    pair.answers(20)
    assert pair.state() == "RUNNING", pair.said()
    pair.ctl1.start()
    pair.ctl1.await_said("Nonsense; fatal: Unable to process configuration file "
                         "(the one that ran before is not used: another slurmctld is in charge)")
    assert pair.ctl1.running() and pair.ctl0.running()
    for pod in pair.both:
        pod.write("/etc/slurm/slurm.conf", SLURM_CONF + "KillWait=18\n")
    # It may be asked while it still calls for the other one, and answer that late, or be asked again (entry/reconfigurer.h).
    await_that(lambda: "= 18 sec" in pair.ask("scontrol", "show", "config"), "mended configuration", 120, pair.said)
    await_that(lambda: pair.ctl1.said().count("slurmctld running in background mode") == 2, "one that stands by", 30, pair.said)
    assert pair.state() == "RUNNING", pair.said()
