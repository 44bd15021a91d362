"""The custom resource definitions against a real API server: what they accept, refuse, fill in and show."""

import itertools
import json
import pathlib

import pytest
import yaml
from definitions import API, CRDS, DEFINITIONS

OBJECTS = [each for each in yaml.safe_load_all((pathlib.Path(__file__).parent / "objects.yaml").read_text()) if each]
NOTHING = "~"
numbers = itertools.count()


def whole(case, spec):
    """The object of a case, with `spec` if the case does not have the whole object."""
    given = case.get("object", {})
    metadata = {"name": f"object-{next(numbers)}"} | given.get("metadata", {})
    made = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": case["kind"], "metadata": metadata}
    if spec is None:
        spec = given.get("spec")
    return made if spec is None else made | {"spec": spec}


def at(value, path):
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return NOTHING
        value = value[key]
    return value


def attempt(server, case):
    """The answer to the request that the case is about."""
    collection = f"{API}/{case['kind'].lower()}s"
    first = whole(case, case.get("spec"))
    if "update" not in case and "status" not in case:
        return server.request("POST", f"{collection}?dryRun=All", first)
    created, answer = server.request("POST", collection, first)
    assert created == 201, answer.get("message")
    item = f"{collection}/{first['metadata']['name']}"
    try:
        if "status" in case:
            return server.request("PUT", f"{item}/status", answer | {"status": case["status"]})
        return server.request("PUT", item, answer | {"spec": case["update"]})
    finally:
        server.request("DELETE", item)


@pytest.mark.parametrize("case", OBJECTS, ids=lambda case: case["name"].replace(" ", "-"))
def test_object(server, case):
    status, answer = attempt(server, case)
    if case["expect"] == "reject":
        assert status == 422, answer
        assert case["message"] in answer["message"]
        return
    assert status in (200, 201), answer.get("message")
    for path, value in case.get("sees", {}).items():
        assert at(answer["spec"], path) == value, path


def test_the_table_has_enough_of_both():
    outcomes = [case["expect"] for case in OBJECTS]
    assert len(outcomes) >= 60
    assert set(outcomes) == {"accept", "reject"}
    assert len({case["name"] for case in OBJECTS}) == len(OBJECTS)


@pytest.mark.parametrize("kind, spec", [
    ("NodeSet", {"controllerRef": {"name": "slurm"}}),
    ("LoginSet", {"controllerRef": {"name": "slurm"}, "sssdConfRef": {"name": "s", "key": "k"}}),
])
def test_scale_goes_there_and_back(server, kind, spec):
    collection = f"{API}/{kind.lower()}s"
    made = whole({"kind": kind}, spec)
    name = made["metadata"]["name"]
    server.request("POST", collection, made)
    scale = f"{collection}/{name}/scale"
    before = server.request("GET", scale)[1]
    assert before["spec"]["replicas"] == 1

    status, after = server.request("PUT", scale, before | {"spec": {"replicas": 7}})
    assert status == 200 and after["spec"]["replicas"] == 7
    stored = server.request("GET", f"{collection}/{name}")[1]
    assert stored["spec"]["replicas"] == 7

    seen = {"status": {"replicas": 3, "selector": "a=b"}}
    server.request("PATCH", f"{collection}/{name}/status", seen, "application/merge-patch+json")
    assert server.request("GET", scale)[1]["status"] == {"replicas": 3, "selector": "a=b"}
    server.request("DELETE", f"{collection}/{name}")


def test_unknown_fields_are_named_and_dropped(server):
    made = whole({"kind": "RestApi"}, {"controllerRef": {"name": "slurm"}, "replicsa": 3})
    status, answer = server.request("POST", f"{API}/restapis?dryRun=All&fieldValidation=Strict", made)
    assert status == 400 and 'unknown field "spec.replicsa"' in answer["message"]
    status, answer = server.request("POST", f"{API}/restapis?dryRun=All", made)
    assert status == 201 and "replicsa" not in answer["spec"]


def test_status_is_a_subresource_of_every_kind(server):
    for path in DEFINITIONS:
        version = yaml.safe_load(path.read_text())["spec"]["versions"][0]
        assert version["subresources"]["status"] == {}
        conditions = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["conditions"]
        assert conditions["x-kubernetes-list-map-keys"] == ["type"]


SHORT_NAMES = {"Accounting": ["slurmdbd"], "Controller": ["slurmctld"], "LoginSet": ["lss", "sackd"],
               "NodeSet": ["nss", "slurmd"], "RestApi": ["slurmrestd"], "Token": ["jwt"]}


def test_short_names(server):
    resources = server.request("GET", "/apis/slinky.slurm.net/v1beta1")[1]["resources"]
    found = {each["kind"]: each["shortNames"] for each in resources if "/" not in each["name"]}
    assert found == SHORT_NAMES
    for name in itertools.chain.from_iterable(SHORT_NAMES.values()):
        server.kubectl("get", name)


COLUMNS = {
    "accountings": ["NAME", "READY", "STATUS", "AGE"],
    "controllers": ["NAME", "READY", "STATUS", "AGE"],
    "loginsets": ["NAME", "REPLICAS", "READY", "STATUS", "AGE"],
    "nodesets": ["NAME", "DESIRED", "REPLICAS", "UPDATED", "READY", "STATUS", "AGE"],
    "restapis": ["NAME", "READY", "STATUS", "AGE"],
    "tokens": ["NAME", "USER", "IAT", "READY", "STATUS", "AGE"],
}
SPECS = {
    "accountings": {"external": True, "externalConfig": {"host": "x", "port": 1}},
    "controllers": {"external": True, "externalConfig": {"host": "x", "port": 1}},
    "loginsets": {"controllerRef": {"name": "c"}, "sssdConfRef": {"name": "s", "key": "k"}},
    "nodesets": {"controllerRef": {"name": "c"}},
    "restapis": {"controllerRef": {"name": "c"}},
    "tokens": {"jwtKeyRef": {"name": "b", "key": "k"}, "username": "alice"},
}


@pytest.mark.parametrize("plural", COLUMNS)
def test_columns(server, plural):
    kinds = {path.name.split("_")[1].removesuffix(".yaml"): yaml.safe_load(path.read_text())["spec"]["names"]["kind"]
             for path in DEFINITIONS}
    made = whole({"kind": kinds[plural]}, SPECS[plural])
    status, answer = server.request("POST", f"{API}/{plural}", made)
    assert status == 201, answer
    ready = {"type": "Ready", "status": "False", "reason": "NotBuiltYet", "message": "",
             "lastTransitionTime": "2027-01-01T00:00:00Z"}
    item = f"{API}/{plural}/{made['metadata']['name']}"
    server.request("PATCH", f"{item}/status", {"status": {"conditions": [ready]}}, "application/merge-patch+json")
    lines = server.kubectl("get", plural).splitlines()
    wide = server.kubectl("get", plural, "-o", "wide").splitlines()[0].split()
    server.request("DELETE", item)
    assert lines[0].split() == COLUMNS[plural]
    assert "NotBuiltYet" in lines[1]
    extra = [name for name in wide if name not in COLUMNS[plural]]
    assert extra == (["IDLE", "ALLOCATED", "DOWN", "DRAIN"] if plural == "nodesets" else [])


def test_fields_are_explained(server):
    text = server.kubectl("explain", "nodeset.spec.updateStrategy.rollingUpdate.maxUnavailable")
    assert "percentages are rounded up" in " ".join(text.split())


def test_definitions_can_be_applied_again(server):
    for path in DEFINITIONS:
        definition = json.dumps(yaml.safe_load(path.read_text()))
        name = yaml.safe_load(definition)["metadata"]["name"]
        status, answer = server.request("PATCH", f"{CRDS}/{name}?fieldManager=test&force=true&dryRun=All", definition,
                                        "application/apply-patch+yaml")
        assert status == 200, answer.get("message")
