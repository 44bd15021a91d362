"""capstan-entry in the oldest root file system that can be had: it is copied into other people's images."""
import os
import signal
import subprocess
import time

import pytest

CLONE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
ENTRY = CLONE + "/build/release/bin/capstan-entry"
DAEMON = """#!/bin/sh
trap 'exit 7' TERM
echo "$@" > /tmp/arguments
while :; do sleep 0.05; done
"""


@pytest.fixture
def old_root(tmp_path):
    """A chroot command for a throw-away copy (an overlay) of the oldest root."""
    made = subprocess.run([CLONE + "/dev/slurm-oldest-root"], text=True, stdout=subprocess.PIPE)
    assert made.returncode == 0
    suite, root = made.stdout.split()
    assert suite in ("buster", "bullseye"), f"{suite} is no older than what this is built on"
    for name in ("upper", "work", "root"):
        (tmp_path / name).mkdir()
    subprocess.run(["mount", "-t", "overlay", "-o", f"lowerdir={root},upperdir={tmp_path}/upper,workdir={tmp_path}/work",
                    "overlay", tmp_path / "root"], check=True)
    try:
        yield tmp_path / "root"
    finally:
        subprocess.run(["umount", "-l", tmp_path / "root"], check=True)


def test_runs_in_a_root_file_system_of_years_ago(old_root):
    for path, text in (("usr/sbin/slurmctld", DAEMON.encode()), ("usr/local/bin/capstan-entry", open(ENTRY, "rb").read())):
        (old_root / path).write_bytes(text)
        (old_root / path).chmod(0o755)
    entry = subprocess.Popen(["chroot", old_root, "/usr/local/bin/capstan-entry", "slurmctld", "-v"])
    deadline = time.monotonic() + 15
    while not (old_root / "tmp/arguments").exists() or not (old_root / "tmp/arguments").read_text():
        assert time.monotonic() < deadline and entry.poll() is None
        time.sleep(0.01)
    assert (old_root / "tmp/arguments").read_text() == "--systemd -v\n"
    assert (old_root / "run/slurmctld").stat().st_uid == 401
    entry.send_signal(signal.SIGTERM)
    assert entry.wait(15) == 7
