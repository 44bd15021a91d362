"""What compiling Capstan takes on this machine, without a cache."""
import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FRESH = ROOT / "build" / "bench-fresh"
TOUCHED = ROOT / "src" / "operator" / "service.cc"
ROUNDS = int(os.environ.get("ROUNDS", 5))


def timed(*command):
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"CCACHE_DISABLE": "1"})
    return time.monotonic() - began


def measure_build(figures):
    shutil.rmtree(FRESH, ignore_errors=True)
    subprocess.run(["cmake", "--preset", "release", "-B", FRESH], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    figures.add("full_build_s", [timed("ninja", "-C", FRESH)], "s", "-", "build")
    runs = []
    for _ in range(ROUNDS):
        TOUCHED.touch()
        runs.append(timed("ninja", "-C", FRESH))
    figures.add("incremental_build_s", runs, "s", "<= 15", "build")
    shutil.rmtree(FRESH)


def prepare():
    pass


GROUPS = {"build": measure_build}
