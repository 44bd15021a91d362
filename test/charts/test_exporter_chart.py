"""The chart of the exporter: its program, whom it serves, what it may do, its dashboards and alerts."""
import html
import json
import re
import subprocess

import pytest
import yaml
from helm_render import CHARTS, REPOSITORY, RenderError, pick, pick_all, render


def exporter(values=None, **chart):
    return render("slurm-exporter", {"exporter": {"secretName": "token", **(values or {})}, **chart})


def pod(documents):
    return pick(documents, "Deployment", "slurm-exporter")["spec"]["template"]["spec"]


def test_the_pod_is_locked_down_and_has_no_token_of_kubernetes():
    spec = pod(exporter())
    container, = spec["containers"]
    assert spec["automountServiceAccountToken"] is False and "serviceAccountName" not in spec
    assert spec["securityContext"]["runAsUser"] == 401 and spec["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert container["resources"]["limits"]["memory"]
    assert not pick_all(exporter(), "ClusterRole")


def test_slurmrestd_and_the_token_are_found_where_the_values_say():
    container, = pod(exporter({"secretName": "mine"}, namespaceOverride="north"))["containers"]
    assert "--server=http://slurm-restapi.north.svc:6820" in container["args"]
    volume, = pod(exporter({"secretName": "mine"}))["volumes"]
    assert volume["secret"] == {"secretName": "mine", "items": [{"key": "auth-token", "path": "auth-token"}], "defaultMode": 0o440}
    container, = pod(exporter({"server": "http://elsewhere:1234"}))["containers"]
    assert "--server=http://elsewhere:1234" in container["args"]


def test_without_a_secret_it_says_what_is_missing():
    with pytest.raises(RenderError, match="exporter.secretName: name the Secret"):
        exporter({"secretName": ""})


def test_it_can_be_switched_off():
    assert exporter({"enabled": False}, grafana={"enabled": False}) == []


def test_a_label_of_the_cluster_is_an_argument():
    container, = pod(exporter({"clusterLabel": "north"}))["containers"]
    assert "--cluster-label=north" in container["args"]


def test_secure_metrics_have_the_rights_that_they_need_and_no_others():
    documents = exporter({"metricsSecure": True})
    spec = pod(documents)
    assert spec["serviceAccountName"] == "slurm-exporter" and "--metrics-secure" in spec["containers"][0]["args"]
    rules = [rule for role in pick_all(documents, "ClusterRole") for rule in role["rules"]]
    assert {(resource, verb) for rule in rules for resource in rule.get("resources", rule.get("nonResourceURLs")) for verb in rule["verbs"]} == {
        ("tokenreviews", "create"), ("subjectaccessreviews", "create"), ("/metrics", "get")}


def test_a_network_policy_admits_those_who_may_scrape():
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    assert not pick_all(exporter(), "NetworkPolicy")
    rule, = pick(exporter({"networkPolicy": {"enabled": True, "from": peers}}), "NetworkPolicy")["spec"]["ingress"]
    assert rule == {"ports": [{"port": "metrics", "protocol": "TCP"}], "from": peers}


def test_the_selector_of_the_service_finds_the_pod():
    documents = exporter()
    labels = pick(documents, "Deployment", "slurm-exporter")["spec"]["template"]["metadata"]["labels"]
    selector = pick(documents, "Service", "slurm-exporter")["spec"]["selector"]
    assert selector.items() <= labels.items()


# --- Dashboards and alerts -----------------------------------------------------------------------------------------------------

HAS_MONITORING = ("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor", "--api-versions", "monitoring.coreos.com/v1/PrometheusRule")
METRIC = re.compile(r"\b(slurm_[a-z_]+|controller_runtime_[a-z_]+|workqueue_[a-z_]+|process_[a-z_]+|rest_client_[a-z_]+|leader_election_[a-z_]+)\b")


def dashboards(**values):
    maps = [one for one in pick_all(exporter(**values), "ConfigMap")]
    return {name: json.loads(text) for one in maps for name, text in one["data"].items()}


def test_dashboards_are_those_of_their_source():
    done = subprocess.run([CHARTS / "dashboards", "--check"], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_pictures_show_the_panels_of_their_dashboards():
    pictures = REPOSITORY / "docs/pictures"
    boards = {path.stem: json.loads(path.read_text()) for path in (CHARTS / "slurm-exporter/dashboards").glob("*.json")}
    assert {path.stem for path in pictures.glob("dashboard-*.svg")} == {f"dashboard-{name}" for name in boards}
    for name, board in boards.items():
        drawn = re.findall(r'font-size="(?:12|13|16)"[^>]*>([^<]*)<', (pictures / f"dashboard-{name}.svg").read_text())
        titles = [board["title"], *(panel["title"] for panel in board["panels"])]
        assert [html.unescape(title) for title in drawn] == titles, f"draw {name} anew: charts/dashboard-pictures"


def test_each_dashboard_is_a_config_map_that_the_sidecar_finds():
    assert set(dashboards()) == {f"slurm-{name}.json" for name in ("cluster", "queue", "nodes", "idle", "operator")}
    for one in pick_all(exporter(), "ConfigMap"):
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert not dashboards(grafana={"enabled": False})


def shown():
    """All series of the exporter: those of slurm-exporter, as its test spells them, and the documented others."""
    test = (REPOSITORY / "src" / "exporter" / "names_test.cc").read_text(encoding="utf-8")
    text = r'((?:\s*"[^"]*")+)'
    lists = {name: "".join(re.findall('"([^"]*)"', words)) for name, words in re.findall(rf"constexpr auto (k\w+Names) =\s*{text};", test)}
    families = re.findall(rf'{{"[a-z,]*", "(slurm_\w*_)",\s*(?:(k\w+Names)|{text})}}', test)
    names = {prefix + word for prefix, known, words in families for word in (lists[known] if known else "".join(re.findall('"([^"]*)"', words))).split()}
    return names | set(re.findall("`(slurm_[a-z_]+)`", (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")))


def test_queries_choose_the_cluster_and_ask_for_series_that_there_are():
    known = shown()
    assert len(known) > 180
    for board in dashboards().values():
        for target in (target for panel in board["panels"] for target in panel.get("targets", [])):
            for name in METRIC.findall(target["expr"]):
                assert not name.startswith("slurm_") or (name in known and f'{name}{{cluster=~"$cluster"}}' in target["expr"]), target["expr"]
    alerts = yaml.safe_load((CHARTS / "slurm-exporter" / "alerts.yaml").read_text(encoding="utf-8"))
    assert {name for group in alerts for rule in group["rules"] for name in METRIC.findall(rule["expr"])} <= known


def test_alerts_are_a_prometheus_rule_where_the_cluster_has_that_kind():
    assert not pick_all(exporter(), "PrometheusRule")
    documents = render("slurm-exporter", {}, arguments=HAS_MONITORING)
    rules = [rule for group in pick(documents, "PrometheusRule")["spec"]["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 10
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning", "info") and rule["annotations"]["summary"] and rule["annotations"]["description"]
    assert "{{ $labels.partition }}" in json.dumps(rules), "left to Prometheus"


def test_a_service_monitor_scrapes_as_its_values_say():
    assert not pick_all(exporter(), "ServiceMonitor")
    endpoint, = pick(render("slurm-exporter", {}, arguments=HAS_MONITORING), "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint == {"port": "metrics", "path": "/metrics", "interval": "10s"}
    secure, = pick(render("slurm-exporter", {"exporter": {"metricsSecure": True}}, arguments=HAS_MONITORING), "ServiceMonitor")["spec"]["endpoints"]
    assert secure["scheme"] == "https" and secure["interval"] == "10s" and secure["bearerTokenFile"]
