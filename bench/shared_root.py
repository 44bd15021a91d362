"""Figures of a shared root: what filling one takes, and what it costs sessions and steps, on the local cluster."""
import json
import shutil
import statistics
import subprocess
import time

import cluster
import yaml

IMAGES = (*cluster.IMAGES, "login")
EXAMPLE = yaml.safe_load((cluster.ROOT / "examples/slurmcluster/shared-root.yaml").read_text())
FOLDER = cluster.ROOT / "build" / "bench-root"
SESSIONS = 30
STEPS = 30


def prepare():
    cluster.prepare(IMAGES)


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=120).stdout


# --- Filling -------------------------------------------------------------------------------------------------------------

def measure_fill(figures):
    """The root of real Slurm for tests, on this machine's disk."""
    source = (cluster.ROOT / "build/slurm-root").resolve()
    runs = []
    for number in range(3):
        shutil.rmtree(FOLDER, ignore_errors=True)
        (FOLDER / "volume").mkdir(parents=True)
        report = FOLDER / "report"
        began = time.monotonic()
        run("build/release/bin/capstan-entry", "root", "fill", "--volume", FOLDER / "volume", "--generation", f"g{number}", "--from", source,
            "--report", report)
        runs.append(json.loads(report.read_text())["files"] / (time.monotonic() - began))
    shutil.rmtree(FOLDER)
    figures.add("root_fill_files_per_s", runs, "files/s", ">= 5000", "root-fill")


# --- In a cluster --------------------------------------------------------------------------------------------------------

class Rooted:
    def __init__(self):
        cluster.fresh()
        self.lab = cluster.slurm
        FOLDER.mkdir(exist_ok=True)
        self.key = FOLDER / "key"
        for old in FOLDER.glob("key*"):
            old.unlink()
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        self.spec = EXAMPLE["spec"]
        self.spec["login"]["authorizedKeys"] = self.key.with_suffix(".pub").read_text()
        self.spec["sharedRoot"]["source"]["image"] = f"{cluster.lab.IMAGES}/login:26.05"

    def apply(self, within=300):
        self.lab.kubectl("apply", "-f", "-", text_in=json.dumps(EXAMPLE))
        self.await_that("it is ready", lambda: self.status().get("phase") == "Ready" and self.observed(), within)

    def observed(self):
        return self.status().get("observedGeneration") == self.lab.get("slurmclusters", "main")["metadata"]["generation"]

    def status(self):
        return (self.lab.get("slurmclusters", "main") or {}).get("status", {})

    def await_that(self, what, condition, within):
        self.lab.wait_for(what, condition, within)

    def ssh(self, person, command):
        options = ("IdentitiesOnly=yes", "BatchMode=yes", "ConnectTimeout=10", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null",
                   "LogLevel=ERROR")
        return cluster.lab.run("dev/cluster", "join", "node1", "ssh", "-i", self.key, *(word for option in options for word in ("-o", option)),
                               f"{person}@main-login.{self.lab.namespace}", command, check=False, timeout=120)

    def session_ms(self, person):
        began = time.monotonic()
        assert self.ssh(person, "true").returncode == 0
        return (time.monotonic() - began) * 1000

    def step_ms(self):
        """Of steps on all three nodes, by a clock beside srun."""
        loop = f"for i in $(seq {STEPS}); do a=$(date +%s%N); srun -N3 true; b=$(date +%s%N); echo $((b - a)); done"
        done = self.ssh("root", loop)
        assert done.returncode == 0, done.stderr
        return statistics.median(int(line) / 1e6 for line in done.stdout.split())

    def switch_s(self, revision):
        """From the wish, for what is filled already, until a session that begins has it."""
        generation = self.status()["sharedRoot"]["generation"]
        self.ssh("root", f"echo {generation} > /etc/generation")
        self.spec["sharedRoot"]["revision"] = revision
        began = time.monotonic()
        self.lab.kubectl("apply", "-f", "-", text_in=json.dumps(EXAMPLE))
        self.await_that("sessions have it", lambda: self.ssh("root", "cat /etc/generation").stdout.strip() != generation, 120)
        took = time.monotonic() - began
        self.apply()
        return took


def measure(figures):
    one = Rooted()
    one.apply()
    one.await_that("root logs in", lambda: one.ssh("root", "true").returncode == 0, 60)
    figures.add("root_session_overhead_ms", [one.session_ms("root") - one.session_ms("rescue") for _ in range(SESSIONS)], "ms", "<= 5", "root")
    one.switch_s("2")  # which is filled for it
    figures.add("root_switch_s", [one.switch_s(revision) for revision in ("", "2", "")], "s", "<= 5", "root")
    within = one.step_ms()
    one.spec["nodeSets"][0]["sharedRoot"] = False
    one.apply()
    figures.add("srun_3_overhead_ms", [within - one.step_ms()], "ms", "<= 20", "root")
    cluster.lab.erase()
    shutil.rmtree(FOLDER)


GROUPS = {"root-fill": measure_fill, "root": measure}
