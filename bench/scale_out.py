"""What a scale-out costs the operator's own code, beside a modelled API server (bench/operator/scale_out.cc), and what one look
at a large NodeSet does (bench/operator/decide.cc), and one at the worst texts that a Controller may have
(bench/operator/worst_text.cc)."""
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


def worst_texts():
    """By text, what one Decide takes: milliseconds, and MiB."""
    text = subprocess.run([BIN / "bench_worst_text", "9"], check=True, capture_output=True, text=True).stdout
    return {name: (float(took), float(kib) / 1024) for name, took, kib in (line.split() for line in text.splitlines())}


def measure_texts(figures):
    looks = [worst_texts().values() for _ in range(ROUNDS)]
    figures.add("decide_worst_text_ms", [max(took for took, _ in look) for look in looks], "ms", "<= 50", "texts")
    figures.add("decide_worst_text_rss_mib", [max(mib for _, mib in look) for look in looks], "MiB", "<= 32", "texts")


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
    subprocess.run(["dev/build", "release", "bench_scale_out", "bench_decide", "bench_worst_text"], cwd=ROOT, check=True)


GROUPS = {"scale": measure_scale, "texts": measure_texts}
