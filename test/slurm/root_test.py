"""The shared root as sessions and steps see it: pam_capstan_root.so in sshd and slurmstepd, our images without Kubernetes.

What a root is here, and how it is pinned, is what capstan-entry does for a worker or a login.
"""
import re

import pytest
from people import SLURM_CONF, World
from roots import MAKE
from pods import await_that

SYS_ADMIN = 1 << 21


class Rooted(World):
    def __init__(self, folder):
        super().__init__(folder)
        self.login.capabilities = ("sys_admin",)
        for pod in (self.login, *self.workers):
            pod.write("/mnt/ssh-config/authorized_keys", self.public)
        self.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF + "UsePAM=1\n")

    @staticmethod
    def make_root(pod, name):
        pod.run(*pod.limits(), "bash", "-c", MAKE, "-", name)

    @staticmethod
    def switch(pod, name):
        pod.run("ln", "-sfn", name, "/run/capstan/root/current")

    def make(self, pod, name):
        self.make_root(pod, name)
        self.switch(pod, name)

    def mark(self, where):
        """The root that a new session has; None: that of the image."""
        done = self.ssh(where, "cat /MARK", check=False)
        return done.stdout.strip() if done.returncode == 0 else None


@pytest.fixture
def world(tmp_path):
    made = Rooted(tmp_path)
    yield made
    made.pods.stop()


def test_sessions_are_in_the_root_and_nothing_else_is(world):
    world.start()
    assert world.mark("ada@login") is None, "there is no shared root yet"
    world.make(world.login, "g1")
    assert world.mark("ada@login") == world.mark("root@login") == "g1"
    assert world.mark("rescue@login") is None, "who mends a broken root is not in it"
    assert world.ssh("rescue@login", "id -u").strip() == "0"
    assert world.login.run("cat", "/MARK", check=False).returncode != 0, "kubectl exec is in the image"
    # A session is a whole one.
    said = world.ssh("ada@login", "id; pwd; scontrol ping").splitlines()
    assert said[0].startswith("uid=20001(ada) gid=20001(ada)") and said[1] == "/home/ada" and said[2].endswith("is UP")
    words = world.ssh_words("ada@login", "tty; cat /MARK")
    terminal = world.laptop.open(words[0], "-tt", *words[1:])
    terminal.await_text(r"/dev/pts/\d+\s+g1\s")
    world.laptop.run("scp", "-i", "/run/key", "-o", "IdentitiesOnly=yes", "ada@login:/MARK", "/tmp/got")
    assert world.laptop.read("/tmp/got") == "g1\n"
    # It can make user namespaces, as containers without root do, and not mount in the login's.
    assert world.ssh("ada@login", "unshare -Urm cat /MARK").strip() == "g1"
    for person in ("ada", "root"):
        bounding = int(re.search(r"CapBnd:\s*(\w+)", world.ssh(f"{person}@login", "cat /proc/self/status")).group(1), 16)
        assert not bounding & SYS_ADMIN


def test_a_session_keeps_its_root_through_a_switch_and_back(world):
    world.start()
    world.make(world.login, "g1")
    session = world.laptop.open(*world.ssh_words("ada@login", "while read -r line; do echo $line $(cat /MARK); done"))
    session.say("first\n")
    session.await_text("first g1")
    world.make(world.login, "g2")
    session.say("second\n")
    session.await_text("second g1")
    assert world.mark("ada@login") == "g2"
    world.switch(world.login, "g1")
    assert world.mark("ada@login") == "g1"
    assert session.end() == 0


# In the image's root it would write where nobody looks.
def test_without_the_root_that_is_wanted_no_session_begins(world):
    world.start()
    world.make(world.login, "g1")
    for how, said in ((["rm", "/run/capstan/root/current"], "no session begins: /run/capstan/root/current: No such file or directory"),
                      (["ln", "-sfn", "/etc/passwd", "/run/capstan/root/current"], "no session begins: joining the shared root: Invalid argument")):
        world.login.run(*how)
        assert world.ssh("ada@login", "true", check=False).returncode != 0
        world.login.await_said(said)
        assert world.ssh("rescue@login", "hostname").strip() == "login"
    world.switch(world.login, "g1")
    assert world.mark("ada@login") == "g1"


def test_steps_of_jobs_are_in_the_root(world):
    world.start()
    world.start_workers(CAPSTAN_BESIDE="sssd")
    for pod in world.workers:
        world.await_ready(pod)
        pod.folder("/home/ada", 20001)
        world.make(pod, "g1")
    run = lambda command: world.ssh("ada@login", command)
    assert run("srun -N2 cat /MARK").split() == ["g1", "g1"]
    assert run("salloc -Q -w w0 srun cat /MARK").strip() == "g1"
    assert run("srun -w w0 sh -c 'id -un; pwd'").split() == ["ada", "/home/ada"]
    # A batch script, its steps, and its output, which is opened within.
    job = run("sbatch --parsable -w w0 -o /srv/out --wrap 'cat /MARK; srun cat /MARK'").strip()
    ended = lambda: "JobState=COMPLETED" in world.ctl.run("scontrol", "-o", "show", "job", job)
    await_that(ended, "end of the job", 30, lambda: world.ctl.run("scontrol", "-o", "show", "job", job))
    assert run("srun -w w0 cat /srv/out").split() == ["g1", "g1"]
    assert world.w0.run("cat", "/srv/out", check=False).returncode != 0, "it is not in the image"
    # Many at once, and the daemon itself stays where it was.
    assert run("for i in $(seq 40); do srun -Q --overlap -s -w w0 -n1 cat /MARK & done; wait").split() == ["g1"] * 40
    assert world.w0.run("cat", "/MARK", check=False).returncode != 0
    # Without the root no step begins, and slurmd's log says why.
    world.w0.run("rm", "/run/capstan/root/current")
    assert "g1" not in world.ssh("ada@login", "srun -w w0 cat /MARK", check=False).stdout
