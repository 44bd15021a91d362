"""Debian's Prometheus scrapes slurmctld's endpoints and the operator's, as it would in any cluster."""
import prometheus
import pytest

from lab import wait_for

pytestmark = pytest.mark.long

PATHS = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler")


def test_prometheus_scrapes_slurmctld_and_the_operator(bare, tmp_path):
    bare.install_operator("operator.metricsSecure=true")
    bare.install_slurm("nodesets.slinky.replicas=1", "controller.metrics.enabled=true")
    bare.wait_for_idle(1, within=120)
    service = bare.get("service", "slurm-controller")["spec"]["clusterIP"]
    slurm = [{"job_name": f"slurm{path}", "metrics_path": path, "static_configs": [{"targets": [f"{service}:6817"]}]} for path in PATHS]
    with prometheus.operators(bare, tmp_path / "token") as operator:
        stranger = operator | {"job_name": "stranger"}
        del stranger["authorization"]
        with prometheus.scraping(tmp_path, [*slurm, operator, stranger]) as log:
            jobs = {f"slurm{path}" for path in PATHS}
            wait_for("all are scraped", lambda: {job for job, up in prometheus.by_job("up").items() if up == 1} >= {*jobs, "operator"},
                     within=60, picture=log)
            assert prometheus.by_job("up")["stranger"] == 0
            assert prometheus.by_job("slurm_nodes") == {"slurm/metrics/nodes": 1.0}
            assert prometheus.by_job("leader_election_master_status") == {"operator": 1.0}
