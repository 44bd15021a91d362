"""What a scale-out costs the operator's own code, beside a modelled API server (bench/operator/scale_out.cc)."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build" / "release" / "bin" / "bench_scale_out"
ROUNDS = int(os.environ.get("ROUNDS", 5))


def milliseconds(workers):
    return float(subprocess.run([PROGRAM, str(workers)], check=True, capture_output=True, text=True).stdout)


def measure_scale(figures):
    few, many = [], []
    for _ in range(ROUNDS):
        few.append(milliseconds(100))
        many.append(milliseconds(1000))
    figures.add("nodeset_100_create_cpu_ms", few, "ms", "-", "scale")
    figures.add("nodeset_1000_create_cpu_ms", many, "ms", "<= 11 x that of 100", "scale")
    figures.add("nodeset_create_cpu_ratio", [b / a for a, b in zip(few, many)], "", "<= 11", "scale")


def prepare():
    subprocess.run(["dev/build", "release", "bench_scale_out"], cwd=ROOT, check=True)


GROUPS = {"scale": measure_scale}
