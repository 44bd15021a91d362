"""Debian's Prometheus scrapes slurmctld's endpoints and the operator's, as it would in any cluster."""
import json
import os
import pathlib
import subprocess
import urllib.parse

import pytest

from lab import kubectl, run, wait_for

pytestmark = pytest.mark.long

NODE = "node1"  # in whose network it runs
PORT = 19090
PATHS = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler")


def prometheus():
    """The program, out of Debian's package, which is not installed."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "capstan" / "prometheus"
    program = cache / "root" / "usr" / "bin" / "prometheus"
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "prometheus"], cwd=cache, check=True, capture_output=True, timeout=300)
        package, = cache.glob("prometheus_*.deb")
        subprocess.run(["dpkg", "-x", package, cache / "root"], check=True, timeout=120)
    return program


def configuration(lab, token):
    service = lab.get("service", "slurm-controller")["spec"]["clusterIP"]
    pod, = lab_operator_pods(lab)
    slurm = [{"job_name": f"slurm{path}", "metrics_path": path, "static_configs": [{"targets": [f"{service}:6817"]}]} for path in PATHS]
    operator = {"job_name": "operator", "scheme": "https", "tls_config": {"insecure_skip_verify": True},
                "authorization": {"credentials_file": str(token)}, "static_configs": [{"targets": [f"{pod['status']['podIP']}:8080"]}]}
    stranger = operator | {"job_name": "stranger"}
    del stranger["authorization"]
    return {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": [*slurm, operator, stranger]}


def lab_operator_pods(lab):
    found = json.loads(kubectl("-n", lab.operator_namespace, "get", "pods", "-l", "app.kubernetes.io/name=slurm-operator", "-o", "json"))
    return found["items"]


def query(text):
    """{job: value}"""
    url = f"http://127.0.0.1:{PORT}/api/v1/query?query={urllib.parse.quote(text)}"
    done = run("dev/cluster", "join", NODE, "/usr/bin/python3", "-c",
               f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=5).read().decode())", check=False)
    if done.returncode != 0:
        return {}
    return {each["metric"].get("job"): float(each["value"][1]) for each in json.loads(done.stdout)["data"]["result"]}


def test_prometheus_scrapes_slurmctld_and_the_operator(bare, tmp_path):
    program = prometheus()
    bare.install_operator("operator.metricsSecure=true")
    bare.install_slurm("nodesets.slinky.replicas=1", "controller.metrics.enabled=true")
    bare.wait_for_idle(1, within=120)
    kubectl("-n", bare.operator_namespace, "create", "serviceaccount", "prometheus")
    binding = f"{bare.operator}-e2e-scrape"
    kubectl("create", "clusterrolebinding", binding, f"--clusterrole={bare.operator}-metrics-reader",
            f"--serviceaccount={bare.operator_namespace}:prometheus")
    token, config = tmp_path / "token", tmp_path / "prometheus.yaml"
    token.write_text(kubectl("-n", bare.operator_namespace, "create", "token", "prometheus").strip())
    config.write_text(json.dumps(configuration(bare, token)))
    log = open(tmp_path / "log", "wb")
    scraper = subprocess.Popen(["dev/cluster", "join", NODE, program, f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data",
                                f"--web.listen-address=127.0.0.1:{PORT}"], stdout=log, stderr=log)
    try:
        jobs = {f"slurm{path}" for path in PATHS}
        wait_for("all are scraped", lambda: {job for job, up in query("up").items() if up == 1} >= {*jobs, "operator"}, within=60,
                 picture=lambda: (tmp_path / "log").read_text()[-2000:])
        assert query("up")["stranger"] == 0
        assert query("slurm_nodes") == {"slurm/metrics/nodes": 1.0}
        assert query("leader_election_master_status") == {"operator": 1.0}
    finally:
        scraper.terminate()
        scraper.wait(20)
        log.close()
        kubectl("delete", "clusterrolebinding", binding)
