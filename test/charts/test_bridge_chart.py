"""The chart of the bridge: its programs, their rights, what is asked of the webhook, and what users are refused."""
import pytest
import yaml
from helm_render import RenderError, notes, pick, pick_all, render


def bridge(**values):
    return render("slurm-bridge", values)


def pod(documents, of):
    return pick(documents, "Deployment", f"slurm-bridge-{of}")["spec"]["template"]["spec"]


def rights(documents, kind, name):
    return {(resource, verb) for rule in pick(documents, kind, name)["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


@pytest.mark.parametrize("of", ["admission", "controllers"])
def test_pods_are_locked_down(of):
    spec = pod(bridge(), of)
    container, = spec["containers"]
    assert spec["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
                                       "seccompProfile": {"type": "RuntimeDefault"}}
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                            "capabilities": {"drop": ["ALL"]}}
    assert container["resources"]["limits"]["memory"]


def test_only_the_controllers_have_a_token_of_slurm():
    documents = bridge(sharedConfig={"slurmJwtSecret": "mine"})
    assert {"name": "token", "secret": {"secretName": "mine", "defaultMode": 0o440}} in pod(documents, "controllers")["volumes"]
    assert "mine" not in yaml.safe_dump(pod(documents, "admission"))


def test_the_controllers_write_nothing_but_pods_nodes_events_and_their_lease():
    documents = bridge()
    assert rights(documents, "ClusterRole", "slurm-bridge-controllers") == {
        *(("pods", verb) for verb in ("get", "list", "watch", "patch", "delete")), ("pods/status", "patch"),
        ("nodes", "patch"), ("nodes/status", "patch"),
        *((kind, verb) for kind in ("nodes", "namespaces", "jobs", "podgroups", "leaderworkersets", "jobsets") for verb in ("get", "list", "watch")),
        *((kind, "get") for kind in ("replicasets", "deployments", "statefulsets")),
        ("events", "create"), ("events", "patch")}
    assert rights(documents, "Role", "slurm-bridge-leader-election") == {("leases", "create"), ("leases", "get"), ("leases", "patch")}
    taking_over = rights(bridge(takeOver=True), "ClusterRole", "slurm-bridge-controllers")
    assert taking_over - rights(documents, "ClusterRole", "slurm-bridge-controllers") == {("pods/binding", "create")}


def test_the_admission_writes_its_certificate_and_its_own_configuration_and_nothing_with_cert_manager():
    documents = bridge()
    rule, = pick(documents, "ClusterRole", "slurm-bridge-admission")["rules"]
    assert rule["resourceNames"] == ["slurm-bridge-admission"] and rule["verbs"] == ["get", "patch"]
    assert rights(documents, "Role", "slurm-bridge-admission") == {("secrets", "create"), ("secrets", "get"), ("secrets", "patch")}
    documents = bridge(admission={"certManager": {"enabled": True}})
    assert not [one for one in pick_all(documents, "ClusterRole") if one["metadata"]["name"] == "slurm-bridge-admission"]
    assert pick(documents, "Certificate")["spec"]["secretName"] == "slurm-bridge-admission-tls"
    assert "--certificate-directory=/etc/slurm-bridge/certificates" in pod(documents, "admission")["containers"][0]["args"]


def webhooks(**values):
    return {one["name"]: one for one in pick(bridge(**values), "MutatingWebhookConfiguration")["webhooks"]}


def test_the_webhook_is_asked_about_new_pods_of_bridged_namespaces_and_never_of_its_own():
    one = webhooks(admission={"managedNamespaces": ["a", "b"]})["pods.slinky.slurm.net"]
    assert one["namespaceSelector"] == {"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "ns"]},
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}]}
    assert one["rules"] == [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"], "scope": "Namespaced"}]
    assert one["failurePolicy"] == "Fail" and one["sideEffects"] == "None"


def test_a_selector_counts_instead_of_the_list():
    selector = {"matchLabels": {"slurm": "yes"}, "matchExpressions": [{"key": "team", "operator": "Exists"}]}
    one = webhooks(admission={"managedNamespaceSelector": selector})["pods.slinky.slurm.net"]
    assert one["namespaceSelector"]["matchLabels"] == {"slurm": "yes"}
    assert one["namespaceSelector"]["matchExpressions"][1:] == [{"key": "team", "operator": "Exists"}]


def test_elsewhere_only_pods_that_ask_by_name_are_the_webhooks_business():
    one = webhooks(schedulerConfig={"schedulerName": "mine"})["named.pods.slinky.slurm.net"]
    assert [condition["expression"] for condition in one["matchConditions"]] == [
        'has(object.spec.schedulerName) && object.spec.schedulerName == "mine"']


def test_the_configuration_has_the_keys_of_the_slinky_projects():
    documents = bridge(schedulerConfig={"partition": "gpu"}, sharedConfig={"slurmRestApi": "http://rest:1"}, bindTimeout=5)
    text = pick(documents, "ConfigMap")["data"]["config.yaml"]
    assert yaml.safe_load(text) == {"schedulerName": "slurm-bridge-scheduler", "targetSchedulerName": "default-scheduler",
                                    "slurmRestApi": "http://rest:1", "managedNamespaces": ["slurm-bridge"], "mcsLabel": "kubernetes",
                                    "sharing": "mcs", "partition": "gpu", "jobIds": "40000000-67043327", "bindTimeout": 5,
                                    "policyRequired": False, "policyAllowIdentity": False, "takeOver": False, "ungate": False,
                                    "nodeTaint": "NoSchedule", "nodeReserveCpu": "0", "nodeReserveMemory": "0"}


def test_values_of_the_slinky_projects_chart_are_taken():
    values = {"scheduler": {"image": {"repository": "x"}, "replicaCount": 2}, "admission": {"replicas": 1, "certManager": {"enabled": False}},
              "controllers": {"replicas": 2, "leaderElect": True, "verbosity": 4}}
    documents = bridge(**values)
    assert "--zap-log-level=4" in pod(documents, "controllers")["containers"][0]["args"]
    assert "have no effect" in notes("slurm-bridge", values)
    assert "have no effect" not in notes("slurm-bridge", {})


@pytest.mark.parametrize("values, words", [
    ({"admission": {"managedNamespaces": []}}, "name at least one namespace"),
    ({"sharedConfig": {"slurmRestApi": "rest:6820"}}, "slurmRestApi"),
    ({"sharedConfig": {"jobIds": "all"}}, "jobIds"),
    ({"fullnameOverride": "x" * 50, "namespaceOverride": "n" * 30}, "longer than 63 characters"),
])
def test_what_makes_no_sense_is_refused(values, words):
    with pytest.raises(RenderError, match=words):
        bridge(**values)


def test_without_admission_nothing_of_it_is_left():
    documents = bridge(admission={"enabled": False})
    kinds = {one["kind"] for one in documents}
    assert not kinds & {"MutatingWebhookConfiguration", "Service"}
    assert "ValidatingAdmissionPolicy" in kinds, "pods that were bridged before still have jobs"
    assert [one["metadata"]["name"] for one in pick_all(documents, "Deployment")] == ["slurm-bridge-controllers"]
