"""Figures of the runtime, beside a program on controller-runtime that does the same (go-reference/).

Both run one after the other, in turns, against one etcd and kube-apiserver on loopback that were started for this, and
are looked at from outside: lines on their standard output, CPU time and memory as the kernel counts them, and the API
server's audit log. docs/performance.md says what each key means.
"""
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "kube"))

from apiserver import ApiServer, clean_environment, die_with_parent  # noqa: E402
from figures import CannotMeasure  # noqa: E402

PROGRAMS = ROOT / "build" / "release" / "bin"
ROUNDS = int(os.environ.get("ROUNDS", 5))
PODS, SECRETS, NODES = 5000, 5000, 1000
SOURCES = 1000
TOUCHES = 3000
CHANGES_PER_S, CHANGES = 50, 400
IDLE_SECONDS = 15
SETTLE_SECONDS = 6  # after everything has been listed, until memory is looked at
PAUSE_SECONDS = 3   # between a burst of writes and what is measured after it
LIMIT_SECONDS = 120  # of any single step

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "verbs": ["patch"],
               "resources": [{"group": "", "resources": ["configmaps"]},
                             {"group": "bench.example.com", "resources": ["sources"]}]},
              {"level": "None"}],
}


@contextlib.contextmanager
def server(**objects):
    """An API server that holds so many objects of each kind."""
    with tempfile.TemporaryDirectory(prefix="capstan-bench-") as folder:
        policy = pathlib.Path(folder, "policy.json")
        policy.write_text(json.dumps(AUDIT_POLICY))
        flags = (f"--audit-policy-file={policy}", f"--audit-log-path={folder}/audit.log")
        with ApiServer(flags=flags) as running:
            running.audit_log = pathlib.Path(folder, "audit.log")
            print(f"   making {objects}", flush=True)
            load(running, "fill", "--objects", ROOT / "bench/runtime/objects",
                 *(f"--{kind}={count}" for kind, count in objects.items()))
            yield running


def load(running, *arguments):
    subprocess.run([PROGRAMS / "bench_load", *arguments], check=True, timeout=LIMIT_SECONDS,
                   env=clean_environment() | {"KUBECONFIG": str(running.kubeconfig)})


def cpu_s(pid):
    """CPU time that a process and its threads have spent, to the nanosecond: the kernel's clock of that process."""
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


class Program:
    """One run of a reference program; ended with SIGTERM."""

    def __init__(self, running, path, *arguments):
        environment = clean_environment() | {"KUBECONFIG": str(running.kubeconfig)}
        self.began = time.monotonic()
        self.process = subprocess.Popen([path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment, preexec_fn=die_with_parent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """The rest of what it says."""
        if self.process.returncode is not None:
            return ""
        self.process.terminate()
        rest, _ = self.process.communicate(timeout=30)
        return rest

    def wait_for(self, line):
        """Seconds from its start to this line."""
        killer = threading.Timer(LIMIT_SECONDS, self.process.kill)
        killer.start()
        try:
            for said in self.process.stdout:
                if said.strip() == line:
                    return time.monotonic() - self.began
            raise RuntimeError(f"{self.process.args[0]} did not say \"{line}\" within {LIMIT_SECONDS} s")
        finally:
            killer.cancel()

    def cpu_s(self):
        return cpu_s(self.process.pid)

    def mib(self, field):
        """VmRSS, VmHWM."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith(field + ":")).split()[1]) / 1024


OURS = PROGRAMS / "bench_reference"
GO = ROOT / "build" / "tools" / "go-reference"


def rounds(measure):
    """`measure(path, round)` in turns: ([ours...], [the Go program's...])."""
    results = {OURS: [], GO: []}
    for number in range(ROUNDS):
        for path in results:
            results[path].append(measure(path, number))
            print(f"   {path.name}: {results[path][-1]}", flush=True)
    return results[OURS], results[GO]


def column(runs, name):
    return [run[name] for run in runs]


# --- start: listing everything ---------------------------------------------------------------------------------------------

def measure_start(figures):
    with server(pods=PODS, secrets=SECRETS, nodes=NODES) as running:
        for path in (OURS, GO):  # the API server's first lists are slower than all later ones
            with Program(running, path) as program:
                program.wait_for("synced")

        def once(path, _):
            server_before = cpu_s(running.pid("kube-apiserver"))
            with Program(running, path) as program:
                ms = 1000 * program.wait_for("synced")
                cpu_ms = 1000 * program.cpu_s()
                server_ms = 1000 * (cpu_s(running.pid("kube-apiserver")) - server_before)
                time.sleep(SETTLE_SECONDS)
                return {"ms": ms, "cpu_ms": cpu_ms, "server_cpu_ms": server_ms, "mib": program.mib("VmRSS"),
                        "peak_mib": program.mib("VmHWM")}

        ours, go = rounds(once)
        with Program(running, OURS, "--bytes-per-pod") as program:
            said, _ = program.process.communicate(timeout=LIMIT_SECONDS)
    figures.add_ratio("start_to_synced_ratio_go", column(ours, "ms"), column(go, "ms"), "<= 0.333", "start")
    figures.add_both("start_to_synced_ms", column(ours, "ms"), column(go, "ms"), "ms", "-", "start")
    figures.add_both("start_cpu_ms", column(ours, "cpu_ms"), column(go, "cpu_ms"), "ms", "-", "start")
    figures.add_both("start_apiserver_cpu_ms", column(ours, "server_cpu_ms"), column(go, "server_cpu_ms"), "ms", "-",
                     "start")
    figures.add_ratio("rss_synced_ratio_go", column(ours, "mib"), column(go, "mib"), "<= 0.125", "start")
    figures.add_both("rss_synced_mib", column(ours, "mib"), column(go, "mib"), "MiB", "-", "start")
    figures.add_both("rss_peak_over_steady", [run["peak_mib"] / run["mib"] for run in ours],
                     [run["peak_mib"] / run["mib"] for run in go], "", "<= 1.2", "start")
    figures.add("bytes_per_projected_pod", [float(said.split()[1])], "B", "<= 300", "start")


# --- watch: changes that lead to nothing, and none at all -------------------------------------------------------------------

def measure_watch(figures):
    with server(pods=PODS, secrets=SECRETS, nodes=NODES) as running:
        def once(path, number):
            with Program(running, path) as program:
                program.wait_for("synced")
                time.sleep(SETTLE_SECONDS)
                before = program.cpu_s()
                load(running, "touch", f"--pods={PODS}", f"--count={TOUCHES}",
                     f"--text={path.name}-{number}")
                time.sleep(1)
                busy = program.cpu_s() - before
                time.sleep(SETTLE_SECONDS)
                before = program.cpu_s()
                time.sleep(IDLE_SECONDS)
                return {"objects": TOUCHES / busy, "idle": 1000 * (program.cpu_s() - before) / IDLE_SECONDS}

        ours, go = rounds(once)
    ratio = [mine / its for mine, its in zip(column(ours, "objects"), column(go, "objects"))]
    figures.add("watch_objects_per_cpu_s_ratio_go", ratio, "", ">= 5", "watch")
    figures.add_both("watch_objects_per_cpu_s", column(ours, "objects"), column(go, "objects"), "/s", "-", "watch")
    figures.add_both("cpu_ms_per_s_idle", column(ours, "idle"), column(go, "idle"), "ms/s", "<= 0.3", "watch")


# --- writes: from a change to what follows from it ---------------------------------------------------------------------------

def event_to_write_ms(log):
    """From the arrival of a change of a Source at the API server to the end of the write that follows it."""
    changed, took = {}, []
    # The log is in the order in which requests ended: what follows from a change may end before it.
    for event in sorted(map(json.loads, log.splitlines()), key=lambda event: event["requestReceivedTimestamp"]):
        name = event["objectRef"]["name"]
        if event["responseStatus"]["code"] >= 300:
            continue
        if event["objectRef"]["resource"] == "sources":
            changed[name] = moment(event["requestReceivedTimestamp"])
        elif name in changed:
            took.append(1000 * (moment(event["stageTimestamp"]) - changed.pop(name)))
    return took


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def measure_writes(figures):
    with server(sources=SOURCES) as running:
        def rewrite(path, prefix):
            """All dependents are wrong at its start: how fast, and with how much of our time, they become right."""
            with Program(running, path, f"--prefix={prefix}", f"--expect={SOURCES}") as program:
                program.wait_for("synced")
                began, before = time.monotonic(), program.cpu_s()
                program.wait_for(f"wrote {SOURCES}")
                return {"per_s": SOURCES / (time.monotonic() - began), "cpu_s": program.cpu_s() - before}

        def follow(path, number):
            """The same Sources change one after the other."""
            name = f"{path.name}-{number}"
            with Program(running, path, f"--prefix={name}-", f"--expect={SOURCES}") as program:
                program.wait_for(f"wrote {SOURCES}")
                time.sleep(PAUSE_SECONDS)
                from_here = running.audit_log.stat().st_size
                change(name)
                text = running.audit_log.read_bytes()[from_here:].decode()
                took = event_to_write_ms(text)
                assert len(took) > 0.99 * CHANGES, f"{len(took)} of {CHANGES} changes were followed"
                return {"p50": percentile(took, 50), "p99": percentile(took, 99)}

        def change(text):
            load(running, "change", f"--sources={SOURCES}", f"--rate={CHANGES_PER_S}", f"--count={CHANGES}",
                 f"--text={text}")
            time.sleep(1)

        for path in (OURS, GO):  # makes the dependents; both programs' fields are there from now on
            rewrite(path, f"first-{path.name}")
        ours, go = rounds(lambda path, number: rewrite(path, f"{path.name}-{number}-"))
        figures.add_ratio("reconcile_cpu_ratio_go", column(ours, "cpu_s"), column(go, "cpu_s"), "<= 0.2", "writes")
        figures.add_both("reconcile_cpu_s_per_1000", column(ours, "cpu_s"), column(go, "cpu_s"), "s", "-", "writes")
        figures.add_ratio("reconciles_per_s_ratio_go", column(ours, "per_s"), column(go, "per_s"), ">= 1", "writes")
        figures.add_both("reconciles_per_s", column(ours, "per_s"), column(go, "per_s"), "/s", "-", "writes")
        ours, go = rounds(follow)
        figures.add_both("event_to_write_ms_p50", column(ours, "p50"), column(go, "p50"), "ms", "<= 8", "writes")
        figures.add_both("event_to_write_ms_p99", column(ours, "p99"), column(go, "p99"), "ms", "<= 25", "writes")
        latencies = []
        for number in range(ROUNDS):
            with Program(running, OURS, "--latency", f"--expect={SOURCES}") as program:
                program.wait_for(f"wrote {SOURCES}")
                time.sleep(PAUSE_SECONDS)
                change(f"latency-{number}")
                lines = program.stop().split("\n")
            took = [float(line.split()[1]) for line in lines if line.startswith("latency ")]
            assert len(took) > 0.99 * CHANGES, f"{len(took)} of {CHANGES} changes were followed"
            latencies.append({"p50": percentile(took, 50), "p99": percentile(took, 99)})
        figures.add("own_latency_us_p50", column(latencies, "p50"), "us", "-", "writes")
        figures.add("own_latency_us_p99", column(latencies, "p99"), "us", "<= 500", "writes")


def prepare():
    # Of all Go here this alone may need a newer one than what bootstrap asks for; go says so of the module by itself.
    module = subprocess.run(["go", "list", "-m"], cwd=ROOT / "bench/go-reference", capture_output=True, text=True,
                            check=False)
    if module.returncode != 0:
        raise CannotMeasure(f"the Go program to compare with cannot be built ({module.stderr.strip()})")
    subprocess.run(["dev/tools", "etcd", "kube-apiserver", "kubectl", "go-reference"], cwd=ROOT, check=True)
    subprocess.run(["dev/build", "release", "bench_reference", "bench_load"], cwd=ROOT, check=True)


GROUPS = {"start": measure_start, "watch": measure_watch, "writes": measure_writes}
