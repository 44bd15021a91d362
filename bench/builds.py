"""How large Capstan is, and what compiling it takes on this machine, without a cache."""
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


def product_lines():
    """Of src, comments and blank lines included; without tests and test kits."""
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    product = [path for path in tracked.splitlines()
               if path.endswith((".h", ".cc")) and "/testing/" not in path and not path.endswith(("_test.h", "_test.cc"))]
    return sum((ROOT / path).read_text().count("\n") for path in product)


def measure_build(figures):
    figures.add("product_lines", [product_lines()], "lines", "-", "build")
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
