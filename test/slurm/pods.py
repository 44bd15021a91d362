"""Containers from our images without Kubernetes: each in namespaces of its own, on one bridge that leads nowhere.

A pod here is one container: the image's entrypoint as process 1, with its user, on an overlay over the image's files; a
host name, and an address by which all others know it. Everything ends with the Pods, or with this process.
"""
import functools
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from image import Image
from patience import patient

# A range for documentation, which nobody routes, and not the one of run-slurm.
NETWORK = "203.0.113."
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
# What containerd leaves to a container that is not privileged.
CAPABILITIES = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "net_bind_service", "net_raw",
                "sys_chroot", "mknod", "audit_write", "setfcap")
# Its cgroup is the root of all that it sees there, as with containerd.
JOIN = 'cgroup=$1; for controller in $2; do echo $$ > "/sys/fs/cgroup/$controller/$cgroup/cgroup.procs"; done; shift 2; exec "$@"'
# The script waits for its network, mounts what a container has, and becomes the entrypoint.
START = r'''
name=$1 root=$2 controllers=$3; shift 3
hostname "$name"
until ip -o addr show dev eth0 2> /dev/null | grep -q 'inet '; do sleep 0.02; done
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do : > "$root/dev/$device"; mount --bind "/dev/$device" "$root/dev/$device"; done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount --bind /sys "$root/sys"
if [ -n "$controllers" ]; then mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"; fi
for controller in $controllers; do
  mkdir "$root/sys/fs/cgroup/$controller"
  mount -t cgroup -o "$controller" cgroup "$root/sys/fs/cgroup/$controller"
done
cd "$root"
mkdir -p .before
pivot_root . .before  # in a mere chroot nobody could make a user namespace
umount -l /.before
rmdir /.before
exec "$@"
'''


built = functools.cache(Image)


class Pods:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="capstan-pods-")
        self.pods, self.hosts = {}, {}
        # In memory: databases and overlays work there as on a disk, and go with the namespace.
        self.holder = start(["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
                             f'mount -t tmpfs -o mode=755 tmpfs "{self.folder}"; ip link set lo up; '
                             f'ip link add br0 type bridge; ip addr add {NETWORK}1/24 dev br0; ip link set br0 up; '
                             f'mkdir "{self.folder}/up"; exec sleep infinity'])
        await_that(lambda: child(self.holder.pid), "process 1 of all")
        self.init = child(self.holder.pid)
        await_that(lambda: self.within("test", "-d", self.folder + "/up").returncode == 0, "the bridge")

    def within(self, *argv):
        """A command in the namespaces that all pods are made in."""
        return subprocess.run(["nsenter", "-t", str(self.init), "-n", "-m", *argv], capture_output=True, text=True)

    def path(self, *parts):
        """A path as others than the pods' namespaces see it."""
        return os.path.join(f"/proc/{self.init}/root{self.folder}", *parts)

    def add(self, name, image):
        """A pod that does not run yet. Add all before one starts: they know each other's names."""
        pod = Pod(self, name, built(image), f"{NETWORK}{10 + len(self.pods)}")
        self.pods[name], self.hosts[name] = pod, pod.address
        return pod

    def share(self, path, *pods):
        """An emptyDir that these pods have at this path, as with an fsGroup: the folder is the group's. Before they start."""
        folder = f"{self.folder}/shared{path}"
        os.makedirs(self.path("shared" + path), exist_ok=True)
        os.chown(self.path("shared" + path), 0, 401)
        os.chmod(self.path("shared" + path), 0o2777)
        self.bind(folder, path, *pods)

    def bind(self, source, path, *pods):
        """What is at `source` in the namespaces that all pods are made in, at this path in these pods. Before they start."""
        for pod in pods:
            os.makedirs(pod.root + path, exist_ok=True)
            made = self.within("mount", "--bind", source, pod.inner_root + path)
            assert made.returncode == 0, made.stderr

    def stop(self):
        os.kill(self.init, signal.SIGKILL)  # the kernel ends all others with it
        self.holder.wait()
        for pod in self.pods.values():
            for controller in pod.controllers:
                for folder, _, _ in os.walk(f"/sys/fs/cgroup/{controller}/{pod.cgroup}", topdown=False):
                    os.rmdir(folder)
        shutil.rmtree(self.folder, ignore_errors=True)


class Pod:
    def __init__(self, pods, name, image, address):
        self.pods, self.name, self.address = pods, name, address
        self.entrypoint = image.config["Entrypoint"]
        self.index = len(pods.pods)
        self.mac = f"02:00:00:00:00:{self.index:02x}"  # the same in its next life: others remember it
        self.root = pods.path(name, "root")
        self.log = pods.path(name, "log")
        self.process = None
        inner = f"{pods.folder}/{name}"
        for folder in ("upper", "work", "root"):
            os.makedirs(pods.path(name, folder))
        made = pods.within("mount", "-t", "overlay", "overlay", "-o",
                            f"lowerdir={image.root()},upperdir={inner}/upper,workdir={inner}/work", inner + "/root")
        assert made.returncode == 0, made.stderr
        self.inner_root = inner + "/root"
        self.user = image.config.get("User") or "0:0"
        self.privileged = False
        self.capabilities = ()  # besides those that a container has
        self.controllers = ()  # of cgroup v1, which the pod sees and may write to
        self.cgroup = f"capstan-{os.getpid()}-{name}"

    def write(self, path, data, mode=0o644, owner=0):
        data = data.encode() if isinstance(data, str) else data
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.chmod(path + ".new", mode)
        os.chown(path + ".new", owner, owner)
        os.rename(path + ".new", path)

    def folder(self, path, owner=0, mode=0o755):
        os.makedirs(self.root + path, exist_ok=True)
        os.chown(self.root + path, owner, owner)
        os.chmod(self.root + path, mode)

    def read(self, path):
        with open(self.root + path) as file:
            return file.read()

    def start(self, *arguments, **environment):
        """Starts the image's entrypoint with these arguments, as a kubelet would; it may end at once."""
        self.write("/etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in self.pods.hosts.items()))
        for controller in self.controllers:
            os.makedirs(f"/sys/fs/cgroup/{controller}/{self.cgroup}", exist_ok=True)
        controllers = " ".join(self.controllers)
        self.process = start(
            ["nsenter", "-t", str(self.pods.init), "-n", "-m", "-p", "sh", "-euc", JOIN, "-", self.cgroup, controllers, "unshare",
             "--net", "--uts", "--ipc", "--pid", "--mount", "--cgroup", "--fork", "--kill-child", "bash", "-euc", START, "-",
             self.name, self.inner_root, controllers, *self.limits(), "chroot", "--userspec", self.user, "--groups",
             self.user.split(":")[1], "/", *self.entrypoint, *arguments], env={**ENVIRONMENT, **environment}, log=self.log)
        await_that(self.pid, f"process 1 of {self.name}")
        link = f"v{self.index}"
        self.pods.within("ip", "link", "del", link)  # of its life before
        for words in (["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "address", self.mac,
                       "netns", str(self.pid())],
                      ["ip", "link", "set", link, "master", "br0", "up"]):
            made = self.pods.within(*words)
            assert made.returncode == 0, made.stderr
        for words in ("ip link set lo up", "ip link set eth0 up", f"ip addr add {self.address}/24 dev eth0"):
            subprocess.run(["nsenter", "-t", str(self.pid()), "-n", *words.split()], check=True)
        await_that(lambda: not self.running() or self._entered(), f"entrypoint of {self.name}", said=self.said)
        return self

    def limits(self):
        """In front of a command: the capabilities of the container, of which run() takes none away."""
        return [] if self.privileged else ["setpriv", "--bounding-set", ",".join(["-all", *("+" + c for c in (*CAPABILITIES, *self.capabilities))]),
                                           "--inh-caps", "-all"]

    def _entered(self):
        try:
            return os.path.samefile(f"/proc/{self.pid()}/root", self.root) and not os.path.exists(self.root + "/.before")
        except OSError:
            return False

    def pid(self):
        """Process 1, as this process sees it: below nsenter and unshare."""
        unshare = child(self.process.pid)
        return unshare and child(unshare)

    def command(self, *argv, user=None):
        user = user or "0:0"
        return ["nsenter", "-t", str(self.pid()), "-n", "-m", "-u", "-i", "-p", "chroot", "--userspec", user, "--groups",
                user.split(":")[1], "/", *argv]

    def run(self, *argv, user=None, check=True, timeout=60, **environment):
        """The output of a command in the pod, as kubectl exec would run it."""
        done = subprocess.run(self.command(*argv, user=user), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, timeout=timeout, env={**ENVIRONMENT, **environment})
        if check:
            assert done.returncode == 0, f"{argv}: {done.stdout}\n{self.name} said:\n{self.said()}"
            return done.stdout
        return done

    def open(self, *argv):
        """A command in the pod with pipes, as Talk."""
        return Talk(self.command(*argv))

    def running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """SIGKILL for all of it, as when a node goes."""
        os.kill(self.pid(), signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=30):
        """SIGTERM, as a kubelet sends it; the exit status."""
        os.kill(self.pid(), signal.SIGTERM)
        return self.process.wait(seconds)

    def said(self):
        with open(self.log) as file:
            return file.read()

    def await_said(self, text, seconds=30):
        self.await_that(lambda: text in self.said(), f"'{text}'", seconds)

    def await_that(self, condition, what, seconds=30):
        def alive():
            assert self.running(), f"{self.name} ended with {self.process.returncode}; it said:\n{self.said()}"
            return condition()
        await_that(alive, f"{what} in {self.name}; it said:\n", seconds, self.said)


class Talk:
    """A process that is written to and read from; both its outputs are one."""

    def __init__(self, argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=ENVIRONMENT)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.seen = ""

    def say(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def read(self):
        self.seen += (self.process.stdout.read() or b"").decode()
        return self.seen

    def await_text(self, pattern):
        await_that(lambda: re.search(pattern, self.read()), f"'{pattern}'", 30, lambda: f" in: {self.seen}")

    def end(self):
        """The exit status after the end of its input."""
        self.process.stdin.close()
        return self.process.wait(30)


def child(pid):
    """The first child of a process; None for none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return int(file.read().split()[0])
    except (IndexError, FileNotFoundError):
        return None


def start(argv, env=None, log=None):
    output = open(log, "a") if log else subprocess.DEVNULL
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *argv], env=env, stdin=subprocess.DEVNULL, stdout=output,
                            stderr=output)


def await_that(condition, what, seconds=30, said=lambda: ""):
    deadline = time.monotonic() + patient(seconds)
    while not condition():
        assert time.monotonic() < deadline, f"after {seconds} s: no {what}{said()}"
        time.sleep(0.02)
