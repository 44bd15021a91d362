"""Figures, measured on the local cluster: a table on standard output, and build/bench.json.

  dev/bench [GROUP...]     all groups without names

build/bench.json holds for each key: value, unit, asked, runs (every single measurement), command, and what the Go
operator needed on the same kind of machine (peer), where that is known. A group that is measured alone leaves the
others' entries in the file as they are. Nothing leaves this machine: the API server is reached on loopback.
"""
import base64
import concurrent.futures
import http.client
import json
import pathlib
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "e2e"))

import lab  # noqa: E402
import yaml  # noqa: E402

RESULTS = ROOT / "build" / "bench.json"
NOISE = "bench-noise"
ACCOUNT = f"system:serviceaccount:{lab.OPERATOR}:slurm-operator"


class Figures:
    """What has been measured so far."""

    def __init__(self):
        self.entries = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        self.measured = []

    def add(self, key, runs, unit, asked, group, peer=None):
        self.entries[key] = {"value": round(statistics.median(runs), 2), "unit": unit, "asked": asked,
                             "runs": [round(run, 2) for run in runs], "command": f"make bench ONLY={group}", "peer": peer}
        self.measured.append(key)
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(self.entries, indent=2, sort_keys=True) + "\n")

    def table(self):
        rows = [("key", "measured", "asked", "Go peer", "runs")]
        for key in self.measured:
            entry = self.entries[key]
            peer = "-" if entry["peer"] is None else str(entry["peer"])
            rows.append((key, f"{entry['value']} {entry['unit']}", entry["asked"], peer, str(entry["runs"])))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


# --- The API server, without kubectl's own throttle ------------------------------------------------------------------------

class Api:
    """Many small requests over one kept-alive connection each thread."""

    def __init__(self):
        config = yaml.safe_load(pathlib.Path(lab.KUBECONFIG).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.host = cluster["server"].removeprefix("https://")
        assert self.host.startswith("127.0.0.1:"), "load is for this machine's own API server only"
        self.tls = ssl.create_default_context(cadata=self.text(cluster, "certificate-authority").decode())
        with tempfile.NamedTemporaryFile() as pem:
            pem.write(self.text(user, "client-certificate") + b"\n" + self.text(user, "client-key"))
            pem.flush()
            self.tls.load_cert_chain(pem.name)

    @staticmethod
    def text(where, name):
        inline = where.get(name + "-data")
        return base64.b64decode(inline) if inline else pathlib.Path(where[name]).read_bytes()

    def create(self, path, objects):
        connection = http.client.HTTPSConnection(self.host, context=self.tls, timeout=60)
        for item in objects:
            connection.request("POST", path, json.dumps(item), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status in (201, 409), text[:300]
        connection.close()


def fill(count):
    """Foreign pods that nobody schedules, and foreign Secrets of 1 KiB."""
    lab.kubectl("create", "namespace", NOISE, check=False)
    api = Api()
    pods = [{"metadata": {"name": f"p-{i:05}", "labels": {"app": "foreign"}},
             "spec": {"schedulerName": "nobody", "containers": [{"name": "c", "image": "example/foreign:1"}]}}
            for i in range(count)]
    data = base64.b64encode(b"x" * 1024).decode()
    secrets = [{"metadata": {"name": f"s-{i:05}"}, "data": {"blob": data}} for i in range(count)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(api.create, f"/api/v1/namespaces/{NOISE}/{kind}", objects[part::2])
                for kind, objects in (("pods", pods), ("secrets", secrets)) for part in range(2)]
        for job in jobs:
            job.result()


# --- The operator ------------------------------------------------------------------------------------------------------------

def operator_rss_mib():
    pids = lab.processes("capstan", "operator")
    assert len(pids) == 1, pids
    status = pathlib.Path(f"/proc/{pids[0]}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def restart_operator():
    lab.kubectl("-n", lab.OPERATOR, "rollout", "restart", "deployment/slurm-operator")
    lab.kubectl("-n", lab.OPERATOR, "rollout", "status", "deployment/slurm-operator", "--timeout=90s", timeout=100)
    lab.wait_for("one operator", lambda: len(lab.processes("capstan", "operator")) == 1, within=60)


def writes_in_audit_log(since, until):
    """Successful or not: every request of the operator's account that could change something, besides the lease."""
    count = 0
    for log in sorted(pathlib.Path("/var/lib/capstan-dev/audit").glob("*.log")):
        for line in log.open():
            if ACCOUNT not in line:
                continue
            event = json.loads(line)
            if event["stage"] != "ResponseComplete" or event["user"]["username"] != ACCOUNT:
                continue
            if event["verb"] in ("get", "list", "watch") or event["objectRef"].get("resource") == "leases":
                continue
            count += since <= event["requestReceivedTimestamp"] <= until
    return count


def utc(moment):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


def fresh():
    lab.erase()
    lab.install_operator()
    lab.kubectl("-n", lab.OPERATOR, "rollout", "status", "deployment/slurm-operator", "--timeout=90s", timeout=100)


# --- The groups ----------------------------------------------------------------------------------------------------------------

def measure_install(figures):
    runs = []
    for _ in range(3):
        fresh()
        began = time.monotonic()
        lab.install_slurm()
        lab.wait_for_idle(3, within=120)
        runs.append(time.monotonic() - began)
    figures.add("install_to_idle_s", runs, "s", "<= 25", "install")


def measure_rest(figures):
    fresh()
    lab.install_slurm()
    lab.wait_for_idle(3, within=120)
    time.sleep(60)
    figures.add("operator_rss_mib_idle", [operator_rss_mib()], "MiB", "<= 12", "rest", peer=71)
    began = time.time()
    time.sleep(300)
    figures.add("writes_at_rest", [writes_in_audit_log(utc(began), utc(began + 300))], "in 5 min", "0", "rest", peer=39)
    fill(5000)
    restart_operator()
    time.sleep(60)
    figures.add("operator_rss_mib_noise", [operator_rss_mib()], "MiB", "<= 14", "rest", peer=143)
    lab.kubectl("delete", "namespace", NOISE, "--wait=false")


def measure_image(figures):
    line = subprocess.run(["dev/images", "--sizes", "capstan"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    figures.add("image_mib", [float(line.split()[1])], "MiB", "<= 10", "image", peer=18)


GROUPS = {"image": measure_image, "install": measure_install, "rest": measure_rest}


def main():
    names = sys.argv[1:] or list(GROUPS)
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        sys.exit(f"bench: no group is called {unknown[0]}; there are {', '.join(GROUPS)}")
    figures = Figures()
    for name in names:
        print(f"== {name}", flush=True)
        GROUPS[name](figures)
    lab.erase()
    print(figures.table())


if __name__ == "__main__":
    main()
