"""A part of the cluster is outside of Kubernetes, as docs/hybrid.md says it: slurmctld itself, or one of the workers."""
import base64
import json
import os
import re
import tempfile

import pytest

import lab as labs
from outside import ADDRESS, EXEC, SLURM, Outside

pytestmark = pytest.mark.long
GROUP = labs.NETWORK_OF_NODE1
KEYS = {"slurm.key": os.urandom(1024), "jwt.key": os.urandom(32)}
NODE_PORT = 30817
FOREIGN = "foreign"  # a node of the site's own, which nobody of ours may touch
SLURM_CONF = f"""\
ClusterName=site
SlurmctldHost=outside({ADDRESS})
SlurmUser=slurm
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
SlurmctldParameters=enable_configless
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmctldLogFile=/var/spool/slurmctld/log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MaxNodeCount=64
NodeName={FOREIGN} NodeAddr=127.0.0.1 State=DOWN Reason="the site's own"
NodeSet=slinky Feature=slinky
PartitionName=all Nodes=ALL Default=YES
"""
NAMED = ("slurmKey.secretRef.name=site", "jwtKey.secretRef.name=site")


def put_keys(lab):
    data = {name: base64.b64encode(key).decode() for name, key in KEYS.items()}
    lab.kubectl("apply", "-f", "-", text_in=json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "site"}, "data": data}))


@pytest.fixture
def outside():
    with tempfile.TemporaryDirectory() as folder:
        one = Outside(folder)
        yield one
        one.stop()


@pytest.fixture
def site(bare):
    put_keys(bare)
    bare.install_operator()
    yield bare
    bare.uninstall_slurm()


def test_workers_and_logins_join_a_slurmctld_outside(site, outside):
    for name, data in (("slurm.conf", SLURM_CONF.encode()), ("cgroup.conf", b"CgroupPlugin=disabled\n"), *KEYS.items()):
        outside.write("slurmctld", f"etc/slurm/{name}", data, SLURM)
    outside.write("slurmctld", "var/spool/slurmctld/.kept", b"", SLURM)
    outside.start("slurmctld")
    site.install_slurm("nodesets.slinky.replicas=2", "controller.external=true", f"controller.externalConfig.host={ADDRESS}",
                       "clusterName=site", "configFiles=null", "controller.extraConfMap=null", "partitions.all.enabled=false", *NAMED)
    states = lambda: {name: state.rstrip("*") for name, state in site.node_states().items()}
    try:
        site.wait_for("two workers are idle, and the site's node is as it was", lambda: states() == {
            FOREIGN: "down", "slinky-0": "idle", "slinky-1": "idle"}, within=120)
    except labs.Failed as failed:
        raise labs.Failed(f"{failed}\n{outside.said()}") from None
    slurmctld = labs.processes("slurmctld", within=[EXEC])
    assert sorted(site.in_worker("srun", "-N2", "hostname", timeout=60).split()) == ["slinky-0", "slinky-1"]
    jobs = [site.submit_open(f"slinky-{ordinal}") for ordinal in range(2)]
    site.wait_for("jobs run on both", lambda: site.in_worker("squeue", "-h", "-o", "%T").split() == ["RUNNING"] * 2, within=60)
    site.wait_for("the operator hears of them",
                  lambda: site.get("nodesets", labs.NODESET).get("status", {}).get("slurmAllocated") == 2, within=40)
    site.scale(1)
    site.wait_for("one is drained, and waits for its job", lambda: site.node_states().get("slinky-1") == "draining", within=60)
    site.let_end(jobs[1], f"{labs.NODESET}-1")
    site.wait_for("it has gone, with its record", lambda: sorted(site.node_states()) == [FOREIGN, "slinky-0"], within=90)
    # What the operator wrote are records of its own workers: neither configuration nor anything else there.
    assert labs.processes("slurmctld", within=[EXEC]) == slurmctld, "a reconfigure is a new process"
    assert outside.run("slurmctld", "cat", "/etc/slurm/slurm.conf").stdout == SLURM_CONF
    assert outside.run("slurmctld", "sinfo", "-hN", "-n", FOREIGN, "-o", "%E").stdout.strip() == "the site's own"
    assert "slurmctld runs outside of Kubernetes" in site.condition("controllers", "slurm", "Ready")["message"]


def test_a_worker_outside_joins_a_slurmctld_here(site, outside):
    site.install_slurm("nodesets.slinky.replicas=1", f"controller.service.nodePort={NODE_PORT}", "controller.service.spec.type=NodePort",
                       "controller.service.spec.externalTrafficPolicy=Local", *NAMED,
                       # The machine outside is below node1, and what comes from a node itself gets another address there.
                       values={"controller": {"podSpec": {"nodeSelector": {"kubernetes.io/hostname": "node2"}}}})
    site.wait_for_idle(1, within=120)
    where = site.get("pod", "slurm-controller-0")["status"]["hostIP"]
    conf = site.get("configmap", "slurm-config")["data"]["slurm.conf"]
    for option, value in (("SlurmctldHost", f"slurm-controller-0({where})"), ("SlurmctldPort", NODE_PORT), ("SlurmctldAddr", None)):
        conf = re.sub(rf"(?m)^{option}=.*\n", "" if value is None else f"{option}={value}\n", conf)
    outside.write("slurmd", "etc/slurm/slurm.conf", conf.encode(), SLURM)
    outside.write("slurmd", "etc/slurm/cgroup.conf", b"CgroupPlugin=disabled\n", SLURM)
    outside.write("slurmd", "etc/slurm/slurm.key", KEYS["slurm.key"], SLURM)
    outside.write("slurmd", "var/spool/slurmd/.kept", b"", 0)
    outside.write("slurmd", "var/log/slurm/.kept", b"", 0)
    outside.start("slurmd", ["/usr/sbin/slurmd", "-D", "-Z", "-N", "outside", "--conf", "Features=rack"], "0:0")
    try:
        site.wait_for("it is there", lambda: site.node_states() == {"outside": "idle", "slinky-0": "idle"}, within=60)
    except labs.Failed as failed:
        raise labs.Failed(f"{failed}\n{outside.said()}") from None
    assert f"NodeAddr={ADDRESS} " in site.in_worker("scontrol", "show", "node", "outside"), "the address that it comes from"
    assert sorted(site.in_worker("srun", "-N2", "-w", "outside,slinky-0", "hostname", timeout=60).split()) == ["outside", "slinky-0"]
    job = site.submit("-w", "outside", "-D/tmp", "--wrap", "sleep 600")
    site.wait_for_job(job, "RUNNING", within=60)
    site.scale(0)
    site.wait_for("the workers here have gone", lambda: not site.worker_pods(), within=90)
    known = lambda: outside.run("slurmd", "sinfo", "-hN", "-o", "%N %T %E").stdout.split("\n")[0]
    site.wait_for("so has their record", lambda: "slinky" not in outside.run("slurmd", "sinfo", "-hN", "-o", "%N").stdout, within=60)
    assert known().split(None, 2) in (["outside", "mixed", "none"], ["outside", "allocated", "none"])
    site.still_runs(job)
