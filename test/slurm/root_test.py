"""The shared root as sessions and steps see it: our images without Kubernetes, on a volume that capstan-entry fills."""
import os
import re
import subprocess

import pytest
from people import SLURM_CONF, World
from pods import await_that

SYS_ADMIN = 1 << 21
VOLUME = "/capstan/root"


class Rooted(World):
    def __init__(self, folder):
        super().__init__(folder)
        self.filler = self.pods.add("filler", "login")  # its image is that of the root
        self.filler.entrypoint = ["/bin/sleep", "infinity"]
        self.pods.share(VOLUME, self.filler, self.login, *self.workers)
        self.login.capabilities = ("sys_admin",)
        for pod in (self.login, *self.workers):
            pod.write("/mnt/ssh-config/authorized_keys", self.public)
        self.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF + "UsePAM=1\n")
        self.filler.start()

    def start(self):
        return super().start(CAPSTAN_SHARED_ROOT=VOLUME, CAPSTAN_POD_UID="uid-login")

    def start_workers(self):
        super().start_workers(CAPSTAN_BESIDE="sssd", CAPSTAN_SHARED_ROOT=VOLUME)

    def job(self, what, generation, *more, check=True):
        """As a Job of the operator runs it."""
        keep = ("--keep", "/home") if what == "switch" else ()
        self.filler.run(*self.filler.limits(), "capstan-entry", "root", what, "--volume", VOLUME, "--generation", generation,
                        "--report", "/tmp/report", *keep, *more, check=check)
        return self.filler.read("/tmp/report")

    def fill(self, generation):
        self.filler.write("/MARK", generation + "\n")
        return self.job("fill", generation)

    def switch(self, generation, *more):
        self.job("switch", generation, *more)

    def make(self, generation):
        self.fill(generation)
        self.switch(generation)

    def mark(self, where):
        """The root that a new session has; None: that of the image."""
        done = self.ssh(where, "cat /MARK", check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def await_mark(self, where, generation):
        await_that(lambda: self.mark(where) == generation, f"{generation} in sessions of {where}", 30, self.login.said)


def put_programs(pod, folder, *programs):
    """Programs of the machine that runs the test, with what they load: of another distribution than the images are."""
    files = set(programs)
    for program in programs:
        listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        files.update(re.findall(r"(/\S+) \(0x", listed))
    for path in files:
        with open(path, "rb") as file:
            pod.write(folder + "/usr/" + path.removeprefix("/usr/").lstrip("/"), file.read(), 0o755)
    for name in ("bin", "lib", "lib64"):
        os.symlink("usr/" + name, f"{pod.root}{folder}/{name}")


@pytest.fixture
def world(tmp_path):
    made = Rooted(tmp_path)
    yield made
    made.pods.stop()


def test_sessions_are_in_the_root_and_nothing_else_is(world):
    world.filler.write("/etc/slurm/slurm.conf", "ClusterName=another\nSlurmctldHost=nowhere\n")
    world.make("g1")
    world.start()
    assert world.mark("ada@login") == world.mark("root@login") == "g1"
    assert world.mark("rescue@login") is None, "who mends a broken root is not in it"
    assert world.ssh("rescue@login", "id -u").strip() == "0"
    assert world.login.run("cat", "/MARK", check=False).returncode != 0, "kubectl exec is in the image"
    assert world.login.run("capstan-entry", "enter", "--", "cat", "/MARK").strip() == "g1"
    # A session is a whole one.
    said = world.ssh("ada@login", "id; pwd; scontrol ping").splitlines()
    assert said[0].startswith("uid=20001(ada) gid=20001(ada)") and said[1] == "/home/ada" and said[2].endswith("is UP")
    assert world.ssh("ada@login", "ls /etc/slurm", check=False).returncode != 0, "a configuration in the image is of another cluster"
    assert world.ssh("ada@login", "cat /etc/hosts") == world.login.read("/etc/hosts")
    words = world.ssh_words("ada@login", "tty; cat /MARK")
    terminal = world.laptop.open(words[0], "-tt", *words[1:])
    terminal.await_text(r"/dev/pts/\d+\s+g1\s")
    world.laptop.run("scp", "-i", "/run/key", "-o", "IdentitiesOnly=yes", "ada@login:/MARK", "/tmp/got")
    assert world.laptop.read("/tmp/got") == "g1\n"
    # Its files have owners and modes as those of a machine.
    assert world.ssh("ada@login", "cat /etc/shadow", check=False).returncode != 0
    assert world.ssh("ada@login", "echo x >> /etc/passwd", check=False).returncode != 0
    # It can make user namespaces, as containers without root do, and not mount in the login's.
    assert world.ssh("ada@login", "unshare -Urm cat /MARK").strip() == "g1"
    for person in ("ada", "root"):
        bounding = int(re.search(r"CapBnd:\s*(\w+)", world.ssh(f"{person}@login", "cat /proc/self/status")).group(1), 16)
        assert not bounding & SYS_ADMIN


def test_a_session_keeps_its_root_through_a_switch_and_back(world):
    world.make("g1")
    world.start()
    session = world.laptop.open(*world.ssh_words("ada@login", "while read -r line; do echo $line $(cat /MARK); done"))
    session.say("first\n")
    session.await_text("first g1")
    world.make("g2")
    world.await_mark("ada@login", "g2")
    session.say("second\n")
    session.await_text("second g1")
    world.switch("g1")
    world.await_mark("ada@login", "g1")
    assert session.end() == 0


# Whatever somebody has begun in it, also what goes on behind his back, and in namespaces of his own.
def test_an_old_root_goes_with_the_last_process_in_it(world):
    world.fill("g1")
    world.switch("g1", "--order", "uid/1")
    world.start()
    session = world.laptop.open(*world.ssh_words("ada@login", "while read -r line; do echo $line $(cat /MARK); done"))
    session.say("first\n")
    session.await_text("first g1")
    world.ssh("ada@login", "setsid unshare -Urm sh -c 'until [ -e ~/go ]; do sleep 0.1; done' >/dev/null 2>&1 </dev/null &")
    for number, generation in ((2, "g2"), (3, "g3")):  # of the one before the current one a pod says for a moment that it is in use
        world.fill(generation)
        world.switch(generation, "--order", f"uid/{number}")
        world.await_mark("ada@login", generation)
    remove = lambda: world.job("remove", "g1", "--order", "uid/3", "--pod", "login/uid-login")
    assert remove() == '{"removed":[],"kept":{"g1":"pod login is in it"}}'
    session.say("second\n")
    session.await_text("second g1")
    session.end()
    assert "pod login is in it" in remove(), "a process without a session"
    world.ssh("ada@login", "touch ~/go")
    await_that(lambda: remove() == '{"removed":["g1"],"kept":{}}', "its end", 60, world.login.said)
    assert world.login.run("ls", VOLUME + "/roots").split() == ["g2", "g3"]
    assert world.mark("ada@login") == "g3"


# Whom somebody gives an account in a session the login lets in, jobs run as, and the next root has, too.
def test_people_of_the_root_log_in_and_stay_through_a_switch(world):
    world.make("g1")
    world.start()
    world.start_workers()
    world.ssh("root@login", "useradd -m -u 1500 -s /bin/bash grace && usermod -aG audio grace && install -d -m 700 ~grace/.ssh && "
                            f"echo '{world.public.strip()}' > ~grace/.ssh/authorized_keys && chown -R grace: ~grace/.ssh")
    world.await_login("grace@login")
    world.ssh("root@login", "groupadd -g 2000 hpc && usermod -aG hpc grace")
    has = "uid=1500(grace) gid=1500(grace) groups=1500(grace),29(audio),2000(hpc)"
    assert world.ssh("grace@login", "id; pwd").splitlines() == [has, "/home/grace"]
    known = lambda: "2000(hpc)" in world.login.run("id", "grace", check=False).stdout
    await_that(known, "her group", 30, world.login.said)
    assert "2000(hpc)" in world.ssh("grace@login", "srun -N1 id")
    assert sorted(world.ssh("grace@login", "srun -N2 sh -c 'id -un; pwd'").split()) == ["/home/grace"] * 2 + ["grace"] * 2
    # Accounts of the image are its own, whatever the root says.
    world.ssh("root@login", "echo rescue:x:1600:1600::/tmp:/bin/sh >> /etc/passwd && useradd -u 1601 last")
    await_that(lambda: world.login.run("getent", "passwd", "last", check=False).returncode == 0, "the last one added", 30)
    assert world.login.run("getent", "passwd", "rescue").startswith("rescue:x:0:0:")
    assert world.ssh("rescue@login", "id -u").strip() == "0"
    world.make("g2")
    world.await_mark("grace@login", "g2")
    assert world.ssh("grace@login", "id").strip() == has
    world.ssh("root@login", "sed -i s/^grace:x:1500:/grace:x:1501:/ /etc/passwd")
    said = world.job("switch", "g1", check=False)
    assert "account grace has id 1501 in the current root, and 1500 in this one" in said


def test_from_a_root_that_is_broken_there_is_a_way_back(world):
    world.make("g1")
    world.make("g2")
    world.start()
    world.start_workers()
    world.await_mark("ada@login", "g2")
    world.ssh("root@login", "rm -rf /bin /usr/bin /usr/sbin")
    assert world.ssh("ada@login", "true", check=False).returncode != 0
    broken = VOLUME + "/roots/g2"
    assert "bin" not in world.ssh("rescue@login", f"ls {broken}/usr").split(), "he sees what is broken"
    world.switch("g1")
    world.await_mark("ada@login", "g1")
    runs = lambda: world.ssh("ada@login", "srun -N2 cat /MARK", check=False).stdout.split() == ["g1", "g1"]
    await_that(runs, "a job, as no daemon was harmed", 60, world.w0.said)
    # Or it is mended where it stands.
    world.ssh("rescue@login", f"cd {VOLUME}/roots/g1 && cp -a usr/bin usr/sbin {broken}/usr/ && cp -a bin {broken}/")
    world.switch("g2")
    world.await_mark("ada@login", "g2")


# In the image's root it would write where nobody looks.
def test_without_the_root_that_is_wanted_no_session_begins(world):
    world.laptop.start()
    world.login.start(SACKD_OPTIONS="--conf-server ctl:6817", CAPSTAN_SHARED_ROOT=VOLUME)
    world.login.await_said("shared root: no generation is current yet")
    world.await_login("rescue@login")
    assert world.ssh("root@login", "true", check=False).returncode != 0
    world.login.await_said("no session begins: /run/capstan/root/current: No such file or directory")
    assert world.login.run("test", "-e", "/run/capstan/ready", check=False).returncode != 0
    world.make("g1")
    world.await_mark("root@login", "g1")
    world.login.run("ln", "-sfn", "/etc/passwd", "/run/capstan/root/current")
    assert world.ssh("root@login", "true", check=False).returncode != 0
    world.login.await_said("no session begins: joining the shared root: Invalid argument")
    assert world.ssh("rescue@login", "hostname").strip() == "login"


def test_steps_of_jobs_are_in_the_root(world):
    world.fill("g1")
    world.w2.start("-Z", "--conf-server", "ctl:6817", CAPSTAN_BESIDE="sssd", CAPSTAN_SHARED_ROOT=VOLUME)
    world.w2.await_said("shared root: no generation is current yet")
    assert world.w2.run("sh", "-c", "grep -l slurmd /proc/[0-9]*/comm", check=False).returncode != 0, "a job would fail there"
    world.switch("g1")
    world.start()
    world.start_workers()
    run = lambda command: world.ssh("ada@login", command)
    assert run("srun -N2 cat /MARK").split() == ["g1", "g1"]
    assert run("salloc -Q -w w0 srun cat /MARK").strip() == "g1"
    assert run("srun -w w0 sh -c 'id -un; pwd'").split() == ["ada", "/home/ada"]
    assert sorted(run("srun -N2 hostname").split()) == ["w0", "w1"]
    # What one writes the others read: in the root, and in what is kept of it.
    world.ssh("root@login", "install -d -m 1777 /data")
    run("srun -w w0 sh -c 'echo hers > ~/file; echo theirs > /data/file'")
    assert run("srun -w w1 cat ~/file /data/file").split() == run("cat ~/file /data/file").split() == ["hers", "theirs"]
    # A batch script, its steps, and its output, which is opened within.
    job = run("sbatch --parsable -w w0 -o /data/out --wrap 'cat /MARK; srun cat /MARK'").strip()
    ended = lambda: "JobState=COMPLETED" in world.ctl.run("scontrol", "-o", "show", "job", job)
    await_that(ended, "end of the job", 30, lambda: world.ctl.run("scontrol", "-o", "show", "job", job))
    assert run("cat /data/out").split() == ["g1", "g1"]
    assert world.w0.run("cat", "/data/out", check=False).returncode != 0, "it is not in the image"
    # Many at once, and the daemon itself stays where it was.
    assert run("for i in $(seq 40); do srun -Q --overlap -s -w w0 -n1 cat /MARK & done; wait").split() == ["g1"] * 40
    assert world.w0.run("cat", "/MARK", check=False).returncode != 0
    # Without the root no step begins, and slurmd's log says why.
    world.w0.run("rm", "/run/capstan/root/current")
    assert "g1" not in world.ssh("ada@login", "srun -w w0 cat /MARK", check=False).stdout
    world.w0.await_said("no session begins: /run/capstan/root/current: No such file or directory")


def test_in_a_root_without_slurm_its_commands_are_the_images(world):
    put_programs(world.filler, "/small", "/usr/bin/bash", "/usr/bin/sh", "/usr/bin/cat", "/usr/bin/readlink", "/usr/bin/grep")
    world.filler.write("/small/etc/passwd", "root:x:0:0::/root:/bin/bash\nada:x:20001:20001::/home/ada:/bin/bash\n")
    world.filler.write("/small/MARK", "small\n")
    assert '"slurm":"Image"' in world.job("fill", "g1", "--from", "/small")
    world.switch("g1")
    world.start()
    world.start_workers()
    run = lambda command: world.ssh("ada@login", command)
    assert run("readlink /usr/bin/srun").strip() == "/run/capstan/slurm/srun"
    assert run("sinfo --version") == world.login.run("sinfo", "--version")
    assert run("srun -N2 cat /MARK").split() == ["small", "small"]
    assert run("salloc -Q -w w0 srun sinfo -h -n w0 -o %N").strip() == "w0", "in a step, too"
    job = run("sbatch --parsable -w w0 -o ~/out --wrap 'srun cat /MARK'").strip()
    await_that(lambda: "JobState=COMPLETED" in run(f"scontrol -o show job {job}"), "end of the job", 30)
    assert run("cat ~/out").strip() == "small"
    # Of the image there is nothing to change, and nothing that makes somebody root.
    mounted = run("grep ' /run/capstan/image-usr ' /proc/self/mountinfo")
    assert re.search(r" ro,nosuid|nosuid.*\bro\b", mounted.split(" - ")[0]), mounted


# A machine outside, or another maker's image, has no service of that name.
def test_without_a_pam_service_of_slurms_own_the_others_counts(world):
    world.make("g1")
    world.start()
    world.start_workers()
    world.w0.run("rm", "/etc/pam.d/slurm")
    service = lambda module: "".join(f"{what} required {module}\n" for what in ("auth", "account", "session"))
    world.w0.write("/etc/pam.d/other", service("pam_deny.so"))
    said = world.ssh("ada@login", "srun -w w0 hostname 2>&1", check=False).stdout
    assert "could not execve job" in said, said
    world.w0.write("/etc/pam.d/slurm", service("pam_permit.so"))
    assert world.ssh("ada@login", "srun -w w0 hostname").strip() == "w0"
    assert "g1" not in world.ssh("ada@login", "srun -w w0 cat /MARK", check=False).stdout, "it is in its own root"
    assert world.ssh("ada@login", "srun -w w1 cat /MARK").strip() == "g1"


def test_beside_a_namespace_of_slurms_own_no_step_begins(world):
    world.ctl.write("/etc/slurm/slurm.conf", SLURM_CONF + "UsePAM=1\nNamespaceType=namespace/tmpfs\nPrologFlags=contain\n")
    world.ctl.write("/etc/slurm/job_container.conf", "AutoBasePath=true\nBasePath=/var/spool/ns\nShared=true\n")
    world.make("g1")
    world.start()
    world.start_workers()
    assert world.ssh("ada@login", "srun -Q -w w0 true", check=False).returncode not in (0, 255)
    assert world.ssh("ada@login", "true; echo in").strip() == "in", "sessions do not mind"


def test_limits_of_the_root_are_those_of_sessions_and_of_jobs_from_there(world):
    world.filler.write("/etc/security/limits.conf", "ada soft nofile 777\n")
    world.make("g1")
    world.start()
    world.start_workers()
    assert world.ssh("ada@login", "ulimit -n; srun -w w0 sh -c 'ulimit -n'").split() == ["777", "777"]
