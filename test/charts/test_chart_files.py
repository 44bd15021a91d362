"""Promises about the files of all charts: tables, schemas, versions, hosts, notes, the demo."""
import json
import re
import subprocess

import pytest
import yaml
from helm_render import CHART_NAMES, CHARTS, REPOSITORY, RenderError, nested, notes, pick, pick_all, render

every_chart = pytest.mark.parametrize("chart", CHART_NAMES)
DEMO = REPOSITORY / "examples" / "demo" / "values.yaml"
CRDS = ("accountings", "controllers", "loginsets", "nodesets", "restapis", "tokens")
DEFINITIONS = [*(f"{plural}.slinky.slurm.net" for plural in CRDS), "sharedroots.capstan.dev", "slurmclusters.capstan.dev"]


def chart_yaml(chart, file):
    return yaml.safe_load((CHARTS / chart / file).read_text(encoding="utf-8"))


def leaves(value, path=()):
    """Paths of all keys, down to lists, texts, numbers and empty maps."""
    if not isinstance(value, dict) or not value:
        yield path
        return
    for key, inner in value.items():
        yield from leaves(inner, (*path, key))


def schema_of(schema, path):
    """The part of the schema that describes a path; None when nothing does."""
    node = schema
    for key in path:
        alternatives = [one for one in node.get("oneOf", [node]) if "properties" in one or "patternProperties" in one]
        node = next(iter(alternatives), {})
        found = node.get("properties", {}).get(key) or next((inner for pattern, inner in node.get("patternProperties", {}).items() if re.search(pattern, key)), None)
        if found is None:
            return None
        reference = found.get("$ref", "").removeprefix("#/definitions/")
        node = schema["definitions"][reference] if reference else found
    return node


def test_tables_of_values_are_up_to_date():
    done = subprocess.run([CHARTS / "values-table", "--check"], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_files_of_kustomize_are_those_of_the_chart():
    done = subprocess.run([REPOSITORY / "config" / "generate", "--check"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_kustomize_has_every_definition():
    listed = chart_yaml("slurm-operator-crds", "kustomization.yaml")["resources"]
    assert listed == ["templates/capstan.dev_sharedroots.yaml", "templates/capstan.dev_slurmclusters.yaml", *(f"templates/slinky.slurm.net_{plural}.yaml" for plural in CRDS)]


@pytest.mark.parametrize("chart", ["slurm", "slurm-operator"])
def test_every_value_stands_in_the_table(chart):
    rows = set(re.findall(r"^\| `([^`]+)` \|", (CHARTS / chart / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    missing = [".".join(path) for path in leaves(chart_yaml(chart, "values.yaml")) if not {".".join(path[:n]) for n in range(1, len(path) + 1)} & rows]
    assert missing == []


@pytest.mark.parametrize("chart", ["slurm", "slurm-operator"])
def test_schema_describes_every_default(chart):
    schema = json.loads((CHARTS / chart / "values.schema.json").read_text(encoding="utf-8"))
    free_form = ("podSpec", "passwordKeyRef", "requests", "spec", "securityContext", "configMap")  # any key may stand below these
    paths = [path for path in leaves(chart_yaml(chart, "values.yaml")) if not set(path[:-1]) & set(free_form)]
    assert [".".join(path) for path in paths if schema_of(schema, path) is None] == []


@pytest.mark.parametrize("chart, path, value", [
    ("slurm", "controller.ha.backups", 0),
    ("slurm", "controller.extraConf", ["a"]),
    ("slurm", "controller.persistence.enabled", "yes"),
    ("slurm", "clusterName", "x" * 41),
    ("slurm", "configFiles", {"with blank": "x"}),
    ("slurm", "configFiles", {"cgroup.conf": {"CgroupPlugin": "disabled"}}),
    ("slurm", "imagePullSecrets", ["text"]),
    ("slurm", "imagePullPolicy", "Sometimes"),
    ("slurm", "nodesets.a.scalingMode", "Deployment"),
    ("slurm", "nodesets.a.replicas", -1),
    ("slurm", "nodesets.a.updateStrategy.rollingUpdate.maxUnavailable", "half"),
    ("slurm", "prologScriptRefs", [{}]),
    ("slurm", "accounting.database.embedded.size", "2 GB"),
    ("slurm", "vendor.nvidia.dcgm.jobMappingDir", "/a b"),
    ("slurm", "restapi.replicas", "two"),
    ("slurm-operator", "operator.replicas", "two"),
    ("slurm-operator", "operator.namespaces", ["a"]),
    ("slurm-operator", "crds.enabled", "no"),
])
def test_value_of_a_wrong_type_is_refused_and_named(chart, path, value):
    with pytest.raises(RenderError) as error:
        render(chart, nested(path, value))
    assert "/" + path.replace(".", "/") in str(error.value)


@pytest.mark.parametrize("chart, path", [
    ("slurm", "controller.persistence"), ("slurm", "controller.persistence.enabled"), ("slurm", "slurmKey.create"), ("slurm", "jwtKey.secretRef"),
    ("slurm", "controller.metrics"), ("slurm", "sssd"), ("slurm", "nodesetDefaults"), ("slurm", "imagePrefix"),
    ("slurm", "accounting.database.embedded"), ("slurm", "vendor"), ("slurm", "vendor.nvidia.dcgm.jobMappingDir"), ("slurm", "homes"),
    ("slurm-operator", "operator"), ("slurm-operator", "operator.metricsSecure"), ("slurm-operator", "crds")])
def test_null_is_refused_where_it_would_silently_mean_something_else(chart, path):
    """Helm takes a value of null away, default and all; without `persistence.enabled` a cluster would lose its jobs with the next restart."""
    with pytest.raises(RenderError, match=f"missing property '{path.split('.')[-1]}'"):
        render(chart, nested(path, None))


@every_chart
def test_unknown_values_are_accepted(chart):
    assert render(chart, {"somethingElse": 1, "vendor": {"other": {"enabled": True}}}) == render(chart)


def test_notes_name_values_without_effect():
    said = notes(values={"somethingElse": 1, "vendor": {"google": {"a3mega": [{"targetNodeSet": "x", "nodePool": "p"}]}}, "controller": {"persistance": {}}, "restapi": {"z": 1}, "accounting": {"y": 1}, "nodesets": {"a": {"replicaz": 1}}, "loginsets": {"b": {"x": 1}}, "slurmKey": {"annotations": {"a": "b"}}})
    for name in ("somethingElse", "vendor.google.a3mega: there is no node set x", "controller.persistance", "restapi.z", "accounting.y", "nodesets.a.replicaz", "loginsets.b.x", "slurmKey.annotations"):
        assert f"\n  {name}\n" in said


@pytest.mark.parametrize("path", ["nodesetDefaults.replicaz", "loginsetDefaults.strategie", "nodesetDefaults.partition.enabeld", "nodesets.a.ssh.enable",
                                  "nodesets.a.updateStrategy.kind", "loginsets.b.metadata.label"])
def test_notes_name_misspelt_keys_of_sets_and_of_their_defaults(path):
    """Keys of the defaults counted as known because they stood there."""
    assert f"\n  {path}\n" in notes(values=nested(path, {"x": "y"}))


@pytest.mark.parametrize("values, says, never", [
    ({}, "scale nodesets.slinky.slurm.net/slurm-worker-a --replicas=N", "next `helm upgrade`"),
    ({"replicas": 3}, "The number of workers is nodesets.a.replicas", "replicas=N"),
    ({"replicas": 3, "scalingMode": "DaemonSet"}, "slurm-worker-a", "replicas"),
])
def test_notes_say_who_changes_the_number_of_workers(values, says, never):
    said = notes(values={"nodesets": {"a": values}})
    assert says in said and never not in said


def test_notes_say_how_to_uninstall_without_losing_a_job():
    said = notes(values={"nodesets": {"a": {}, "b": {}}})
    assert "ends all jobs at once" in said
    assert "\n  kubectl --namespace ns delete nodesets.slinky.slurm.net/slurm-worker-a nodesets.slinky.slurm.net/slurm-worker-b\n" in said
    assert "ends all jobs" not in notes(values={"nodesets": {}})


def test_notes_warn_when_jobs_would_be_forgotten():
    assert "forgets all jobs" in notes(values={"controller": {"persistence": {"enabled": False}}})


def test_notes_of_the_defaults_warn_of_nothing():
    assert "WARNING" not in notes()


@pytest.mark.parametrize("values, command", [
    ({"replicas": 3}, "exec slurm-worker-a-0 --container slurmd -- srun --nodes 3 hostname"),
    ({"ordinalPadding": 3}, "exec slurm-worker-a-000 --container slurmd -- srun --nodes 1 hostname"),
    ({"scalingMode": "DaemonSet"}, "--selector app.kubernetes.io/instance=slurm-worker-a "),
])
def test_notes_say_how_to_run_a_first_job(values, command):
    assert command in notes(values={"nodesets": {"a": values}})


def test_notes_say_what_is_missing_for_a_first_job():
    assert "There is no node set yet" in notes()
    assert "No partition is defined" in notes(values={"nodesets": {"a": {}}})


@pytest.mark.parametrize("values", [
    {"partitions": {"all": {"enabled": True}}},
    {"nodesets": {"a": {"partition": {"enabled": True}}}},
    {"controller": {"extraConf": "PartitionName=x Nodes=ALL"}},
])
def test_notes_see_each_kind_of_partition(values):
    assert "No partition is defined" not in notes(values={"nodesets": {"a": {}}, **values})


def test_notes_warn_of_nothing_that_works():
    assert "WARNING" not in notes(values={"accounting": {"enabled": True}, "nodesets": {"a": {"ssh": {"enabled": True}}}, "loginsets": {"b": {}}})


@pytest.mark.parametrize("service, command", [
    ({}, "ssh -p 22 USER@\"$(kubectl --namespace ns get service slurm-login-a --output jsonpath='{.status.loadBalancer.ingress[0].ip}"),
    ({"port": 2222}, "ssh -p 2222 USER@"),
    ({"spec": {"type": "NodePort"}}, "ssh -p \"$(kubectl --namespace ns get service slurm-login-a --output jsonpath='{.spec.ports[0].nodePort}')\" USER@NODE"),
    ({"spec": {"type": "ClusterIP"}}, "jsonpath='{.spec.clusterIP}')\"   # from within the cluster"),
])
def test_notes_say_how_to_log_in(service, command):
    assert command in notes(values={"loginsets": {"a": {"service": service}}})


def test_notes_speak_of_the_history_of_jobs_and_of_homes_only_where_there_are_any():
    assert "sacct" not in notes() and "sacct" in notes(values={"accounting": {"enabled": True}})
    without = "homes.existingClaim is not set: "
    assert without not in notes() and without in notes(values={"loginsets": {"a": {}}})
    assert without not in notes(values={"loginsets": {"a": {}}, "homes": {"existingClaim": "h"}})


def test_notes_say_that_the_database_for_trials_is_not_for_production():
    embedded = {"accounting": {"enabled": True, "database": {"embedded": {"enabled": True}}}}
    assert "accounting.database.embedded is for trials and not for production" in notes(values=embedded)
    assert "mariadb-password with the key password" in notes(values={"accounting": {"enabled": True}})
    assert "mariadb-password" not in notes(values=embedded)


def test_logo_can_be_left_out():
    assert "C A P S T A N" in notes()
    assert "C A P S T A N" not in notes(values={"asciiArt": False})


@every_chart
def test_no_default_names_a_registry_host(chart):
    documents = render(chart, {"nodesets": {"a": {}}, "loginsets": {"a": {}}, "accounting": {"enabled": True}} if chart == "slurm" else None)
    images = re.findall(r'"image": "([^"]+)"', json.dumps(documents))
    assert bool(images) == (chart != "slurm-operator-crds")
    for image in images:
        host = image.split("/")[0]
        assert "." not in host and ":" not in host and host != "localhost", image


@every_chart
def test_chart_has_the_version_of_the_product(chart):
    version = (REPOSITORY / "VERSION").read_text(encoding="utf-8").strip()
    about = chart_yaml(chart, "Chart.yaml")
    assert about["version"] == version
    assert about["appVersion"] == ("26.05" if chart == "slurm" else version)
    assert {dependency["version"] for dependency in about.get("dependencies", [])} <= {version}


def test_demo_needs_no_cgroups_and_leaves_the_number_of_workers_alone():
    """With a number in its values the second `make demo` met a conflict with whoever had scaled in between."""
    documents = render(values=yaml.safe_load(DEMO.read_text(encoding="utf-8")))
    assert pick(documents, "ConfigMap", "slurm-config-extra")["data"] == {"cgroup.conf": "CgroupPlugin=disabled\n"}
    assert pick(documents, "Controller")["spec"]["extraConf"].splitlines() == [
        "JobAcctGatherType=jobacct_gather/none", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
        "PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED"]
    assert "replicas" not in pick(documents, "NodeSet", "slurm-worker-slinky")["spec"]


def test_demo_has_the_ldap_server_of_this_version():
    version = (REPOSITORY / "VERSION").read_text(encoding="utf-8").strip()
    assert f"image: capstan/slapd:{version}\n" in (DEMO.parent / "ldap.yaml").read_text(encoding="utf-8")


def test_demo_reaches_its_directory_past_kube_proxy():
    """A connection that kube-proxy first rejected made every login take a minute: docs/users.md."""
    text = (DEMO.parent / "ldap.yaml").read_text(encoding="utf-8")
    service, = (one for one in yaml.safe_load_all(text) if one["kind"] == "Service")
    port, = service["spec"]["ports"]
    assert (service["spec"]["clusterIP"], port.keys()) == ("None", {"name", "port"})
    assert f"ldap_uri = ldap://{service['metadata']['name']}:{port['port']}\n" in (DEMO.parent / "people.yaml").read_text(encoding="utf-8")


def test_every_definition_survives_an_uninstallation():
    definitions = pick_all(render("slurm-operator-crds"), "CustomResourceDefinition")
    assert sorted(d["metadata"]["name"] for d in definitions) == sorted(DEFINITIONS)
    assert [d["metadata"]["name"] for d in definitions if d["metadata"].get("annotations", {}).get("helm.sh/resource-policy") != "keep"] == []


def test_notes_name_every_definition_that_remains():
    said = notes("slurm-operator-crds")
    assert "delete customresourcedefinition " + " ".join(DEFINITIONS) in said


def test_operator_installs_the_definitions_only_when_asked():
    assert pick_all(render("slurm-operator"), "CustomResourceDefinition") == []
    assert len(pick_all(render("slurm-operator", {"crds": {"enabled": True}}), "CustomResourceDefinition")) == len(DEFINITIONS)


def test_the_rendering_of_the_demo_is_of_the_chart_as_it_is():
    # The input of src/render/render_test.cc. It is made by
    #   helm template slurm charts/slurm --namespace slurm --values examples/demo/values.yaml --values examples/demo/people.yaml
    arguments = [word for name in ("values.yaml", "people.yaml") for word in ("--values", str(DEMO.with_name(name)))]
    now = render(namespace="slurm", arguments=tuple(arguments))
    text = (REPOSITORY / "src" / "render" / "testdata" / "demo.in.yaml").read_text()
    assert now == [document for document in yaml.safe_load_all(text) if document]
