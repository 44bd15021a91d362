"""People of an LDAP server, logins and workers with sshd and SSSD, slurmctld: our images without Kubernetes."""
import os
import subprocess

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
ldap_uri = ldap://ldap:1389
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
PasswordAuthentication no
KbdInteractiveAuthentication no
LoginGraceTime 60
MaxAuthTries 6
MaxStartups 50:30:200
Include /etc/ssh/capstan/no-penalties.conf
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
                            ("w1", "slurmd"), ("w2", "slurmd"), ("rest", "slurmrestd"), ("sssd", "login")):
            pod = self.pods.add(name, image)
            setattr(self, name, pod)
            pod.write("/etc/slurm/slurm.key", slurm_key, 0o600, 401)
        self.ldap.write("/mnt/ldap/people.ldif", LDIF.format(key=self.public.strip()))
        self.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF)
        self.ctl.write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")
        self.laptop.entrypoint = ["/bin/sleep", "infinity"]
        self.laptop.write("/run/key", self.private, 0o600)
        self.workers = (self.w0, self.w1)
        for pod in (self.login, self.w0, self.w1, self.w2):
            pod.folder("/mnt/ssh-config", mode=0o777)  # as a mounted folder is
            pod.write("/mnt/sssd-conf/sssd.conf", SSSD_CONF)
            pod.write("/mnt/ssh-config/sshd_config", SSHD_CONFIG)
            pod.write("/mnt/ssh-config/authorized_keys", "# nobody\n", 0o666)
        for pod in (self.w0, self.w1, self.w2):
            pod.privileged = True  # as the operator makes them

    def start(self, **login):
        self.laptop.start()
        self.ldap.start()
        self.ctl.start()
        self.login.start(SACKD_OPTIONS="--conf-server ctl:6817", **login)
        self.await_ready(self.login)
        return self

    def await_ready(self, pod):
        pod.await_that(lambda: os.path.exists(pod.root + "/run/capstan/ready"), "ready file")
        pod.await_that(lambda: pod.run("getent", "passwd", "ada", check=False).returncode == 0, "ada")

    def await_login(self, where):
        await_that(lambda: self.ssh(where, "true", check=False).returncode == 0, f"login as {where}", 30, self.login.said)

    def start_workers(self, **environment):
        for pod in self.workers:
            pod.start("-Z", "--conf-server", "ctl:6817", **environment)
        names = [pod.name for pod in self.workers]
        await_that(lambda: self.ctl.run("sinfo", "-hN", "-t", "idle", "-o", "%N", check=False).stdout.split() == names, "idle nodes", 30, lambda: ": " + self.ctl.run("sinfo", "-N", check=False).stdout + self.w0.said())

    def ssh_words(self, where, *command, level="ERROR"):
        return ["ssh", "-i", "/run/key", "-o", "IdentitiesOnly=yes", "-o", "PreferredAuthentications=publickey",
                "-o", "StrictHostKeyChecking=accept-new", "-o", "ConnectTimeout=10", "-o", f"LogLevel={level}", where, *command]

    def ssh(self, where, *command, check=True):
        return self.laptop.run(*self.ssh_words(where, *command), check=check)
