"""The chart's NetworkPolicies, read as a network reads them, over the labels that pods really have."""
import json

import pytest
from helm_render import REPOSITORY, pick_all, pick, render

GOLDEN = REPOSITORY / "src" / "operator"
OPERATOR_NAMESPACE = "slinky"


def selects(selector, labels):
    assert set(selector) <= {"matchLabels"}, "this reader knows no other"
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())


def is_peer(peer, pod, namespace):
    assert set(peer) <= {"podSelector", "namespaceSelector"}, "this reader knows no other"
    if "namespaceSelector" in peer:
        if not selects(peer["namespaceSelector"], {"kubernetes.io/metadata.name": pod["namespace"]}):
            return False
    elif pod["namespace"] != namespace:
        return False
    return selects(peer.get("podSelector", {}), pod["labels"])


def is_open(rule, port):
    return "ports" not in rule or any(each["protocol"] == "TCP" and each["port"] <= port <= each.get("endPort", each["port"]) for each in rule["ports"])


def admitted(policies, pod, to, port=6817):
    """Whether `pod` may connect to the pod `to`: it may unless a policy selects `to`, or one does that has it among its peers."""
    chosen = [each for each in policies if selects(each["spec"]["podSelector"], to["labels"]) and each["metadata"]["namespace"] == to["namespace"]]
    rules = [(each["metadata"]["namespace"], rule) for each in chosen for rule in each["spec"]["ingress"] if is_open(rule, port)]
    return not chosen or any("from" not in rule or any(is_peer(peer, pod, namespace) for peer in rule["from"]) for namespace, rule in rules)


def policies(**values):
    return pick_all(render(values={"fullnameOverride": "main", "accounting": {"enabled": True}, "networkPolicy": {"enabled": True, **values}}, namespace="slurm"),
                    "NetworkPolicy")


def made(path):
    return json.loads((GOLDEN / path).read_text())


def pod_of(path):
    """The labels of a pod that the operator makes, as its unit tests pin them; of a cluster `main`."""
    found = made(path)
    metadata = found["metadata"] if found["kind"] == "Pod" else found["spec"]["template"]["metadata"]
    return {"namespace": "slurm", "labels": metadata["labels"]}


SLURMCTLD = pod_of("controller/testdata/default-StatefulSet-main-controller.json")
SLURMRESTD = pod_of("restapi/testdata/default-Deployment.json")
SLURMDBD = pod_of("accounting/testdata/default-StatefulSet.json")
SLURMDBD["labels"]["app.kubernetes.io/instance"] = "main"  # the chart calls its Accounting as its Controller
WORKER = pod_of("nodeset/testdata/worker-default.json")
LOGIN = pod_of("loginset/testdata/default-Deployment.json")
STRANGER = {"namespace": "default", "labels": {"app.kubernetes.io/name": "slurm-operator"}}
NEIGHBOUR = {"namespace": OPERATOR_NAMESPACE, "labels": {"app.kubernetes.io/name": "else"}}


def operator():
    deployment = pick(render("slurm-operator", namespace=OPERATOR_NAMESPACE), "Deployment")
    return {"namespace": deployment["metadata"]["namespace"], "labels": deployment["spec"]["template"]["metadata"]["labels"]}


def test_there_are_none_for_whom_wants_none():
    assert policies(enabled=False, operatorPort=False) == []


def test_what_runs_elsewhere_has_none():
    names = lambda **values: [each["metadata"]["name"] for each in pick_all(render(values=values | {"networkPolicy": {"enabled": True}}), "NetworkPolicy")]
    assert names() == ["slurm-controller", "slurm-restapi"]
    elsewhere = {"accounting": {"enabled": True, "external": True, "externalConfig": {"host": "db"}}, "controller": {"external": True, "externalConfig": {"host": "ctl"}},
                 "slurmKey": {"secretRef": {"name": "k", "key": "k"}}, "jwtKey": {"secretRef": {"name": "k", "key": "k"}}}
    assert names(**elsewhere) == ["slurm-restapi"]


def test_of_itself_only_the_operator_asks_what_the_containers_read():
    made_policies = policies(enabled=False)
    for target, own in [(SLURMCTLD, 6817), (SLURMDBD, 6819), (SLURMRESTD, 6820)]:
        for where in (OPERATOR_NAMESPACE, "hpc"):
            assert admitted(made_policies, operator() | {"namespace": where}, target, 6815)
        for source in (NEIGHBOUR, WORKER, LOGIN):
            assert not admitted(made_policies, source, target, 6815), source
            assert all(admitted(made_policies, source, target, port) for port in (1, 22, 6814, 6816, own, 65535)), source


def test_whoever_else_is_let_in_does_not_ask_what_the_containers_read():
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
    made_policies = policies(**{daemon: {"from": [peer]} for daemon in ("restapi", "controller", "accounting")})
    for target, own in [(SLURMCTLD, 6817), (SLURMDBD, 6819), (SLURMRESTD, 6820)]:
        assert admitted(made_policies, operator(), target, 6815)
        for source in (STRANGER, NEIGHBOUR, WORKER, LOGIN):
            assert not admitted(made_policies, source, target, 6815), source
        assert admitted(made_policies, STRANGER, target, own)


def test_who_is_of_the_cluster_reaches_what_it_needs():
    made_policies = policies()
    assert len(made_policies) == 3
    for source, target in [(operator(), SLURMRESTD), (operator(), SLURMCTLD), (operator(), SLURMDBD), (WORKER, SLURMCTLD), (LOGIN, SLURMCTLD), (SLURMRESTD, SLURMCTLD),
                           (SLURMDBD, SLURMCTLD), (SLURMCTLD, SLURMCTLD), (SLURMCTLD, SLURMDBD), (SLURMRESTD, SLURMDBD), (LOGIN, SLURMDBD),
                           (SLURMCTLD, WORKER), (WORKER, LOGIN), (STRANGER, LOGIN)]:
        assert admitted(made_policies, source, target), (source, target)


def test_nobody_else_does():
    made_policies = policies()
    ports = (1, 22, 6815, 6816, 6817, 6818, 6819, 6820, 65535)
    for target in (SLURMRESTD, SLURMCTLD, SLURMDBD):
        for source in (STRANGER, NEIGHBOUR):
            assert not any(admitted(made_policies, source, target, port) for port in ports), (source, target)
    for source in (WORKER, LOGIN):
        assert not any(admitted(made_policies, source, SLURMRESTD, port) for port in ports)


@pytest.mark.parametrize("daemon, target", [("restapi", SLURMRESTD), ("controller", SLURMCTLD), ("accounting", SLURMDBD)])
def test_whom_the_values_name_is_let_in(daemon, target):
    peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
    assert admitted(policies(**{daemon: {"from": [peer]}}), STRANGER, target)


def test_the_operators_namespace_is_a_value():
    elsewhere = operator() | {"namespace": "hpc"}
    assert not admitted(policies(), elsewhere, SLURMRESTD)
    assert admitted(policies(operatorNamespace="hpc"), elsewhere, SLURMRESTD)
