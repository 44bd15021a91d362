"""People: logins and workers with sshd and SSSD in front of an LDAP server, our images without Kubernetes."""
import os
import signal
import subprocess

import pytest
from pods import Pods, await_that

LDIF = """\
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
dc: example
o: example

dn: uid=ada,dc=example,dc=org
objectClass: inetOrgPerson
objectClass: posixAccount
objectClass: ldapPublicKey
cn: Ada
sn: Ada
uid: ada
uidNumber: 20001
gidNumber: 20001
homeDirectory: /home/ada
loginShell: /bin/bash
userPassword: secret
sshPublicKey: {key}

dn: cn=ada,dc=example,dc=org
objectClass: posixGroup
cn: ada
gidNumber: 20001
"""
SSSD_CONF = """\
[sssd]
services = nss, pam, ssh
domains = example

[domain/example]
id_provider = ldap
ldap_uri = ldap://ldap
ldap_search_base = dc=example,dc=org
ldap_id_use_start_tls = false
ldap_user_ssh_public_key = sshPublicKey
cache_credentials = true
"""
# As the operator writes it.
SSHD_CONFIG = """\
Include /etc/ssh/sshd_config.d/*.conf
UsePAM yes
X11Forwarding yes
Subsystem sftp internal-sftp
AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys %u
AuthorizedKeysCommandUser nobody
"""
SLURM_CONF = """\
ClusterName=people
SlurmctldHost=ctl
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
SlurmctldParameters=enable_configless,reconfig_on_restart
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
MaxNodeCount=16
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP
"""


def key_pair(folder):
    path = str(folder / "key")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    with open(path) as private, open(path + ".pub") as public:
        return private.read(), public.read()


class World:
    """A login, an LDAP server and, when they are started, slurmctld and two workers; "laptop" is where people sit."""

    def __init__(self, folder):
        self.private, self.public = key_pair(folder)
        self.pods = Pods()
        slurm_key = os.urandom(1024)
        for name, image in (("laptop", "login"), ("ldap", "slapd"), ("login", "login"), ("ctl", "slurmctld"), ("w0", "slurmd"),
                            ("w1", "slurmd")):
            pod = self.pods.add(name, image)
            setattr(self, name, pod)
            pod.write("/etc/slurm/slurm.key", slurm_key, 0o600, 401)
        self.ldap.write("/mnt/ldap/people.ldif", LDIF.format(key=self.public.strip()))
        self.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF)
        self.ctl.write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")
        self.laptop.entrypoint = ["/bin/sleep", "infinity"]
        self.laptop.write("/run/key", self.private, 0o600)
        for pod in (self.login, self.w0, self.w1):
            pod.folder("/mnt/ssh-config", mode=0o777)  # as a mounted folder is
            pod.write("/mnt/sssd-conf/sssd.conf", SSSD_CONF)
            pod.write("/mnt/ssh-config/sshd_config", SSHD_CONFIG)
            pod.write("/mnt/ssh-config/authorized_keys", "# nobody\n", 0o666)
        self.w0.privileged = self.w1.privileged = True  # as the operator makes them

    def start(self):
        self.laptop.start()
        self.ldap.start()
        self.ctl.start()
        self.login.start(SACKD_OPTIONS="--conf-server ctl:6817")
        self.await_ready(self.login)
        return self

    def await_ready(self, pod):
        pod.await_that(lambda: os.path.exists(pod.root + "/run/capstan/ready"), "ready file")
        pod.await_that(lambda: pod.run("getent", "passwd", "ada", check=False).returncode == 0, "ada")

    def await_login(self, where):
        await_that(lambda: self.ssh(where, "true", check=False).returncode == 0, f"login as {where}", 30, self.login.said)

    def start_workers(self, **environment):
        for pod in (self.w0, self.w1):
            pod.start("-Z", "--conf-server", "ctl:6817", **environment)
        await_that(lambda: self.ctl.run("sinfo", "-hN", "-t", "idle", "-o", "%N", check=False).stdout.split() == ["w0", "w1"],
                   "two idle nodes", 30, lambda: ": " + self.ctl.run("sinfo", "-N", check=False).stdout + self.w0.said())

    def ssh_words(self, where, *command, level="ERROR"):
        return ["ssh", "-i", "/run/key", "-o", "IdentitiesOnly=yes", "-o", "PreferredAuthentications=publickey",
                "-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=10", "-o", f"LogLevel={level}", where, *command]

    def ssh(self, where, *command, check=True):
        return self.laptop.run(*self.ssh_words(where, *command), check=check)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.pods.stop()


def test_people_log_in_with_their_key_and_reach_slurm(world):
    world.start()
    # The home is made at the first login, and nobody else's.
    output = world.ssh("ada@login", "id; pwd; stat -c '%U %a' ~; scontrol ping").splitlines()
    assert output[0].startswith("uid=20001(ada) gid=20001(ada)")
    assert output[-3:-1] == ["/home/ada", "ada 700"]
    assert output[-1] == "Slurmctld(primary) at ctl is UP"
    for other in ("root", "nobody-known"):
        assert world.ssh(f"{other}@login", "true", check=False).returncode == 255


def test_what_is_mounted_counts_while_the_pod_runs(world):
    world.start()
    login = world.login
    # Read at each login.
    login.write("/mnt/ssh-config/authorized_keys", world.public, 0o666)
    world.await_login("root@login")
    session = world.laptop.open(*world.ssh_words("root@login", "echo in; cat"))
    session.await_text("in\n")

    # What sshd refuses is said, and the one that runs goes on.
    login.write("/mnt/ssh-config/sshd_config", SSHD_CONFIG + "NoSuchWord yes\n")
    login.await_said("/mnt/ssh-config/sshd_config is not used: sshd refuses it, as it says above")
    assert "Bad configuration option: NoSuchWord" in login.said()
    world.ssh("root@login", "true")

    # What it takes counts for the next one; nobody is cut.
    login.write("/mnt/ssh-config/sshd_config", SSHD_CONFIG + "PermitRootLogin no\n")
    login.await_said("sshd is told that its files have changed")
    await_that(lambda: world.ssh("root@login", "true", check=False).returncode == 255, "refusal of root")
    login.write("/mnt/sssd-conf/sssd.conf", SSSD_CONF.replace("[domain/example]", "[domain/example]\nfallback_homedir = /x"))
    login.await_said("sssd is told that its files have changed")
    world.await_login("ada@login")
    assert "sssd ended with" not in login.said()
    session.say("still\n")
    session.await_text("still\n")
    assert session.end() == 0


# SSSD ended at once, and the login was never ready: not even root came in to mend it.
def test_a_login_whose_sssd_conf_is_refused_lets_in_who_needs_none(world):
    world.login.write("/mnt/sssd-conf/sssd.conf", "no section\n")
    world.login.write("/mnt/ssh-config/authorized_keys", world.public, 0o666)
    for pod in (world.laptop, world.ldap, world.ctl):
        pod.start()
    world.login.start(SACKD_OPTIONS="--conf-server ctl:6817")
    world.login.await_that(lambda: os.path.exists(world.login.root + "/run/capstan/ready"), "ready file")
    world.await_login("root@login")
    world.login.write("/mnt/sssd-conf/sssd.conf", SSSD_CONF)
    world.await_login("ada@login")


# Their end would have been the container's, and that of everybody's session.
def test_sessions_outlive_the_daemons_of_a_login(world):
    world.start()
    session = world.laptop.open(*world.ssh_words("ada@login", "echo in; cat"))
    session.await_text("in\n")
    for name in ("sshd", "sssd", "sackd"):
        world.login.run("pkill", "-KILL", "-o", "-x", name)
        world.login.await_said(f"{name} ended with signal 9; it is started again in 1000 ms")
    world.await_login("ada@login")
    assert "is UP" in world.ssh("ada@login", "scontrol ping")
    session.say("still\n")
    session.await_text("still\n")
    assert session.end() == 0


def test_a_login_stops_when_it_is_told_to(world):
    world.start()
    assert world.login.stop() == 128 + signal.SIGTERM  # sackd, which has no other answer to it
    assert "in time" not in world.login.said()


def test_host_keys_are_the_mounted_ones_or_made(world):
    scan = lambda: world.laptop.run("ssh-keyscan", "-t", "ed25519", "login").split()[-1]
    world.login.write("/mnt/ssh-host-keys/ssh_host_ed25519_key", world.private)
    world.login.write("/mnt/ssh-host-keys/ssh_host_ed25519_key.pub", world.public)
    world.start()
    assert scan() == world.public.split()[1]
    assert os.stat(world.login.root + "/etc/ssh/ssh_host_ed25519_key").st_mode & 0o777 == 0o600
    assert not os.path.exists(world.login.root + "/etc/ssh/ssh_host_rsa_key")
    world.w0.start("-Z", "--conf-server", "ctl:6817", CAPSTAN_BESIDE="sshd")
    world.w0.await_that(lambda: os.path.exists(world.w0.root + "/run/capstan/ready"), "ready file")
    assert os.path.exists(world.w0.root + "/etc/ssh/ssh_host_rsa_key")


def test_a_login_that_goes_waits_for_its_sessions_and_tells_them(world):
    world.start()
    assert world.login.run("capstan-entry", "drain-logins", "600") == "capstan-entry: no session is left\n"
    words = world.ssh_words("ada@login")
    session = world.laptop.open(words[0], "-tt", *words[1:])
    session.say("echo in$((1))\n")
    session.await_text("in1")
    drain = world.login.open("capstan-entry", "drain-logins", "600")
    session.await_text(r"This login is being replaced and ends at .* UTC \(in (10m|9m59s)\)")
    assert drain.process.poll() is None
    session.say("exit\n")
    assert drain.end() == 0
    assert drain.read() == "capstan-entry: no session is left\n"
    assert session.end() == 0


def test_a_worker_lets_in_root_and_nobody_without_a_job(world):
    world.start()
    for pod in (world.w0, world.w1):
        pod.write("/mnt/ssh-config/authorized_keys", world.public)
    world.start_workers(CAPSTAN_BESIDE="sssd sshd")
    world.await_ready(world.w0)
    assert world.ssh("root@w0", "hostname") == "w0\n"
    refused = world.laptop.run(*world.ssh_words("ada@w0", "true", level="INFO"), check=False)
    assert refused.returncode == 255 and "you have no active jobs on this node" in refused.stdout
    # Jobs run as people that only LDAP knows.
    world.w0.folder("/home/ada", 20001)
    assert "uid=20001(ada) gid=20001(ada)" in world.ssh("ada@login", "srun -w w0 id")


# MPICH without its GPU libraries, and its start by Slurm; OpenMPI would need PMIx, which Debian's Slurm lacks.
ALLREDUCE = """
import ctypes
mpi = ctypes.CDLL("libmpich.so.12")
world, integer, total = 0x44000000, 0x4c000405, 0x58000003
mpi.MPI_Init(None, None)
rank, size, result = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mine = ctypes.c_int(rank.value + 1)
assert mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(result), 1, integer, total, world) == 0
print(rank.value, size.value, result.value, flush=True)
mpi.MPI_Finalize()
"""


def test_an_mpi_program_sums_across_workers(world):
    world.start()
    world.start_workers()
    for pod in (world.w0, world.w1):
        pod.write("/tmp/sum.py", ALLREDUCE)
    output = world.login.run("srun", "--mpi=pmi2", "-N2", "-n4", "--oversubscribe", "python3", "/tmp/sum.py")
    assert sorted(output.splitlines()) == ["0 4 10", "1 4 10", "2 4 10", "3 4 10"]


def test_workers_have_an_oci_runtime(world):
    world.laptop.start()
    assert world.laptop.run("crun", "--version").startswith("crun version 1.")


def test_slurmctld_knows_people_by_an_sssd_that_shares_its_pipes(world):
    """As in a pod with an fsGroup, where the folder is the group's."""
    pipes = "/var/lib/sss/pipes"
    world.login.entrypoint = ["/bin/sh", "-c", f"mkdir -p -m 700 {pipes}/private && exec capstan-entry sssd"]
    for pod in (world.login, world.ctl):
        pod.folder(pipes, 401, 0o2777)
    made = world.pods.within("mount", "--bind", world.login.inner_root + pipes, world.ctl.inner_root + pipes)
    assert made.returncode == 0, made.stderr
    world.ldap.start()
    world.ctl.entrypoint = ["/bin/sleep", "infinity"]
    world.ctl.start()
    world.login.start()
    world.ctl.await_that(lambda: world.ctl.run("getent", "passwd", "ada", check=False).returncode == 0, "ada")
