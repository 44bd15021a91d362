"""What one look of the bridge at a group of pods costs, and how often it calls for a pod's whole life: bench/bridge."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "release" / "bin"
ROUNDS = int(os.environ.get("ROUNDS", 5))


def slowest_look(pods):
    """The 99th percentile of the slowest kind of look, in milliseconds."""
    text = subprocess.run([BIN / "bench_bridge_decide", str(pods)], check=True, capture_output=True, text=True).stdout
    return max(float(line.split()[2]) for line in text.splitlines())


def calls_and_writes():
    text = subprocess.run([BIN / "bench_bridge_calls", "500"], check=True, capture_output=True, text=True).stdout
    return [float(word) for word in text.split()]


def measure_looks(figures):
    looks = [max(slowest_look(1000), slowest_look(10_000)) for _ in range(ROUNDS)]
    figures.add("bridge_decide_ms_p99", looks, "ms", "<= 1", "bridge", peer=1400)
    calls, writes = calls_and_writes()
    figures.add("bridge_slurm_calls_per_pod", [calls], "", "<= 6", "bridge")
    figures.add("bridge_writes_per_pod", [writes], "", "<= 4", "bridge")


def prepare():
    subprocess.run(["dev/build", "release", "bench_bridge_decide", "bench_bridge_calls"], cwd=ROOT, check=True)


GROUPS = {"bridge": measure_looks}
