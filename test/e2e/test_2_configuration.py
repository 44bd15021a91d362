"""A changed configuration reaches the slurmctld that runs."""
SETTINGS = ("nodesets.slinky.replicas=2",)
SECOND = (*SETTINGS, "nodesets.second.enabled=true", "nodesets.second.replicas=1", "nodesets.second.partition.enabled=true")


def slurmctld(lab):
    """What a restart would change: the pod, and how often its containers were started."""
    pod = lab.get("pod", "slurm-controller-0")
    return pod["metadata"]["uid"], [status["restartCount"] for status in pod["status"]["containerStatuses"]]


def live(lab):
    return lab.condition("controllers", "slurm", "ConfigLive")


# It was a restart of slurmctld, whose commands waited for seconds meanwhile.
def test_a_nodeset_comes_and_slurmctld_stays(lab):
    lab.wait_for("what runs is what is published", lambda: live(lab)["status"] == "True", within=60)
    before, since = slurmctld(lab), live(lab)["message"]
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=20)
    lab.install_slurm(*SECOND)
    # A kubelet alone would take a minute.
    lab.wait_for("the new text is live", lambda: live(lab)["status"] == "True" and live(lab)["message"] != since, within=20)
    lab.wait_for("the worker of the new NodeSet is there", lambda: "second-0" in lab.idle_nodes(), within=90)
    assert lab.in_worker("srun", "-p", "second", "hostname", timeout=60).strip().endswith("second-0")
    assert slurmctld(lab) == before
    assert lab.job_state(job) == "RUNNING"
    lab.let_end(job, "slurm-worker-slinky-0")
    lab.wait_for_job(job, "COMPLETED", within=30)


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
