"""Figures of the Slurm library and of the exporter, beside Slinky's Go client and curl: a real slurmctld with ten thousand nodes and
as many held jobs, and its slurmrestd, in namespaces of their own (test/slurm/run-slurm).

All three take the same list in turns. They are measured from outside: what the kernel counts of a process that has ended. A
slurmrestd answers with 50,000 jobs in no bearable time, so that the exporter gets those from an answer that was stored.
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from figures import CannotMeasure, percentile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "release" / "bin"
OURS, GO = BIN / "bench_slurm_list", ROOT / "build" / "tools" / "go-slurm-client"
ROUNDS = int(os.environ.get("ROUNDS", 5))
STORED = pathlib.Path(__file__).with_name("slurm") / "stored.py"
NODES, JOBS, STORED_TIMES, SCRAPES = 10_000, 10_000, 5, 300
LIMIT_SECONDS = 300  # of any single step
GROUP = "slurm"
CONF = ("MaxNodeCount=11000", "MaxJobCount=60000",
        f"NodeName=c[00001-{NODES:05}] CPUs=64 RealMemory=256000 State=CLOUD", "PartitionName=cloud Nodes=c[00001-10000]")


# --- Inside the namespaces -----------------------------------------------------------------------------------------------------

def finished(words, **options):
    """What a program takes to its end: seconds, seconds of processor, and what it said."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True, **options)
    killer = threading.Timer(LIMIT_SECONDS, process.kill)
    killer.start()
    try:
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
    finally:
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{words[0]}: status {process.returncode}"
    return {"s": time.monotonic() - began, "cpu_s": used.ru_utime + used.ru_stime, "said": said}


def token():
    return subprocess.run([os.environ["SLURM_EXEC"], "scontrol", "token", "lifespan=7200"], check=True, capture_output=True,
                          text=True, timeout=LIMIT_SECONDS).stdout.strip().removeprefix("SLURM_JWT=")


def submit():
    each = JOBS // 4
    loop = f"i=0; while [ $i -lt {each} ]; do sbatch -Q --hold -D /tmp --wrap true || exit 1; i=$((i + 1)); done"
    loops = [subprocess.Popen([os.environ["SLURM_EXEC"], "sh", "-c", loop], stdout=subprocess.DEVNULL) for _ in range(4)]
    assert all(loop.wait(2 * LIMIT_SECONDS) == 0 for loop in loops), "jobs are refused"


def peak_mib(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def get(address, path):
    """None: there is no answer yet."""
    try:
        connection = http.client.HTTPConnection(address, timeout=LIMIT_SECONDS)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200 and text, f"{path}: {answer.status}"
        return text
    except OSError:
        return None


def scraped(server, jobs, folder):
    """The 99th percentile of a scrape in milliseconds, and MiB at most, of an exporter that has read that many jobs twice."""
    metrics, health = "127.0.0.1:19080", "127.0.0.1:19081"
    with open(folder + "/exporter.log", "w") as log:
        exporter = subprocess.Popen([BIN / "capstan", "exporter", "--server", server, "--metrics-bind-address", metrics,
                                     "--health-probe-bind-address", health], stderr=log)
    try:
        def wait_for(done, what):
            deadline = time.monotonic() + LIMIT_SECONDS
            while not done(get(metrics, "/metrics") or ""):
                log = pathlib.Path(folder + "/exporter.log").read_text()[-2000:]
                assert exporter.poll() is None and time.monotonic() < deadline, f"no {what}:\n{log}"
                time.sleep(0.5)

        def age(text):
            found = re.search(r'snapshot_age_seconds\{collector="jobs"\} ([\d.]+)', text)
            return float(found.group(1)) if found else 0
        wait_for(lambda text: f"\nslurm_jobs_total {jobs}\n" in text, "jobs")
        before = []
        wait_for(lambda text: before.append(age(text)) or len(before) > 1 and before[-1] < before[-2], "second list of jobs")
        took = []
        for _ in range(SCRAPES):
            began = time.monotonic()
            assert get(metrics, "/metrics"), "a scrape was refused"
            took.append(1000 * (time.monotonic() - began))
            time.sleep(0.02)
        return percentile(took, 99), peak_mib(exporter.pid)
    finally:
        exporter.terminate()
        exporter.wait(30)


def stored(server, environment):
    """The address of a slurmrestd that answers as this one did, with the jobs several times; and its process."""
    process = subprocess.Popen([sys.executable, STORED, server, str(STORED_TIMES)], env=environment, stdout=subprocess.PIPE, text=True)
    return process.stdout.readline().strip(), process


def inside(result):
    server, key = os.environ["SLURMRESTD_URL"], token()
    environment = os.environ | {"SLURM_JWT": key}
    with tempfile.TemporaryDirectory(prefix="capstan-bench-") as folder:
        header = pathlib.Path(folder, "header")
        header.write_text(f"X-SLURM-USER-TOKEN: {key}\n")
        print(f"   submitting {JOBS} jobs", flush=True)
        submit()
        runs = {"ours": [], "go": [], "curl": []}
        for _ in range(ROUNDS):
            for name, words in (("ours", [OURS, server, "jobs"]), ("go", [GO, server, "jobs"]),
                                ("curl", ["curl", "-sf", "-o", "/dev/null", "-H", f"@{header}", f"{server}/slurm/v0.0.44/jobs/?flags=ALL"])):
                runs[name].append(finished(words, env=environment))
                print(f"   {name}: {runs[name][-1]}", flush=True)
        nodes = [finished([OURS, server, "nodes"], env=environment) for _ in range(ROUNDS)]
        print(f"   nodes: {nodes[-1]}", flush=True)
        names = [finished([OURS, "hostlist"]) for _ in range(ROUNDS)]
        os.environ["SLURM_JWT"] = key
        live = scraped(server, JOBS, folder)
        print(f"   exporter: {live}", flush=True)
        address, process = stored(server, environment)
        try:
            many = scraped(address, STORED_TIMES * JOBS, folder)
        finally:
            process.kill()
            process.wait()
        print(f"   exporter, stored: {many}", flush=True)
    pathlib.Path(result).write_text(json.dumps({"jobs": runs, "nodes": nodes, "names": names, "live": live, "stored": many}))


# --- Outside ----------------------------------------------------------------------------------------------------------------------

def prepare():
    if shutil.which("curl") is None:
        raise CannotMeasure("curl is missing")
    module = subprocess.run(["go", "list", "-m"], cwd=ROOT / "bench/go-slurm-client", capture_output=True, text=True, check=False)
    if module.returncode != 0:
        raise CannotMeasure(f"the Go client to compare with cannot be built ({module.stderr.strip()})")
    subprocess.run(["dev/slurm-root"], cwd=ROOT, check=True)
    subprocess.run(["dev/tools", "go-slurm-client"], cwd=ROOT, check=True)
    subprocess.run(["dev/build", "release", "bench_slurm_list", "capstan"], cwd=ROOT, check=True)


def word(run, line, place):
    """A word of a line that a program said."""
    return float(next(said for said in run["said"].splitlines() if said.startswith(line)).split()[place])


def measure(figures):
    with tempfile.TemporaryDirectory(prefix="capstan-bench-") as folder:
        result = pathlib.Path(folder, "result.json")
        confs = [item for line in CONF for item in ("--conf", line)]
        subprocess.run([ROOT / "test/slurm/run-slurm", "--timeout", "120", *confs, "--", sys.executable, __file__, result], check=True, timeout=3600)
        got = json.loads(result.read_text())
    ours, go, curl = (got["jobs"][name] for name in ("ours", "go", "curl"))
    assert all(word(run, "listed", 1) == JOBS for run in ours + go), "not all jobs were listed"
    column = lambda runs, name: [run[name] for run in runs]
    figures.add_ratio("jobs_list_10k_cpu_ratio_go", column(ours, "cpu_s"), column(go, "cpu_s"), "<= 0.1", GROUP)
    figures.add_both("jobs_list_10k_cpu_ms", [1000 * run["cpu_s"] for run in ours], [1000 * run["cpu_s"] for run in go], "ms", "-", GROUP)
    peaks, go_peaks = ([word(run, "peak", 1) for run in runs] for runs in (ours, go))
    figures.add_ratio("jobs_list_10k_rss_ratio_go", peaks, go_peaks, "<= 0.125", GROUP)
    figures.add_both("jobs_list_10k_rss_mib", peaks, go_peaks, "MiB", "-", GROUP)
    figures.add("jobs_list_10k_wall_over_curl", [a["s"] / b["s"] for a, b in zip(ours, curl)], "", "<= 1.05", GROUP)
    figures.add("snapshot_retained_mib_10k_jobs", [word(run, "listed", 3) for run in ours], "MiB", "<= 3", GROUP)
    figures.add("refresh_unchanged_cpu_ms", [word(run, "unchanged", 1) for run in got["nodes"]], "ms", "<= 2", GROUP)
    figures.add("exporter_scrape_ms_p99", [max(got["live"][0], got["stored"][0])], "ms", "<= 10", GROUP)
    figures.add("exporter_rss_mib", [got["live"][1]], "MiB", "<= 60", GROUP)
    figures.add("exporter_rss_mib_50k_jobs", [got["stored"][1]], "MiB", "<= 60", GROUP)
    figures.add("hostlist_expand_1m_names_ms", [word(run, "expanded", 2) for run in got["names"]], "ms", "<= 100", GROUP)


GROUPS = {GROUP: measure}

if __name__ == "__main__":
    inside(sys.argv[1])
