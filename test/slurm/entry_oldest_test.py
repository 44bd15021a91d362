"""capstan-entry in the oldest root file system that can be had: it is copied into other people's images."""
import os
import signal
import subprocess
import time

import pytest
from patience import patient

CLONE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
ENTRY = CLONE + "/build/release/bin/capstan-entry"
DAEMON = """#!/bin/sh
trap 'exit 7' TERM
echo "$@" > /tmp/arguments
while :; do sleep 0.05; done
"""


@pytest.fixture
def old_root(tmp_path):
    """The upper folder of a throw-away copy (an overlay) of the oldest root, and the command that changes its root to that copy.
    Only the command's own mount namespace has the overlay: it goes with it, however that ends."""
    made = subprocess.run([CLONE + "/dev/slurm-oldest-root"], text=True, stdout=subprocess.PIPE, check=True)
    suite, root = made.stdout.split()
    assert suite in ("buster", "bullseye"), f"{suite} is no older than what this is built on"
    for name in ("upper", "work", "root"):
        (tmp_path / name).mkdir()
    return tmp_path / "upper", [
        "unshare", "--mount", "--propagation", "private", "sh", "-ec", 'mount -t overlay -o "$1" overlay "$2"; shift; exec chroot "$@"',
        "-", f"lowerdir={root},upperdir={tmp_path}/upper,workdir={tmp_path}/work", tmp_path / "root"]


def test_runs_in_a_root_file_system_of_years_ago(old_root):
    upper, change_root = old_root
    for path, text in (("usr/sbin/slurmctld", DAEMON.encode()), ("usr/local/bin/capstan-entry", open(ENTRY, "rb").read())):
        (upper / path).parent.mkdir(parents=True)
        (upper / path).write_bytes(text)
        (upper / path).chmod(0o755)
    entry = subprocess.Popen([*change_root, "/usr/local/bin/capstan-entry", "slurmctld", "-v"])
    said = upper / "tmp/arguments"
    deadline = time.monotonic() + patient(15)
    while not said.exists() or not said.read_text():
        assert time.monotonic() < deadline and entry.poll() is None
        time.sleep(0.01)
    assert said.read_text() == "--systemd -v\n"
    assert (upper / "run/slurmctld").stat().st_uid == 401
    entry.send_signal(signal.SIGTERM)
    assert entry.wait(patient(15)) == 7
