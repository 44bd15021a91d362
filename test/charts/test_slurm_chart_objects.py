"""Which objects the chart makes, their names and their own fields."""
import pytest
from helm_render import RenderError, merged, pick, pick_all, render


CHART_LABELS = {"helm.sh/chart": "slurm-0.1.0", "app.kubernetes.io/part-of": "slurm", "app.kubernetes.io/version": "26.05",
                "app.kubernetes.io/managed-by": "Helm"}


def spec(kind, name=None, **values):
    return pick(render(values=values), kind, name)["spec"]


def test_default_installation_is_a_controller_and_a_rest_api():
    assert sorted(d["kind"] for d in render()) == ["Controller", "NetworkPolicy", "NetworkPolicy", "RestApi"]


@pytest.mark.parametrize("release, values, fullname", [
    ("slurm", {}, "slurm"),
    ("my-slurm", {}, "my-slurm"),
    ("prod", {}, "prod-slurm"),
    ("prod", {"nameOverride": "x"}, "prod-x"),
    ("prod", {"fullnameOverride": "hpc"}, "hpc"),
])
def test_all_names_begin_with_the_fullname(release, values, fullname):
    more = {"nodesets": {"a": {}}, "loginsets": {"b": {}}, "accounting": {"enabled": True}}
    documents = render(values=merged(values, more), release=release)
    names = {d["kind"]: d["metadata"]["name"] for d in documents}
    assert names.pop("NetworkPolicy").startswith(f"{fullname}-")
    assert names == {
        "Controller": fullname, "RestApi": fullname, "Accounting": fullname,
        "NodeSet": f"{fullname}-worker-a", "LoginSet": f"{fullname}-login-b", "Secret": f"{fullname}-sssd-conf",
    }
    assert {pick(documents, kind)["spec"]["controllerRef"]["name"] for kind in ("RestApi", "NodeSet", "LoginSet")} == {fullname}


@pytest.mark.parametrize("values, sentence", [
    ({"fullnameOverride": "x" * 42}, "41 are possible"),
    ({"fullnameOverride": "x" * 42, "controller": {"external": True}, "accounting": {"enabled": True}}, "41 are possible"),
    ({"fullnameOverride": "x" * 39, "accounting": {"enabled": True, "database": {"embedded": {"enabled": True}}}}, "38 are possible"),
    ({"nodesets": {"n" * 51: {}}}, "63 are possible"),
    ({"loginsets": {"n" * 52: {}}}, "63 are possible"),
    ({"nodesets": {"Upper": {}}}, "worker set Upper: a name is made of small letters"),
    ({"nodesets": {"a.b": {}}}, "worker set a.b: a name is made of small letters"),
    ({"loginsets": {"a_b": {}}}, "login set a_b: a name is made of small letters"),
])
def test_name_that_kubernetes_would_refuse_later_is_refused_now(values, sentence):
    with pytest.raises(RenderError, match=sentence):
        render(values=values)


def test_every_object_is_labelled_and_in_the_namespace():
    values = {"nodesets": {"a": {}}, "loginsets": {"b": {}}, "accounting": {"enabled": True}, "configFiles": {"a": "b"},
              "restapi": {"pdb": {"enabled": True}}, "namespaceOverride": "elsewhere"}
    for document in render(values=values):
        assert document["metadata"]["namespace"] == "elsewhere"
        assert CHART_LABELS.items() <= document["metadata"]["labels"].items()
        assert document["kind"] == "PodDisruptionBudget" or document["metadata"]["labels"] == CHART_LABELS


def test_external_controller_has_nothing_but_its_address_and_keys():
    values = {"controller": {"external": True, "externalConfig": {"host": "ctl.example.com"}}, "clusterName": "x", "configFiles": {"a": "b"}}
    assert spec("Controller", **values) == {
        "external": True, "externalConfig": {"host": "ctl.example.com", "port": 6817},
        "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}, "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}}


def test_external_controller_still_gets_a_rest_api_and_workers():
    documents = render(values={"controller": {"external": True}, "nodesets": {"a": {}}})
    assert sorted(d["kind"] for d in documents) == ["Controller", "NetworkPolicy", "NodeSet", "RestApi"]


def test_cluster_name_is_given_only_when_set():
    assert "clusterName" not in spec("Controller")
    assert spec("Controller", clusterName="hpc")["clusterName"] == "hpc"


@pytest.mark.parametrize("given, expected", [
    ({}, {"enabled": True, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}),
    ({"storageClassName": "fast"}, {"enabled": True, "storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}),
    ({"storageClassName": ""}, {"enabled": True, "storageClassName": "", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}),
    ({"storageClassName": "-"}, {"enabled": True, "storageClassName": "", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}),
    ({"existingClaim": "mine"}, {"enabled": True, "existingClaim": "mine"}),
    ({"enabled": False}, {"enabled": False}),
])
def test_persistence(given, expected):
    assert spec("Controller", controller={"persistence": given})["persistence"] == expected


def test_high_availability_and_metrics_appear_when_enabled():
    assert not {"ha", "metrics"} & set(spec("Controller"))
    found = spec("Controller", controller={"ha": {"enabled": True, "backups": 2}, "metrics": {"enabled": True}})
    assert found["ha"] == {"enabled": True, "backups": 2}
    assert found["metrics"]["enabled"] is True
    assert [e["path"] for e in found["metrics"]["serviceMonitor"]["endpoints"]] == [f"/metrics/{x}" for x in ("jobs", "nodes", "partitions", "scheduler")]


def test_inplace_reconfigure_is_passed_on():
    assert [spec("Controller", controller={"inplaceReconfigure": on})["inplaceReconfigure"] for on in (False, True)] == [False, True]


def test_accounting_is_linked_to_the_controller():
    documents = render(values={"accounting": {"enabled": True}})
    assert pick(documents, "Controller")["spec"]["accountingRef"] == {"name": "slurm"}
    accounting = pick(documents, "Accounting")["spec"]
    assert accounting["slurmKeyRef"] == {"name": "slurm-auth-slurm", "key": "slurm.key"}
    assert accounting["jwtKeyRef"] == {"name": "slurm-auth-jwt", "key": "jwt.key"}
    assert accounting["storageConfig"] == {"host": "mariadb", "port": 3306, "database": "slurm_acct_db", "username": "slurm",
                                           "passwordKeyRef": {"name": "mariadb-password", "key": "password"}}


def test_embedded_database_is_an_annotation_and_needs_nothing_of_the_user():
    found = pick(render(values={"accounting": {"enabled": True, "database": {"embedded": {"enabled": True, "size": "5Gi"}}}}), "Accounting")
    assert found["metadata"]["annotations"] == {"capstan.dev/embedded-database": "5Gi"}
    assert "storageConfig" not in found["spec"]
    assert "annotations" not in pick(render(values={"accounting": {"enabled": True}}), "Accounting")["metadata"]


def test_external_accounting_has_no_embedded_database():
    with pytest.raises(RenderError, match="accounting.database.embedded and accounting.external exclude each other"):
        render(values={"accounting": {"enabled": True, "external": True, "database": {"embedded": {"enabled": True}}}})


def test_external_accounting_has_nothing_but_its_address():
    values = {"enabled": True, "external": True, "externalConfig": {"host": "dbd", "port": 7}, "extraConf": "A=1"}
    assert spec("Accounting", accounting=values) == {"external": True, "externalConfig": {"host": "dbd", "port": 7}}


@pytest.mark.parametrize("given, expected", [
    ({}, {"minAvailable": 1}),
    ({"minAvailable": "50%"}, {"minAvailable": "50%"}),
    ({"minAvailable": 0}, {"minAvailable": 0}),
    ({"maxUnavailable": 1}, {"maxUnavailable": 1}),
    ({"maxUnavailable": 0}, {"maxUnavailable": 0}),
    ({"maxUnavailable": "25%", "minAvailable": None}, {"maxUnavailable": "25%"}),
])
def test_disruption_budget_has_exactly_one_of_its_two_numbers(given, expected):
    found = pick(render(values={"restapi": {"pdb": merged({"enabled": True}, given)}}), "PodDisruptionBudget", "slurm-restapi")
    pods = {"app.kubernetes.io/name": "slurmrestd", "app.kubernetes.io/instance": "slurm"}
    assert found["metadata"]["labels"] == {**CHART_LABELS, **pods}
    assert found["spec"] == {**expected, "selector": {"matchLabels": pods}, "unhealthyPodEvictionPolicy": "AlwaysAllow"}


def test_disruption_budget_without_a_number_is_refused():
    with pytest.raises(RenderError, match="restapi.pdb: a disruption budget needs minAvailable or maxUnavailable"):
        render(values={"restapi": {"pdb": {"enabled": True, "minAvailable": None}}})


@pytest.mark.parametrize("values, made", [({}, False), ({"enabled": True}, False), ({"create": True}, False), ({"enabled": True, "create": True}, True)])
def test_priority_class_is_made_when_enabled_and_wanted(values, made):
    found = pick_all(render(values={"priorityClass": values}), "PriorityClass")
    assert bool(found) == made
    for one in found:
        assert (one["metadata"]["name"], one["value"], one["globalDefault"]) == ("slurm-system-critical", 1000000000, False)


def test_node_set_defaults():
    found = spec("NodeSet", nodesets={"a": {}})
    assert found == {
        "controllerRef": {"name": "slurm"}, "scalingMode": "StatefulSet", "pinToNode": False, "workloadDisruptionProtection": True,
        "pruneSlurmNodeRecords": "Never", "ordinalPadding": 0, "oversubscribeNode": False,
        "slurmd": {"image": "capstan/slurmd:26.05", "imagePullPolicy": "IfNotPresent"},
        "logfile": {"image": "capstan/slurmd:26.05", "imagePullPolicy": "IfNotPresent"},
        "template": {"spec": {"hostname": "a-", "nodeSelector": {"kubernetes.io/os": "linux"}}},
        "partition": {"enabled": False}, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%"}}}


def test_node_set_is_merged_over_the_defaults_and_falsy_values_count():
    defaults = {"replicas": 5, "oversubscribeNode": True, "workloadDisruptionProtection": True, "slurmd": {"resources": {"limits": {"cpu": 4, "memory": "8Gi"}}}}
    own = {"replicas": 0, "oversubscribeNode": False, "workloadDisruptionProtection": False, "slurmd": {"resources": {"limits": {"cpu": 8, "memory": None}}}}
    documents = render(values={"nodesetDefaults": defaults, "nodesets": {"a": own, "b": None}})
    changed, untouched = (pick(documents, "NodeSet", f"slurm-worker-{key}")["spec"] for key in "ab")
    assert [changed[key] for key in ("replicas", "oversubscribeNode", "workloadDisruptionProtection")] == [0, False, False]
    assert changed["slurmd"]["resources"] == {"limits": {"cpu": 8}}
    assert [untouched[key] for key in ("replicas", "oversubscribeNode")] == [5, True]


@pytest.mark.parametrize("fields", [{}, {"replicas": None}, {"replicas": 3, "scalingMode": "DaemonSet"}])
def test_number_of_workers_is_left_out_when_something_else_decides_it(fields):
    """A default of one in the chart was written over what kubectl or an autoscaler had set, or met it as a conflict."""
    assert "replicas" not in spec("NodeSet", nodesets={"a": fields})


@pytest.mark.parametrize("kind, sets", [("NodeSet", "nodesets"), ("LoginSet", "loginsets")])
def test_number_that_is_given_is_written_even_when_it_is_zero(kind, sets):
    assert spec(kind, **{sets: {"a": {"replicas": 0}}})["replicas"] == 0
    assert "replicas" not in spec(kind, **{sets: {"a": {}}})


@pytest.mark.parametrize("kind, sets", [("NodeSet", "nodesets"), ("LoginSet", "loginsets")])
@pytest.mark.parametrize("prefix, annotations", [
    ("capstan", {"mine": "x"}), ("registry.example.org/hpc/", {"mine": "x", "capstan.dev/image-prefix": "registry.example.org/hpc"})])
def test_images_of_another_prefix_are_known_to_the_operator(kind, sets, prefix, annotations):
    """Its logins did not wait for their sessions when the operator's own images began otherwise."""
    own = {"metadata": {"annotations": {"mine": "x"}}}
    assert pick(render(values={"imagePrefix": prefix, sets: {"a": own}}), kind)["metadata"]["annotations"] == annotations
    own["metadata"]["annotations"]["capstan.dev/image-prefix"] = "elsewhere"
    assert pick(render(values={"imagePrefix": prefix, sets: {"a": own}}), kind)["metadata"]["annotations"]["capstan.dev/image-prefix"] == "elsewhere"


@pytest.mark.parametrize("key", ["nodesets", "loginsets"])
def test_disabled_set_is_not_made(key):
    assert sorted(d["kind"] for d in render(values={key: {"a": {"enabled": False}}})) == ["Controller", "NetworkPolicy", "NetworkPolicy", "RestApi"]


@pytest.mark.parametrize("given, expected", [
    ({"type": "OnDelete"}, {"type": "OnDelete"}),
    ({"rollingUpdate": {"maxUnavailable": 1}}, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}),
    ({"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "2030-01-01T00:00:00Z", "duration": "1h"}},
     {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "2030-01-01T00:00:00Z", "duration": "1h"}}),
])
def test_update_strategy_says_only_what_is_in_use(given, expected):
    assert spec("NodeSet", nodesets={"a": {"updateStrategy": given}})["updateStrategy"] == expected


@pytest.mark.parametrize("field, value", [
    ("minReadySeconds", 5), ("revisionHistoryLimit", 0), ("persistentVolumeClaimRetentionPolicy", {"whenDeleted": "Delete"}),
    ("volumeClaimTemplates", [{"metadata": {"name": "scratch"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]), ("ordinalPadding", 3)])
def test_further_node_set_field_is_passed_on(field, value):
    assert spec("NodeSet", nodesets={"a": {field: value}})[field] == value


def test_host_name_of_the_workers_can_be_given():
    assert spec("NodeSet", nodesets={"a": {"podSpec": {"hostname": "gpu-"}}})["template"]["spec"]["hostname"] == "gpu-"


def test_login_set_fields():
    found = spec("LoginSet", loginsets={"a": {"replicas": 2, "strategy": {"type": "Recreate"}, "rootSshAuthorizedKeys": "ssh-ed25519 AAAA\n", "extraSshdConfig": "X yes"}})
    assert (found["replicas"], found["strategy"], found["rootSshAuthorizedKeys"], found["extraSshdConfig"]) == (2, {"type": "Recreate"}, "ssh-ed25519 AAAA\n", "X yes")
    assert found["service"] == {"spec": {"type": "LoadBalancer"}}
    assert found["sssdConfRef"] == {"name": "slurm-sssd-conf", "key": "sssd.conf"}


def test_homes_are_mounted_where_people_and_their_jobs_are():
    own = {"login": {"volumeMounts": [{"name": "x", "mountPath": "/x"}]}, "podSpec": {"volumes": [{"name": "x", "emptyDir": {}}]}}
    documents = render(values={"homes": {"existingClaim": "mine"}, "loginsets": {"a": own}, "nodesets": {"b": {}}})
    login, workers = pick(documents, "LoginSet")["spec"], pick(documents, "NodeSet")["spec"]
    mount, volume = {"name": "homes", "mountPath": "/home"}, {"name": "homes", "persistentVolumeClaim": {"claimName": "mine"}}
    assert login["login"]["volumeMounts"] == [own["login"]["volumeMounts"][0], mount]
    assert login["template"]["spec"]["volumes"] == [own["podSpec"]["volumes"][0], volume]
    assert (workers["slurmd"]["volumeMounts"], workers["template"]["spec"]["volumes"]) == ([mount], [volume])


@pytest.mark.parametrize("values, made", [
    ({}, False),
    ({"nodesets": {"a": {}}}, False),
    ({"loginsets": {"a": {"enabled": False}}}, False),
    ({"loginsets": {"a": {}}}, True),
    ({"nodesets": {"a": {"ssh": {"enabled": True}}}}, True),
    ({"nodesets": {"a": {"ssh": {"enabled": True}, "enabled": False}}}, False),
    ({"loginsets": {"a": {}}, "sssd": {"secretRef": {"name": "mine"}}}, False),
])
def test_sssd_secret_is_made_when_somebody_needs_it(values, made):
    assert bool(pick_all(render(values=values), "Secret", "slurm-sssd-conf")) == made


def test_workers_with_ssh_use_the_sssd_secret():
    values = {"nodesets": {"a": {"ssh": {"enabled": True, "extraSshdConfig": "X yes"}}}, "sssd": {"secretRef": {"name": "mine", "key": "conf"}}}
    assert spec("NodeSet", **values)["ssh"] == {"enabled": True, "extraSshdConfig": "X yes", "sssdConfRef": {"name": "mine", "key": "conf"}}


def test_sssd_secret_holds_the_given_text():
    secret = pick(render(values={"loginsets": {"a": {}}, "sssd": {"conf": "[sssd]\n"}}), "Secret")
    assert (secret["type"], secret["stringData"]) == ("Opaque", {"sssd.conf": "[sssd]\n"})


@pytest.mark.parametrize("chart", ["slurm", "slurm-operator"])
def test_extra_objects_are_maps_or_text_with_expressions(chart):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-text\n"
    mapped = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-map"}, "data": {"n": "1"}}
    names = [d["metadata"]["name"] for d in pick_all(render(chart, {"extraObjects": [text, mapped]}), "ConfigMap")]
    assert sorted(names) == [f"{chart}-map", f"{chart}-text"]
