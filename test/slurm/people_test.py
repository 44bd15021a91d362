"""People: logins and workers with sshd and SSSD in front of an LDAP server, our images without Kubernetes."""
import base64
import hmac
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from image import Image
from people import SLURM_CONF, SSHD_CONFIG, SSSD_CONF, World
from pods import await_that

SUBMIT = """
import sys, urllib.request
headers = {"X-SLURM-USER-NAME": "ada", "X-SLURM-USER-TOKEN": sys.argv[1], "Content-Type": "application/json"}
request = urllib.request.Request("http://rest:6820/slurm/v0.0.45/job/submit", open("/tmp/job.json", "rb").read(), headers)
print(urllib.request.urlopen(request, timeout=20).read())
"""


SOURCE = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = (SOURCE / "test/slurm/allreduce.py").read_text()


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


def test_strangers_cannot_guess_unless_the_site_says_so(world):
    """What sshd makes of the texts that the operator writes."""
    world.login.write("/tmp/key", world.private, 0o600)
    world.login.start()

    def effective(golden, user="grace"):
        world.login.write("/tmp/sshd_config", (SOURCE / "src/operator/render/testdata" / f"sshd_config-{golden}").read_text())
        told = world.login.run("/usr/sbin/sshd", "-T", "-h", "/tmp/key", "-f", "/tmp/sshd_config", "-C", f"user={user},host=h,addr=192.0.2.1")
        return {option.lower(): value for option, _, value in (line.partition(" ") for line in told.splitlines())}

    limits = {"passwordauthentication": "no", "kbdinteractiveauthentication": "no", "logingracetime": "60", "maxauthtries": "6", "maxstartups": "50:30:200",
              "persourcepenalties": "no", "persourcemaxstartups": "none"}
    assert effective("default").items() >= limits.items()
    passwords = effective("passwords")
    assert passwords.items() >= (limits | {"passwordauthentication": "yes", "persourcemaxstartups": "10", "persourcepenalties": passwords["persourcepenalties"]}).items()
    assert "authfail:5" in passwords["persourcepenalties"], "the addresses are the callers' own"
    assert effective("match").items() >= (limits | {"maxauthtries": "2"}).items()
    assert effective("match", "ada").items() >= (limits | {"maxauthtries": "2", "passwordauthentication": "yes"}).items()
    # A second factor of some opens no way in for the others.
    assert effective("methods").items() >= limits.items()
    assert effective("methods", "ada").items() >= (limits | {"kbdinteractiveauthentication": "yes"}).items()
    # An image without our files takes the text all the same.
    world.login.run("rm", "-r", "/etc/ssh/capstan")
    assert effective("default")["passwordauthentication"] == "no"


def test_who_was_there_before_logs_in_while_the_directory_is_away(world):
    world.start()
    assert world.ssh("ada@login", "id -un") == "ada\n"
    world.ldap.kill()
    world.login.run("pkill", "-USR1", "-o", "-x", "sssd")  # it takes itself for cut off
    assert world.ssh("ada@login", "id -un") == "ada\n"


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


def test_a_login_is_ready_once_slurms_commands_work_there(world):
    for pod in (world.laptop, world.ldap):
        pod.start()
    world.login.start(SACKD_OPTIONS="--conf-server ctl:6817")
    world.login.await_said("Failed to load configs from slurmctld")
    world.login.await_that(lambda: world.login.run("getent", "passwd", "ada", check=False).returncode == 0, "ada")
    assert not os.path.exists(world.login.root + "/run/capstan/ready")
    world.ctl.start()
    world.login.await_that(lambda: os.path.exists(world.login.root + "/run/capstan/ready"), "ready file")
    assert "is UP" in world.login.run("scontrol", "ping")


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
    session.await_text(r"This login is being replaced and ends at .* UTC \(in (10m|9m\d+s)\)")
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


def test_a_missing_home_is_said_in_a_sentence(world):
    world.workers = (world.w0,)
    world.start()
    world.start_workers(CAPSTAN_BESIDE="sssd")
    world.await_ready(world.w0)
    said = world.ssh("ada@login", "srun pwd").splitlines()  # the sentence before and after what the job says
    assert {line.partition("] ")[2] or line for line in said} == {
        "/tmp", "error: couldn't chdir to `/home/ada': No such file or directory: going to /tmp instead"}
    # A batch job cannot write its output, and ends before it begins: docs/users.md says what its exit code means.
    job = world.ssh("ada@login", "sbatch --parsable --wrap true").strip()
    show = lambda: world.ctl.run("scontrol", "-o", "show", "job", job)
    await_that(lambda: "JobState=FAILED" in show() and "ExitCode=0:53" in show(), "failed job", 30, show)
    # Where no home can be made.
    world.login.run("rm", "-r", "/home")
    world.login.write("/home", "no folder")
    said = world.ssh("ada@login", "pwd").splitlines()
    assert "Could not chdir to home directory /home/ada: Not a directory" in said and "/" in said, said


# With proctrack/cgroup the session is the job's: it is in its cgroup, and ends with it. Elsewhere it is let in and goes its own way.
@pytest.mark.parametrize("proctrack", ["cgroup", "linuxproc"])
def test_a_session_is_adopted_by_the_job_that_lets_it_in(world, proctrack):
    conf = SLURM_CONF.replace("proctrack/linuxproc", f"proctrack/{proctrack}") + "PrologFlags=contain\n"
    world.ctl.write("/etc/slurm/slurm.conf", conf)
    world.workers = (world.w0,)
    if proctrack == "cgroup":
        world.ctl.write("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n")
        world.w0.controllers = ("freezer",)
    world.start()
    world.start_workers(CAPSTAN_BESIDE="sssd sshd")
    world.await_ready(world.w0)
    job = world.ssh("ada@login", "sbatch --parsable -D / -o /dev/null --wrap 'sleep 1000'").strip()
    await_that(lambda: world.ctl.run("squeue", "-hj", job, "-o", "%T").strip() == "RUNNING", "running job", 30, world.w0.said)
    session = world.laptop.open(*world.ssh_words("ada@w0", "echo in; cat /proc/self/cgroup; cat"))
    session.await_text("in\n")
    if proctrack == "cgroup":
        session.await_text(rf"freezer:/slurm[^/\n]*/uid_20001/job_{job}/step_extern\n")
    world.ctl.run("scancel", job)
    if proctrack == "cgroup":
        await_that(lambda: session.process.poll() is not None, "end of the session", 30, world.w0.said)
    refused = lambda: world.laptop.run(*world.ssh_words("ada@w0", "true", level="INFO"), check=False)
    await_that(lambda: "you have no active jobs on this node" in refused().stdout, "refusal", 30, world.w0.said)


def token_of(name, key):
    """As anything that has the key makes it: for this person, for an hour."""
    word = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
    text = word(b'{"alg":"HS256","typ":"JWT"}') + b"." + word(json.dumps({"exp": int(time.time()) + 3600, "sun": name}).encode())
    return (text + b"." + word(hmac.digest(key, text, "sha256"))).decode()


# slurmctld did not know whom a token names: jobs that people sent by REST were refused. Nor did SSSD start in a volume with an
# fsGroup, whose folders are of that group.
def test_people_whom_rest_names_are_known_with_sssd_beside_slurmctld(world):
    key = os.urandom(32)
    world.ctl.write("/etc/slurm/jwt.key", key, 0o600, 401)
    world.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF + "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt.key\n")
    for path in ("slurm.conf", "slurm.key"):
        data = open(world.ctl.root + "/etc/slurm/" + path, "rb").read()
        world.rest.write("/etc/slurm/" + path, data, 0o600, 65534)
    # As examples/demo/people.yaml has it.
    world.pods.share("/var/lib/sss/pipes", world.ctl, world.sssd)
    world.sssd.entrypoint = ["/usr/local/bin/capstan-entry", "sssd"]
    world.sssd.write("/mnt/sssd-conf/sssd.conf", SSSD_CONF)
    world.sssd.start()
    world.workers = (world.w0,)
    world.start()
    world.start_workers(CAPSTAN_BESIDE="sssd")
    world.rest.start("0.0.0.0:6820", SLURM_JWT="daemon", SLURMRESTD_SECURITY="disable_unshare_files,disable_unshare_sysv")
    job = {"job": {"script": "#!/bin/sh\nid -un\n", "name": "sent", "current_working_directory": "/", "standard_output": "/tmp/said",
                   "environment": ["PATH=/usr/bin:/bin"]}}
    world.login.write("/tmp/job.json", json.dumps(job))
    submit = lambda: world.login.run("python3", "-c", SUBMIT, token_of("ada", key), check=False)
    await_that(lambda: submit().returncode == 0, "job that is taken", 30, lambda: f": {submit().stdout}\n{world.ctl.said()}")
    said = world.w0.root + "/tmp/said"
    await_that(lambda: os.path.exists(said) and open(said).read() == "ada\n", "output of the job", 30, world.w0.said)


def test_an_mpi_program_sums_across_workers(world):
    world.workers = (world.w0, world.w1, world.w2)
    world.start()
    world.start_workers()
    for pod in world.workers:
        pod.write("/tmp/sum.py", PROGRAM)
    output = world.login.run("srun", "--mpi=pmi2", "-N3", "-n6", "--oversubscribe", "python3", "/tmp/sum.py")
    assert sorted(output.splitlines()) == [f"{rank} 6 21" for rank in range(6)]


OCI_CONF = """\
RunTimeQuery="crun --root=/tmp/crun-%U state %n.%u.%j.%s.%t"
RunTimeKill="crun --root=/tmp/crun-%U kill --all %n.%u.%j.%s.%t SIGTERM"
RunTimeDelete="crun --root=/tmp/crun-%U delete --force %n.%u.%j.%s.%t"
RunTimeRun="crun --root=/tmp/crun-%U --cgroup-manager=disabled run --bundle %b %n.%u.%j.%s.%t"
"""


# An image that shares nothing with the worker's: Capstan's own program, and the libraries that it needs.
def test_an_oci_image_runs_as_a_job(world):
    world.ctl.write("/etc/slurm/oci.conf", OCI_CONF)
    world.workers = (world.w0,)
    world.w0.controllers = ("freezer", "pids")  # crun looks for some
    world.start()
    world.start_workers(CAPSTAN_BESIDE="sssd")
    world.await_ready(world.w0)
    world.w0.folder("/bundle", 20001)
    subprocess.run(["cp", "-a", Image("capstan").root(), world.w0.root + "/bundle/rootfs"], check=True)
    subprocess.run(["chown", "-R", "20001:20001", world.w0.root + "/bundle/rootfs"], check=True)
    world.w0.run("crun", "spec", "--rootless", "--bundle", "/bundle")
    said = world.ssh("ada@login", "cd /; srun --container=/bundle /capstan --help")
    assert said.startswith("Slurm on Kubernetes\n")
