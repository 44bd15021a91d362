"""Keys that are replaced while jobs run: slurm.jwks of auth/slurm and the JWKS file of auth/jwt, step by step as docs/keys.md
says it, with our images and without Kubernetes."""
import base64
import json
import os
import subprocess
import time

import pytest
from pods import Pods, await_that

SLURM_CONF = """\
ClusterName=trial
SlurmctldHost=ctl
SlurmUser=slurm
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key,jwks=/etc/slurm/jwks.json
SlurmctldParameters=enable_configless
SlurmctldTimeout=10
SlurmdTimeout=15
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
MaxNodeCount=8
PartitionName=all Nodes=ALL Default=YES
"""


def word(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.pods = Pods()
        for name, image in (("ctl", "slurmctld"), ("w0", "slurmd"), ("w1", "slurmd")):
            setattr(self, name, self.pods.add(name, image))
        self.workers = (self.w0, self.w1)
        for pod in self.workers:
            pod.privileged = True  # as the operator makes them
        self.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF)
        self.ctl.write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")
        self.ctl.write("/etc/slurm/jwt.key", os.urandom(64), 0o600, 401)
        self.trust(self.signer("old"))

    # --- auth/slurm

    def give(self, pod, key):
        """Its key from its next start on: bytes are a slurm.key, else a slurm.jwks of (kid, key), the default one first."""
        for name in ("slurm.key", "slurm.jwks"):
            if os.path.exists(f"{pod.root}/etc/slurm/{name}"):
                os.unlink(f"{pod.root}/etc/slurm/{name}")
        if isinstance(key, bytes):
            return pod.write("/etc/slurm/slurm.key", key, 0o600, 401)
        keys = [{"alg": "HS256", "kty": "oct", "kid": kid, "k": base64.b64encode(data).decode()} for kid, data in key]
        keys[0]["use"] = "default"
        return pod.write("/etc/slurm/slurm.jwks", json.dumps({"keys": keys}), 0o600, 401)

    def start(self, *pods):
        for pod in pods:
            pod.start(*(() if pod is self.ctl else ("-Z", "--conf-server", "ctl:6817")))
        await_that(lambda: self.ctl.run("scontrol", "ping", check=False).returncode == 0, "slurmctld", 30, self.ctl.said)

    def restart(self, *pods):
        for pod in pods:
            pod.stop()
        self.start(*pods)

    def responding(self):
        """The nodes that slurmctld has heard."""
        said = self.ctl.run("sinfo", "-hN", "-o", "%N %T", check=False).stdout.split("\n")
        return [line.split()[0] for line in said if line.endswith((" idle", " allocated", " mixed"))]

    def run_job(self, node):
        """One that needs slurmctld and slurmd to believe each other, and srun."""
        runs = lambda: self.w0.run("srun", "-w", node, "hostname", check=False, timeout=30)
        await_that(lambda: runs().stdout.strip().endswith(node), f"job on {node}", 30,
                   lambda: f": {runs().stdout}\n{self.ctl.said()[-3000:]}")
        # A slurmd that is stopped before it has heard of the end hears it a minute after it is back, and has no room until then.
        await_that(lambda: not self.ctl.run("squeue", "-h", "-t", "CG", check=False).stdout.strip(), f"end of it on {node}", 30)

    # --- auth/jwt

    def signer(self, name):
        """An RSA key of this id."""
        path = str(self.folder / name)
        if not os.path.exists(path):
            subprocess.run(["openssl", "genrsa", "-out", path, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", path, "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout
        return {"alg": "RS256", "kty": "RSA", "kid": name, "use": "sig", "e": "AQAB",
                "n": word(bytes.fromhex(modulus.strip().partition("=")[2]))}

    def trust(self, *signers):
        self.ctl.write("/etc/slurm/jwks.json", json.dumps({"keys": signers}))

    def token(self, name):
        """For root, signed by this key."""
        header = {"alg": "RS256", "typ": "JWT", "kid": name}
        claims = {"exp": int(time.time()) + 3600, "sun": "root"}
        text = ".".join(word(json.dumps(part).encode()) for part in (header, claims))
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(self.folder / name)], input=text.encode(),
                                check=True, capture_output=True).stdout
        return f"{text}.{word(signed)}"

    def is_taken(self, token):
        return self.ctl.run("scontrol", "show", "job", check=False, SLURM_JWT=token).returncode == 0


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.pods.stop()


def test_a_key_of_slurm_is_replaced_while_a_job_runs(site):
    old, new = ("old", os.urandom(1024)), ("new", os.urandom(1024))
    for pod in (site.ctl, *site.workers):
        site.give(pod, old[1])
    site.start(site.ctl, *site.workers)
    await_that(lambda: site.responding() == ["w0", "w1"], "nodes", 30, site.ctl.said)
    job = site.ctl.run("sbatch", "--parsable", "-w", "w0", "-D/tmp", "-o/dev/null",
                       "--wrap", "until [ -e /tmp/end ]; do sleep 0.2; done").strip()
    # The worker with the job keeps what it has: its pod waits for the job.
    for keys in ([old, new], [new, old]):
        site.give(site.ctl, keys)
        site.restart(site.ctl)
        await_that(lambda: site.responding() == ["w0", "w1"], "nodes with their keys of before", 30, site.ctl.said)
        site.run_job("w1")
        site.give(site.w1, keys)
        site.restart(site.w1)
        site.run_job("w1")
        if keys[0] is new:
            break
        # It has the second set only once its job has ended.
        assert site.ctl.run("squeue", "-h", "-j", job, "-o", "%T").strip() == "RUNNING"
        site.w0.write("/tmp/end", "")
        await_that(lambda: "COMPLETED" in site.ctl.run("scontrol", "show", "job", job), "end of the job", 30, site.ctl.said)
        site.give(site.w0, keys)
        site.restart(site.w0)
        site.run_job("w0")
    site.give(site.w0, [new])
    site.restart(site.w0)
    site.give(site.ctl, [new])
    site.restart(site.ctl)
    site.run_job("w0")
    site.run_job("w1")


def test_two_keys_verify_tokens_until_one_is_taken_back(site):
    site.give(site.ctl, os.urandom(1024))
    site.start(site.ctl)
    new = site.signer("new")
    assert site.is_taken(site.token("old")) and not site.is_taken(site.token("new"))
    site.trust(site.signer("old"), new)
    await_that(lambda: site.is_taken(site.token("new")), "token of the new key, without a restart", 30, site.ctl.said)
    assert site.is_taken(site.token("old"))
    site.trust(new)
    await_that(lambda: not site.is_taken(site.token("old")), "refusal of the old key", 30, site.ctl.said)
    assert site.is_taken(site.token("new"))
