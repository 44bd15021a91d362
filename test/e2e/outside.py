"""A machine outside of Kubernetes: it is below a node, whose network pods reach, and has files and processes of its own."""
import os
import pathlib
import subprocess
import sys

import lab as labs

sys.path.insert(0, str(labs.ROOT / "test/slurm"))

from image import Image  # noqa: E402

MACHINE, ADDRESS = "node1", "172.30.0.11"
EXEC = f"/{MACHINE}/exec"  # the cgroup of what is started there
SLURM = 401  # uid
DAEMONS = ("mariadbd", "slurmdbd", "slurmctld", "slurmd")
# A machine's files, name and processes, in the network of the one it is started on.
START = r"""
folder=$1 image=$2 user=$3; shift 3
mkdir "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=$image,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
mount -t proc proc "$folder/root/proc"
mount --rbind /dev "$folder/root/dev"
hostname outside
chroot --userspec "$user" "$folder/root" "$@" &
wait  # the kernel ends it with this process, which must not become another user's
"""


class Outside:
    """Runs programs of our images there, on a machine that is called "outside"."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.running = {}

    def write(self, program, path, data, owner):
        """A file of a program's machine, and its folder, of this owner; before it starts."""
        place = self.folder / program / "upper" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        place.chmod(0o600)
        os.chown(place, owner, owner)
        os.chown(place.parent, owner, owner)

    def start(self, program, argv=None, user=None, hosts=""):
        """The image's entrypoint with its user, or these; `hosts`: further lines of /etc/hosts."""
        image = Image(program)
        folder = self.folder / program
        (folder / "upper/etc").mkdir(parents=True, exist_ok=True)
        (folder / "upper/etc/hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} outside\n{hosts}")
        words = ["dev/cluster", "join", MACHINE, "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
                 "bash", "-euc", START, "-", folder, image.root(), user or image.config["User"], *(argv or image.config["Entrypoint"])]
        with open(folder / "log", "wb") as log:
            self.running[program] = subprocess.Popen([str(word) for word in words], cwd=labs.ROOT, stdin=subprocess.DEVNULL,
                                                     stdout=log, stderr=log)

    def run(self, daemon, *words):
        """A command where this daemon runs, as root."""
        pid = labs.processes(daemon, within=[EXEC])[0]
        return labs.run("nsenter", "--target", pid, "--mount", "--net", "--uts", "--pid", "--root", "--wd", *words, check=False)

    def stop(self):
        for process in self.running.values():
            process.kill()
            process.wait()
        labs.wait_for("they have ended", lambda: not any(labs.processes(name, within=[EXEC]) for name in DAEMONS), 10)

    def said(self):
        return "\n".join(log.read_text(errors="replace") for log in self.folder.glob("*/log"))
