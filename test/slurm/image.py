"""A container image, read from the archive that dev/images makes."""
import fcntl
import hashlib
import json
import os
import subprocess
import tarfile
import tempfile

CLONE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class Image:
    """An image's configuration and files; a later layer's file hides an earlier one's."""

    def __init__(self, name):
        made = subprocess.run([CLONE + "/dev/images", name], text=True, stderr=subprocess.PIPE)
        assert made.returncode == 0, made.stderr
        self.archive = f"{CLONE}/build/images/{name}.tar"
        self.files = {}
        with tarfile.open(self.archive) as archive:
            manifest, = json.load(archive.extractfile("manifest.json"))
            self.reference, = manifest["RepoTags"]
            self.layers = manifest["Layers"]
            self.config = json.load(archive.extractfile(manifest["Config"]))["config"]
            for layer in self.layers:
                with tarfile.open(fileobj=archive.extractfile(layer)) as files:
                    self._add(layer, files)

    def _add(self, layer, files):
        for member in files:
            path = os.path.normpath(member.name)
            folder, name = os.path.split(path)
            if name.startswith(".wh."):
                hidden = os.path.join(folder, name[len(".wh."):])
                self.files = {p: f for p, f in self.files.items() if p != hidden and not p.startswith(hidden + "/")}
            else:
                self.files[path] = (layer, member)

    def paths(self):
        """All but folders."""
        return {path for path, (_, member) in self.files.items() if not member.isdir()}

    def member(self, path):
        return self.files[path][1]

    def read(self, path):
        layer, member = self.files[path]
        with tarfile.open(self.archive) as archive, tarfile.open(fileobj=archive.extractfile(layer)) as files:
            return files.extractfile(member.name).read()

    def root(self):
        """A folder with all its files, made once for all images with the same layers. Nobody may change it."""
        cache = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "capstan/rootfs")
        folder = f"{cache}/image-{hashlib.sha256(' '.join(self.layers).encode()).hexdigest()[:16]}"
        with open(f"{cache}/lock", "w") as lock:  # tests run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.isdir(folder):
                work = tempfile.mkdtemp(prefix=".building.", dir=cache)
                os.chmod(work, 0o755)
                for layer in self.layers:
                    self._unpack(layer, work)
                os.rename(work, folder)
            os.utime(folder)
        return folder

    def _unpack(self, layer, folder):
        subprocess.run(["bash", "-euo", "pipefail", "-c", 'tar -xOf "$1" "$2" | tar -x --numeric-owner -C "$3"', "-",
                        self.archive, layer, folder], check=True)
        for parent, _, files in os.walk(folder):
            for name in [name for name in files if name.startswith(".wh.")]:
                os.unlink(os.path.join(parent, name))
                subprocess.run(["rm", "-rf", os.path.join(parent, name[len(".wh."):])], check=True)
