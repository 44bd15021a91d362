"""The exporter beside a cluster: its series, Debian's Prometheus with every query of its dashboards, and its alerts."""
import json

import prometheus
import pytest
import yaml

import lab as labs
from test_2_topology import ANNOTATION, TOPOLOGY

CHART = labs.ROOT / "charts" / "slurm-exporter"
ENOUGH = 'slurm_account_shares{account="physics"} == 30 and on () min(count_over_time(up[5m])) > 60'
ANSWERS = labs.ROOT / "build" / "e2e" / "dashboards.json"
SCRAPE = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"
NODES = 2


def address(lab):
    pod, = [one for one in lab.items("pods") if one["metadata"]["labels"].get("app.kubernetes.io/component") == "exporter"]
    return f"{pod['status']['podIP']}:8080"


def series(lab):
    """{series with its labels: value}"""
    text = labs.run("dev/cluster", "join", prometheus.NODE, "/usr/bin/python3", "-c", SCRAPE, f"http://{address(lab)}/metrics", check=False).stdout
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))


def test_slurms_figures_are_shown_and_follow(shared):
    lab = shared
    lab.install_exporter()
    try:
        lab.wait_for("all nodes are idle", lambda: series(lab).get("slurm_nodes_idle_total") == "3", within=60)
        job = lab.submit_open("slinky-0")
        lab.wait_for_job(job, "RUNNING", within=60)
        lab.wait_for("the job is counted", lambda: series(lab).get('slurm_partition_jobs_running_total{partition="all"}') == "1", within=30)
        lab.let_end(job, f"{labs.NODESET}-0")
        lab.wait_for("it is over", lambda: series(lab).get("slurm_jobs_running_total") == "0", within=60)
        assert series(lab)["slurm_up"] == "1" and 'slurm_node_cpus_total{node="slinky-0"}' in series(lab)
    finally:
        lab.remove_exporter()


@pytest.fixture
def racks(bare):
    for node, rack in zip(bare.nodes, ("rack1", "rack2"), strict=True):
        labs.kubectl("annotate", "node", node, "--overwrite", f"{ANNOTATION}=racks:{rack}")
    yield bare
    for node in bare.nodes:
        labs.kubectl("annotate", "node", node, f"{ANNOTATION}-")


def queries():
    """Of all dashboards, for any cluster, and whether each is drawn over time."""
    boards = [json.loads(path.read_text(encoding="utf-8")) for path in (CHART / "dashboards").glob("*.json")]
    return {target["expr"].replace("$cluster", ".*"): target["range"]
            for board in boards for panel in board["panels"] for target in panel.get("targets", [])}


def keep_answers():
    """For charts/dashboard-pictures, which draws them."""
    asked = queries()
    answers = prometheus.ask(*(f"({query})[5m:5s]" if over_time else query for query, over_time in asked.items()))
    ANSWERS.parent.mkdir(parents=True, exist_ok=True)
    ANSWERS.write_text(json.dumps(dict(zip(asked, answers, strict=True))))


@pytest.mark.long
def test_every_query_of_the_dashboards_and_alerts_finds_what_it_asks_for(racks, tmp_path):
    lab = racks
    lab.install_operator("operator.metricsSecure=true")
    lab.install_slurm("nodesets.slinky.replicas=2", "accounting.enabled=true", "accounting.database.embedded.enabled=true",
                      "accounting.database.embedded.size=1Gi", "controller.extraConfMap.PriorityType=priority/multifactor",
                      "controller.extraConfMap.GresTypes=nic", "controller.extraConfMap.Licenses=matlab:10", "nodesets.slinky.extraConfMap.Gres=nic:2",
                      values={"configFiles": {"topology.yaml": TOPOLOGY, "gres.conf": "Name=nic Count=2 Flags=CountOnly\n"}})
    lab.wait_for_idle(2, within=150)
    lab.wait_for_accounting(within=120)
    lab.install_exporter("exporter.clusterLabel=north")

    def run(*words):
        done = lab.in_controller_result(*words)
        assert done.returncode == 0, done.stderr

    run("sacctmgr", "-i", "add", "account", "physics", "fairshare=30")
    run("sacctmgr", "-i", "add", "user", "root", "account=physics")
    run("scontrol", "create", "reservation", "reservationname=maintenance", "start=now+1hour", "duration=60", "nodes=slinky-1", "users=root", "flags=maint")
    lab.submit("--hold", "--wrap", "true")
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    run("scontrol", "update", "nodename=slinky-1", "state=drain", "reason=NHC: a test")

    rules = tmp_path / "alerts.yaml"
    groups = yaml.safe_load((CHART / "alerts.yaml").read_text(encoding="utf-8"))
    rules.write_text(yaml.safe_dump({"groups": groups}))
    with prometheus.operators(lab, tmp_path / "token") as operator, \
            prometheus.scraping(tmp_path, [operator, {"job_name": "slurm", "static_configs": [{"targets": [address(lab)]}]}], [rules]) as log:
        labs.wait_for("both are scraped", lambda: prometheus.by_job("up") == {"operator": 1.0, "slurm": 1.0}, within=60, picture=log)
        asked = list(queries())

        def without_data():
            answers = prometheus.ask(*asked)
            return asked if answers is None else [query for query, answer in zip(asked, answers, strict=True) if not answer]
        labs.wait_for("every query finds something, shares after a minute", lambda: not without_data(), within=120,
                      picture=lambda: "\n".join(without_data()) + log())
        assert prometheus.ask("count by (cluster) (slurm_nodes_total)")[0][0]["metric"] == {"cluster": "north"}
        pending = prometheus.ask(*(rule["expr"] for group in groups for rule in group["rules"]))
        fires = {rule["alert"] for group in groups for rule, found in zip(group["rules"], pending, strict=True) if found}
        assert fires == {"SlurmNodesUnhealthy"}
        labs.wait_for("there is something to be drawn", lambda: (prometheus.ask(ENOUGH) or [[]])[0], within=240, picture=log)
        keep_answers()
