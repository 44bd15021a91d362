"""A changed configuration reaches the slurmctld that runs."""
SETTINGS = ("nodesets.slinky.replicas=2",)
SECOND = (*SETTINGS, "nodesets.second.enabled=true", "nodesets.second.replicas=1", "nodesets.second.partition.enabled=true")
import pytest

pytestmark = pytest.mark.long


def slurmctld(lab):
    """What a restart would change: the pod, and how often its containers were started."""
    pod = lab.get("pod", "slurm-controller-0")
    return pod["metadata"]["uid"], [status["restartCount"] for status in pod["status"]["containerStatuses"]]


def live(lab):
    return lab.condition("controllers", "slurm", "ConfigLive")


def partition(lab, name):
    """What slurmctld has of it, or says instead."""
    done = lab.in_worker_result("scontrol", "-o", "show", "partition", name)
    return done.stdout + done.stderr


# It was a restart of slurmctld, whose commands waited for seconds meanwhile.
def test_a_nodeset_comes_and_slurmctld_stays(lab):
    lab.wait_for("what runs is what is published", lambda: live(lab)["status"] == "True", within=60)
    before, since = slurmctld(lab), live(lab)["message"]
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    lab.install_slurm(*SECOND)
    # A kubelet alone would take a minute.
    lab.wait_for("the new text is live", lambda: live(lab)["status"] == "True" and live(lab)["message"] != since, within=30)
    lab.wait_for("the worker of the new NodeSet is there", lambda: "second-0" in lab.idle_nodes(), within=90)
    assert lab.in_worker("srun", "-p", "second", "hostname", timeout=60).strip().endswith("second-0")
    assert slurmctld(lab) == before
    lab.still_runs(job)
    lab.let_end(job, "slurm-worker-slinky-0")
    lab.wait_for_job(job, "COMPLETED", within=60)


def test_a_text_that_slurm_refuses_is_told(lab):
    before = slurmctld(lab)
    lab.install_slurm(*SECOND, "controller.extraConfMap.Nonsense=1")
    lab.wait_for("it says what Slurm said", lambda: live(lab)["reason"] == "ConfigRefused", within=45)
    assert "unrecognized key: Nonsense" in lab.condition("controllers", "slurm", "Degraded")["message"]
    assert "UP" in lab.in_worker("scontrol", "ping")
    lab.install_slurm(*SECOND)
    lab.wait_for("all is well", lambda: live(lab)["status"] == "True" and
                 lab.condition("controllers", "slurm", "Degraded")["status"] == "False", within=45)
    assert slurmctld(lab) == before


# Slurm ended the jobs of a NodeSet that was deleted.
def test_a_partition_stays_while_a_job_names_it(lab):
    lab.install_slurm(*SECOND, "controller.extraConfMap.MinJobAge=2")
    lab.wait_for("the partition is there", lambda: "State=UP" in partition(lab, "second"), within=45)
    before = slurmctld(lab)
    job = lab.submit("-p", "second", "--hold", "--wrap", "true")
    lab.kubectl("delete", "nodeset", "slurm-worker-second", "--timeout=60s", timeout=70)
    lab.wait_for("a condition names the job", lambda: f"second (job {job})" in
                 lab.condition("controllers", "slurm", "PartitionsKept")["message"], within=45)
    lab.wait_for("slurmctld has it closed", lambda: "State=DRAIN" in partition(lab, "second"), within=60)
    assert lab.job_state(job) == "PENDING"
    lab.in_worker("scancel", job)
    lab.wait_for("nothing is left of it", lambda: "PartitionName=second" not in lab.get("configmap", "slurm-config")["data"]["slurm.conf"]
                 and "not found" in partition(lab, "second"), within=90)
    lab.wait_for("nor a condition", lambda: lab.condition("controllers", "slurm", "PartitionsKept")["status"] == "", within=60)
    assert slurmctld(lab) == before
