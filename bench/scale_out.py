"""What a scale-out costs the operator's own code, beside a modelled API server (bench/operator/scale_out.cc), and what one look
at a large NodeSet does (bench/operator/decide.cc)."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "release" / "bin"
PROGRAM = BIN / "bench_scale_out"
ROUNDS = int(os.environ.get("ROUNDS", 5))


def milliseconds(workers):
    return float(subprocess.run([PROGRAM, str(workers)], check=True, capture_output=True, text=True).stdout)


def decides(workers):
    """By situation, what one Decide takes."""
    text = subprocess.run([BIN / "bench_decide", str(workers), "31"], check=True, capture_output=True, text=True).stdout
    return {name: float(took) for name, took in (line.split() for line in text.splitlines())}


def measure_scale(figures):
    few, many = [], []
    for _ in range(ROUNDS):
        few.append(milliseconds(100))
        many.append(milliseconds(1000))
    figures.add("nodeset_100_create_cpu_ms", few, "ms", "-", "scale")
    figures.add("nodeset_1000_create_cpu_ms", many, "ms", "<= 11 x that of 100", "scale")
    looks = [decides(1000) for _ in range(ROUNDS)]
    figures.add("nodeset_1000_decide_ms", [max(look.values()) for look in looks], "ms", "<= 5", "scale")
    figures.add("nodeset_create_cpu_ratio", [b / a for a, b in zip(few, many)], "", "<= 11", "scale")


def prepare():
    subprocess.run(["dev/build", "release", "bench_scale_out", "bench_decide"], cwd=ROOT, check=True)


GROUPS = {"scale": measure_scale}
