"""Debian's Prometheus in the network of a node, as a site has one in its cluster."""
import contextlib
import fcntl
import json
import os
import pathlib
import subprocess

from lab import items, kubectl, run

NODE = "node1"  # in whose network it runs
PORT = 19090 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


def program():
    """Out of Debian's package, which is not installed."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "capstan" / "prometheus"
    found = cache / "root" / "usr" / "bin" / "prometheus"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found.exists():
            return found
        subprocess.run(["apt-get", "download", "prometheus"], cwd=cache, check=True, capture_output=True, timeout=300)
        package, = cache.glob("prometheus_*.deb")
        subprocess.run(["dpkg", "-x", package, cache / "root"], check=True, timeout=120)
    return found


@contextlib.contextmanager
def operators(lab, token):
    """The job that scrapes the operator of that lab, as somebody who may; `token` becomes a file with the right to."""
    binding = f"{lab.operator}-e2e-scrape"
    try:
        kubectl("-n", lab.operator_namespace, "create", "serviceaccount", "prometheus")
        kubectl("create", "clusterrolebinding", binding, f"--clusterrole={lab.operator}-metrics-reader",
                f"--serviceaccount={lab.operator_namespace}:prometheus")
        token.write_text(kubectl("-n", lab.operator_namespace, "create", "token", "prometheus").strip())
        pod, = items("-n", lab.operator_namespace, "pods", "-l", "app.kubernetes.io/name=slurm-operator")
        yield {"job_name": "operator", "scheme": "https", "tls_config": {"insecure_skip_verify": True},
               "authorization": {"credentials_file": str(token)}, "static_configs": [{"targets": [f"{pod['status']['podIP']}:8080"]}]}
    finally:
        kubectl("delete", "clusterrolebinding", binding, "--ignore-not-found")


@contextlib.contextmanager
def scraping(folder, jobs, rules=()):
    """Scrapes each second, in the files of `folder`, for as long as this lasts. Yields a function that returns what it logged last."""
    config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs,
              "rule_files": [str(rule) for rule in rules]}
    (folder / "prometheus.yaml").write_text(json.dumps(config))
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(["dev/cluster", "join", NODE, program(), f"--config.file={folder}/prometheus.yaml",
                                    f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{PORT}"], stdout=log, stderr=log)
        try:
            yield lambda: (folder / "log").read_text()[-2000:]
        finally:
            process.terminate()
            process.wait(20)


ASK = """
import json, sys, urllib.error, urllib.parse, urllib.request
for line in sys.stdin:
    url = sys.argv[1] + urllib.parse.quote(json.loads(line))
    try:
        print(urllib.request.urlopen(url, timeout=5).read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode())
"""


def ask(*queries):
    """The series that each query finds now: [{"metric": {...}, "value": [time, text]}, ...]. None: there is no answer, as yet."""
    done = run("dev/cluster", "join", NODE, "/usr/bin/python3", "-c", ASK, f"http://127.0.0.1:{PORT}/api/v1/query?query=",
               text_in="".join(json.dumps(query) + "\n" for query in queries), check=False, timeout=60)
    if done.returncode != 0:
        return None
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for query, answer in zip(queries, answers, strict=True):
        assert answer["status"] == "success", f"{query}: {answer}"
    return [answer["data"]["result"] for answer in answers]


def by_job(query):
    """{job: value}"""
    found = ask(query)
    return {one["metric"].get("job"): float(one["value"][1]) for one in found[0]} if found else {}
