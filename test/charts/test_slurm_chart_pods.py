"""Containers, images and pod templates of the five resources that have them."""
import pytest
from helm_render import RenderError, merged, nested, pick, render

# resource, where its values are, the main container's key, its default image, what makes the chart render it
COMPONENTS = {
    "Controller": ("controller", "slurmctld", "slurmctld", {}),
    "RestApi": ("restapi", "slurmrestd", "slurmrestd", {}),
    "Accounting": ("accounting", "slurmdbd", "slurmdbd", {"accounting": {"enabled": True}}),
    "LoginSet": ("loginsets.a", "login", "login", {"loginsets": {"a": {}}}),
    "NodeSet": ("nodesets.a", "slurmd", "slurmd", {"nodesets": {"a": {}}}),
}
SIDECARS = {
    "controller.reconfigure": ("Controller", "slurmctld"),
    "controller.logfile": ("Controller", "slurmctld"),
    "nodesets.a.logfile": ("NodeSet", "slurmd"),
    "loginsets.a.initconf": ("LoginSet", "login"),
}
ALL = merged(*(row[3] for row in COMPONENTS.values()))
every_component = pytest.mark.parametrize("kind", COMPONENTS)


def rendered_with(kind, path, value, **more):
    """The resource of this kind, when one value stands under the part of each of the five. "MAIN" in the path is the main container's key."""
    given = [merged(enabling, nested(f"{base}.{path.replace('MAIN', main)}", value)) for base, main, _, enabling in COMPONENTS.values()]
    return pick(render(values=merged(*given, more)), kind)


def container(kind, path, value, **more):
    return rendered_with(kind, f"MAIN.{path}", value, **more)["spec"][COMPONENTS[kind][1]]


def pod_spec(kind, path, value, **more):
    return rendered_with(kind, f"podSpec.{path}", value, **more)["spec"]["template"]["spec"]


@every_component
def test_default_image_has_only_the_prefix(kind):
    _, main, image, _ = COMPONENTS[kind]
    spec = pick(render(values=ALL), kind)["spec"]
    assert spec[main]["image"] == f"capstan/{image}:26.05"


@every_component
def test_prefix_moves_every_default_image(kind):
    _, main, image, _ = COMPONENTS[kind]
    spec = pick(render(values=merged(ALL, {"imagePrefix": "my.registry/hpc/"})), kind)["spec"]
    assert spec[main]["image"] == f"my.registry/hpc/{image}:26.05"


@every_component
@pytest.mark.parametrize("image, reference", [
    ("host:5000/x/y:1", "host:5000/x/y:1"),
    ({"repository": "x/y", "tag": "1"}, "x/y:1"),
    ({"repository": "x/y", "tag": 1}, "x/y:1"),
    ({"repository": "x/y", "tag": 1.2}, "x/y:1.2"),
    ({"repository": "x/y", "tag": 20261122}, "x/y:20261122"),
    ({"repository": "x/y", "digest": "sha256:ab"}, "x/y@sha256:ab"),
    ({"repository": "x/y", "tag": "1", "digest": "sha256:ab"}, "x/y@sha256:ab"),
])
def test_given_image_is_used_as_it_is(kind, image, reference):
    assert container(kind, "image", image, imagePrefix="unused")["image"] == reference


@every_component
@pytest.mark.parametrize("image, sentence", [
    (None, "image is required"),
    ("", "image is required"),
])
def test_missing_image_is_an_error_that_names_the_value(kind, image, sentence):
    base, main, _, enabling = COMPONENTS[kind]
    with pytest.raises(RenderError, match=f"{base}.{main}.image: an {sentence}"):
        render(values=merged(enabling, nested(f"{base}.{main}.image", image)))


@pytest.mark.parametrize("image, reference", [
    ({"tag": "dev"}, "pre/{}:dev"),
    ({"repository": None, "tag": "dev"}, "pre/{}:dev"),
    ({"repository": "x/y"}, "x/y:26.05"),
    ({"repository": "x/y", "tag": None}, "x/y:26.05"),
    ({"digest": "sha256:ab"}, "pre/{}@sha256:ab"),
])
@pytest.mark.parametrize("where", [*(f"{base}.{main}" for base, main, _, _ in COMPONENTS.values()), *SIDECARS])
def test_image_of_which_one_part_is_given_takes_the_other_from_the_chart(where, image, reference):
    """A sidecar, whose default has no parts, was refused."""
    base, block = where.rsplit(".", 1)
    kind, name = next((kind, row[2]) for kind, row in COMPONENTS.items() if row[0] == base)
    documents = render(values=merged(ALL, {"imagePrefix": "pre"}, nested(f"{where}.image", image)))
    assert pick(documents, kind)["spec"][block]["image"] == reference.format(name)


@pytest.mark.parametrize("where", SIDECARS)
def test_sidecar_uses_the_image_of_its_main_container(where):
    kind, main = SIDECARS[where]
    base = where.rsplit(".", 1)[0]
    values = merged(ALL, nested(f"{base}.{main}.image", "x/y:1"))
    assert pick(render(values=values), kind)["spec"][where.rsplit(".", 1)[1]]["image"] == "x/y:1"


@pytest.mark.parametrize("where", SIDECARS)
def test_sidecar_takes_an_image_of_its_own(where):
    kind, _ = SIDECARS[where]
    values = nested(f"{where}.image", {"repository": "x/side", "tag": "2"})
    assert pick(render(values=values), kind)["spec"][where.rsplit(".", 1)[1]]["image"] == "x/side:2"


@every_component
def test_any_container_field_passes_through(kind):
    probe = {"exec": {"command": ["true"]}, "failureThreshold": 3}
    assert container(kind, "livenessProbe", probe)["livenessProbe"] == probe


@every_component
@pytest.mark.parametrize("field, value", [
    ("resources", {"limits": {"cpu": 2, "memory": "4Gi"}}),
    ("args", ["-v"]),
    ("env", [{"name": "A", "value": "b"}]),
    ("securityContext", {"privileged": False, "runAsUser": 0}),
])
def test_container_field_is_kept(kind, field, value):
    assert container(kind, field, value)[field] == value


@every_component
def test_empty_defaults_are_left_to_the_operator(kind):
    main = COMPONENTS[kind][1]
    spec = pick(render(values=ALL), kind)["spec"]
    assert not {"args", "env", "resources", "volumeMounts"} & set(spec[main])
    assert set(spec["template"]["spec"]) <= {"nodeSelector", "hostname"}


@every_component
def test_pull_policy_is_the_global_one_unless_given(kind):
    values = merged(ALL, {"imagePullPolicy": "Always"})
    assert pick(render(values=values), kind)["spec"][COMPONENTS[kind][1]]["imagePullPolicy"] == "Always"
    assert container(kind, "imagePullPolicy", "Never", imagePullPolicy="Always")["imagePullPolicy"] == "Never"


@every_component
@pytest.mark.parametrize("field, value", [
    ("affinity", {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}),
    ("tolerations", [{"key": "gpu", "operator": "Exists"}]),
    ("topologySpreadConstraints", [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]),
    ("initContainers", [{"name": "x", "image": "x:1"}]),
    ("volumes", [{"name": "home", "emptyDir": {}}]),
    ("resources", {"limits": {"cpu": "1"}}),
    ("hostNetwork", False),
])
def test_pod_field_is_kept(kind, field, value):
    assert pod_spec(kind, field, value)[field] == value


@every_component
def test_node_selector_is_linux_and_can_grow(kind):
    assert pod_spec(kind, "nodeSelector", {"zone": "a"})["nodeSelector"] == {"kubernetes.io/os": "linux", "zone": "a"}


@every_component
def test_pod_metadata_is_kept(kind):
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    assert rendered_with(kind, "metadata", metadata)["spec"]["template"]["metadata"] == metadata


@every_component
def test_metadata_stands_on_the_resource_as_well(kind):
    """It reached the pods only, so that nobody found the resource by a label, nor the Service of a Controller."""
    given = {"labels": {"team": "hpc", "helm.sh/chart": "mine"}, "annotations": {"note": "x", "capstan.dev/generate-keys": "mine"}}
    found = rendered_with(kind, "metadata", given)["metadata"]
    assert found["labels"]["team"] == "hpc" and found["labels"]["helm.sh/chart"] == "slurm-0.1.0"
    assert found["annotations"] == {"note": "x", "capstan.dev/generate-keys": "true" if kind == "Controller" else "mine"}


@every_component
def test_global_pull_secrets_follow_the_pods_own(kind):
    found = pod_spec(kind, "imagePullSecrets", [{"name": "own"}], imagePullSecrets=[{"name": "global"}, {"name": "own"}])
    assert found["imagePullSecrets"] == [{"name": "own"}, {"name": "global"}]


@every_component
@pytest.mark.parametrize("values, name", [
    ({"enabled": False}, None),
    ({"enabled": True}, "slurm-system-critical"),
    ({"enabled": True, "name": "mine"}, "mine"),
    ({"enabled": True, "name": ""}, "slurm-priority-critical"),
])
def test_priority_class_is_on_all_pods_when_enabled(kind, values, name):
    documents = render(values=merged(ALL, {"priorityClass": values}))
    assert pick(documents, kind)["spec"]["template"]["spec"].get("priorityClassName") == name


@every_component
def test_a_pods_own_priority_class_wins(kind):
    assert pod_spec(kind, "priorityClassName", "own", priorityClass={"enabled": True})["priorityClassName"] == "own"


@every_component
def test_service_passes_through_where_there_is_one(kind):
    service = {"metadata": {"labels": {"a": "b"}}, "spec": {"type": "NodePort"}, "port": 7000, "nodePort": 30000}
    assert rendered_with(kind, "service", service)["spec"].get("service") == (None if kind == "NodeSet" else service)
