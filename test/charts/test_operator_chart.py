import json

"""The chart of the operator: its pod, its rights, its flags."""
import pytest
from helm_render import RenderError, notes, pick, pick_all, render


def operator(**values):
    return render("slurm-operator", {"operator": values})


def pod(**values):
    return pick(operator(**values), "Deployment")["spec"]["template"]["spec"]


def container(**values):
    return pod(**values)["containers"][0]


def granted(documents):
    """{(kind of role, namespace): {(group, resource) or (group, resource, name): {verbs}}}"""
    found = {}
    for role in pick_all(documents, "ClusterRole") + pick_all(documents, "Role"):
        rights = found.setdefault((role["kind"], role["metadata"].get("namespace")), {})
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in [(name,) for name in rule.get("resourceNames", [])] or [()]:
                        rights.setdefault((group, resource, *name), set()).update(rule["verbs"])
    return found


LEASES = {("coordination.k8s.io", "leases"): {"create"}, ("coordination.k8s.io", "leases", "slurm-operator"): {"get", "patch"}}


# Which rights these are follows from what the operator does (operator_test: the rules of the chart are those of the rows).
def test_with_namespaces_only_what_has_none_is_granted_cluster_wide():
    everywhere = granted(operator())[("ClusterRole", None)]
    confined = granted(operator(namespaces=" a, b,"))
    nodes = confined[("ClusterRole", None)]
    assert set(nodes) == {("", "nodes")}
    assert confined[("Role", "a")] == confined[("Role", "b")]
    assert {**confined[("Role", "a")], **nodes} == everywhere
    assert confined[("Role", "ns")] == LEASES


def test_secrets_are_read_by_name_and_never_listed_or_deleted():
    assert granted(operator())[("ClusterRole", None)][("", "secrets")] == {"get", "create", "patch"}


def test_claims_may_be_handed_over_and_volumes_are_not_touched():
    rights = granted(operator())[("ClusterRole", None)]
    assert rights[("", "persistentvolumeclaims")] == {"get", "list", "create", "patch", "delete"}
    assert ("", "persistentvolumes") not in rights


def test_without_leader_election_there_are_no_rights_on_leases():
    assert ("Role", "ns") not in granted(operator(leaderElection=False))


@pytest.mark.parametrize("values, account", [
    ({}, "slurm-operator"),
    ({"serviceAccount": {"name": "mine"}}, "mine"),
    ({"serviceAccount": {"create": False}}, "default"),
    ({"serviceAccount": {"create": False, "name": "mine"}}, "mine"),
])
def test_every_binding_and_the_pod_use_the_one_service_account(values, account):
    documents = operator(**values, namespaces="a")
    bindings = pick_all(documents, "ClusterRoleBinding") + pick_all(documents, "RoleBinding")
    assert len(bindings) == 3
    assert all(b["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "ns"}] for b in bindings)
    assert all(pick(documents, b["roleRef"]["kind"], b["roleRef"]["name"]) for b in bindings)
    assert pick(documents, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"] == account
    made = values.get("serviceAccount", {}).get("create", True)
    assert [a["metadata"]["name"] for a in pick_all(documents, "ServiceAccount")] == ([account] if made else [])


def test_pod_and_container_are_locked_down():
    assert pod()["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65532, "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container()["securityContext"] == {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}


def test_given_security_context_is_written_over_the_default():
    assert pod(podSecurityContext={"runAsUser": 1000, "fsGroup": 0})["securityContext"] == {
        "runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 65532, "fsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container(securityContext={"readOnlyRootFilesystem": False})["securityContext"]["readOnlyRootFilesystem"] is False


def test_default_arguments():
    assert container()["args"] == ["operator", "--zap-log-level=info", "--health-addr=:8081", "--metrics-addr=:8080", "--leader-elect=true", "--leader-elect-namespace=ns",
                                 "--image-prefix=capstan"]


@pytest.mark.parametrize("values, argument", [
    ({"logLevel": "debug"}, "--zap-log-level=debug"),
    ({"healthPort": 9000}, "--health-addr=:9000"),
    ({"metricsPort": 9001}, "--metrics-addr=:9001"),
    ({"metricsPort": "9001"}, "--metrics-addr=:9001"),
    ({"metricsPort": 0}, "--metrics-addr=0"),
    ({"metricsSecure": True}, "--metrics-addr=:8080"),
    ({"metricsSecure": True}, "--metrics-secure"),
    ({"leaderElection": False}, "--leader-elect=false"),
    ({"namespaces": "a, b"}, "--namespaces=a,b"),
    ({"clusterDomain": "k8s.example"}, "--cluster-domain=k8s.example"),
])
def test_value_becomes_an_argument(values, argument):
    assert argument in container(**values)["args"]


@pytest.mark.parametrize("values, ports", [
    ({}, {"health": 8081, "metrics": 8080}),
    ({"metricsPort": 0}, {"health": 8081}),
    ({"metricsSecure": True}, {"health": 8081, "metrics": 8080}),
    ({"healthPort": 1, "metricsPort": 2}, {"health": 1, "metrics": 2}),
])
def test_pod_and_service_have_the_same_ports(values, ports):
    documents = operator(**values)
    deployment = pick(documents, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert {p["name"]: p["containerPort"] for p in deployment["ports"]} == ports
    assert {p["name"]: p["port"] for p in pick(documents, "Service")["spec"]["ports"]} == ports


@pytest.mark.parametrize("port", [-1, 65536, "08", "x"])
def test_impossible_port_is_refused(port):
    with pytest.raises(RenderError, match="metricsPort"):
        operator(metricsPort=port)


def test_selectors_hold_nothing_that_changes_with_a_version():
    documents = operator(pdb={"enabled": True}, replicas=2)
    wanted = {"app.kubernetes.io/name": "slurm-operator", "app.kubernetes.io/instance": "slurm-operator"}
    deployment = pick(documents, "Deployment")["spec"]
    assert deployment["selector"]["matchLabels"] == wanted
    assert wanted.items() <= deployment["template"]["metadata"]["labels"].items()
    assert pick(documents, "Service")["spec"]["selector"] == wanted
    assert pick(documents, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == wanted


@pytest.mark.parametrize("image, reference", [
    ({}, "capstan/capstan:0.1.0"),
    ("host:5000/x:1", "host:5000/x:1"),
    ({"tag": "dev"}, "capstan/capstan:dev"),
    ({"tag": 1.2}, "capstan/capstan:1.2"),
    ({"tag": 20261122}, "capstan/capstan:20261122"),
    ({"repository": "x/y"}, "x/y:0.1.0"),
    ({"repository": "x/y", "tag": "1", "digest": "sha256:ab"}, "x/y@sha256:ab"),
])
def test_image(image, reference):
    assert container(image=image)["image"] == reference


@pytest.mark.parametrize("prefix", ["host:5000/hpc", "host:5000/hpc/"])
def test_image_prefix(prefix):
    found = pick(render("slurm-operator", {"imagePrefix": prefix}), "Deployment")
    container = found["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "host:5000/hpc/capstan:0.1.0"
    assert "--image-prefix=host:5000/hpc" in container["args"], "resources that name no image would get another prefix"


@pytest.mark.parametrize("field, value", [
    ("nodeSelector", {"a": "b"}),
    ("affinity", {"podAntiAffinity": {}}),
    ("tolerations", [{"operator": "Exists"}]),
    ("topologySpreadConstraints", [{"maxSkew": 1}]),
])
def test_scheduling_values_reach_the_pod(field, value):
    assert pod(**{field: value})[field] == value
    assert field not in pod()


def test_memory_is_limited_unless_somebody_says_otherwise():
    assert container()["resources"] == {"limits": {"memory": "1Gi"}}
    assert "resources" not in container(resources=None)


def test_resources_reach_the_container():
    assert container(resources={"limits": {"memory": "64Mi"}})["resources"] == {"limits": {"memory": "64Mi"}}


def test_pull_secrets_policy_and_priority_reach_the_pod():
    values = {"imagePullSecrets": [{"name": "x"}], "imagePullPolicy": "Always", "priorityClassName": "high"}
    found = pick(render("slurm-operator", values), "Deployment")["spec"]["template"]["spec"]
    assert (found["imagePullSecrets"], found["containers"][0]["imagePullPolicy"], found["priorityClassName"]) == ([{"name": "x"}], "Always", "high")


def test_operator_may_have_a_pull_policy_of_its_own():
    found = pick(render("slurm-operator", {"imagePullPolicy": "Always", "operator": {"imagePullPolicy": "Never"}}), "Deployment")
    assert found["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] == "Never"
    assert "imagePullPolicy" not in notes("slurm-operator", {"operator": {"imagePullPolicy": "Never"}})


def test_disruption_budget_without_a_number_is_refused():
    with pytest.raises(RenderError, match="operator.pdb: a disruption budget needs minAvailable or maxUnavailable"):
        operator(replicas=2, pdb={"enabled": True, "minAvailable": None})


@pytest.mark.parametrize("values, expected", [
    ({"replicas": 2}, None),
    ({"replicas": 1, "pdb": {"enabled": True}}, None),
    ({"replicas": 2, "pdb": {"enabled": True}}, {"minAvailable": 1}),
    ({"replicas": 2, "pdb": {"enabled": True, "maxUnavailable": 0}}, {"maxUnavailable": 0}),
])
def test_disruption_budget(values, expected):
    found = [{k: v for k, v in budget["spec"].items() if k != "selector"} for budget in pick_all(operator(**values), "PodDisruptionBudget")]
    assert found == ([expected] if expected else [])


def test_disabled_operator_leaves_nothing():
    assert operator(enabled=False) == []


def test_webhook_and_certificate_values_are_accepted_and_make_nothing():
    values = {"webhook": {"enabled": True, "replicas": 3, "validating": {"failurePolicy": "Fail"}}, "certManager": {"enabled": True},
              "operator": {"controllerWorkers": 4, "profile": True, "profileAddr": "localhost:6060"}}
    assert render("slurm-operator", values) == render("slurm-operator")
    said = notes("slurm-operator", values)
    for name in ("webhook", "certManager", "operator.controllerWorkers", "operator.profile", "operator.profileAddr"):
        assert f"\n  {name}\n" in said


def test_conditions_that_say_why_a_node_is_cordoned_reach_the_operator():
    deployment = pick(render("slurm-operator", {"propagatedNodeConditions": ["BadCPU", "BadGPU"]}), "Deployment")
    assert "--propagated-node-conditions=BadCPU,BadGPU" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_notes_of_the_defaults_warn_of_nothing():
    assert "WARNING" not in notes("slurm-operator")


def test_notes_name_the_lease_that_remains():
    command = "kubectl --namespace ns delete lease slurm-operator"
    assert command in notes("slurm-operator")
    assert command not in notes("slurm-operator", {"operator": {"leaderElection": False}})


def test_secure_metrics_bring_the_rights_they_need_and_no_others():
    reviews = {("authentication.k8s.io", "tokenreviews"): {"create"}, ("authorization.k8s.io", "subjectaccessreviews"): {"create"}}
    plain = operator(namespaces="a")
    documents = operator(metricsSecure=True, namespaces="a")
    auth = pick(documents, "ClusterRole", "slurm-operator-metrics-auth")
    assert granted([auth])[("ClusterRole", None)] == reviews
    binding = pick(documents, "ClusterRoleBinding", "slurm-operator-metrics-auth")
    assert binding["roleRef"]["name"] == auth["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "slurm-operator", "namespace": "ns"}]
    reader = pick(documents, "ClusterRole", "slurm-operator-metrics-reader")
    assert reader["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert "slurm-operator-metrics-reader" in notes("slurm-operator", {"operator": {"metricsSecure": True}})
    assert len(documents) == len(plain) + 3
    assert "--metrics-secure" not in container()["args"]


def test_secure_metrics_without_a_port_are_refused():
    with pytest.raises(RenderError, match="operator.metricsSecure: there are no metrics to secure"):
        operator(metricsSecure=True, metricsPort=0)


def test_template_policy_is_made_when_asked_for():
    kinds = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    assert [pick_all(operator(), kind) for kind in kinds] == [[], []]
    documents = render("slurm-operator", {"templatePolicy": {"enabled": True}})
    policy, binding = (pick(documents, kind) for kind in kinds)
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    assert "slurmds" not in [each["name"] for each in policy["spec"]["variables"]], "any image is taken"


def test_images_of_the_template_policy_reach_it_unharmed():
    images = ["registry.test/a'b:*", 'registry.test/"c"']
    policy = pick(render("slurm-operator", {"templatePolicy": {"enabled": True, "nodeSetImages": images}}), "ValidatingAdmissionPolicy")
    assert json.loads(next(each["expression"] for each in policy["spec"]["variables"] if each["name"] == "images")) == images
    for bad in ("a*b", "", "a b"):
        with pytest.raises(RenderError, match="nodeSetImages"):
            render("slurm-operator", {"templatePolicy": {"enabled": True, "nodeSetImages": [bad]}})


def test_nothing_is_aggregated_to_the_roles_of_users():
    """Who may create these resources may run any pod."""
    for chart in ("slurm-operator", "slurm-operator-crds"):
        assert "rbac.authorization.k8s.io/aggregate-to" not in str(render(chart))
