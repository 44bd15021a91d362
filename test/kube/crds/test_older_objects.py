"""Objects that are older than a rule, and break it: whoever has them must go on being served."""

import copy
import itertools
import json
import time

import pytest
import yaml
from definitions import CRDS, DEFINITIONS
from patience import patient

GROUP = "older.slurm.net"
API = f"/apis/{GROUP}/v1beta1/namespaces/default"
RULES = ("x-kubernetes-validations", "pattern", "maxLength", "minLength", "maxItems", "minItems", "enum", "minimum", "maximum",
         "format")  # what is required has been so from the first
CONDITION = {"type": "Ready", "status": "False", "reason": "Old", "message": "", "lastTransitionTime": "2027-01-01T00:00:00Z"}

# Of each kind objects that break as many rules as one may.
BROKEN = {
    "accountings": [{"storageConfig": {"port": 70000, "host": "db", "passwordKeyRef": {"key": "k"}}}, {"external": True}],
    "controllers": [{"clusterName": "c" * 60, "ha": {"enabled": True, "backups": 99}},
                    {"external": True},
                    {"slurmKeyRef": {"name": "s" * 300, "key": "k"}, "metrics": {"serviceMonitor": {"interval": "soon"}}}],
    "loginsets": [{"controllerRef": {"name": ""}, "replicas": 100000, "sssdConfRef": {"name": "", "key": "k"}}],
    "nodesets": [{"controllerRef": {"name": ""}, "extraConf": "nonsense", "replicas": 3,
                  "updateStrategy": {"type": "Never", "rollingUpdate": {"maxUnavailable": "0%"}}},
                 {"controllerRef": {"name": "c"}, "template": {"spec": {"hostname": "Not_A-Name"}}, "ssh": {"enabled": True, "sssdConfRef": {"key": "k"}},
                  "updateStrategy": {"type": "ScheduledUpdate", "scheduledUpdate": {"duration": "10s"}}}],
    "restapis": [{"controllerRef": {"name": ""}, "replicas": 100000}],
    "tokens": [{"lifetime": "a while", "username": "ada"}],
}
LONG_NAME = "a-controller-with-a-name-that-is-too-long-for-slurmdbd"


def without_rules(schema):
    """The same schema, which refuses hardly anything."""
    if isinstance(schema, list):
        return [without_rules(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: without_rules(each) for name, each in value.items()}
        elif key not in RULES:
            kept[key] = without_rules(value)
    return kept


def in_its_group(path):
    definition = yaml.safe_load(path.read_text())
    definition["metadata"]["name"] = f"{definition['spec']['names']['plural']}.{GROUP}"
    definition["spec"]["group"] = GROUP
    definition["spec"]["names"].pop("shortNames", None)
    return definition


def schema_of(definition):
    return definition["spec"]["versions"][0]["schema"]


def until(check, what):
    deadline = time.monotonic() + patient(20)
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.fixture(scope="module")
def older(apiserver):
    """The objects, made before the rules were in force. {plural: [names]}"""
    definitions = {each["spec"]["names"]["plural"]: each for each in map(in_its_group, DEFINITIONS)}
    for definition in definitions.values():
        loose = copy.deepcopy(definition)
        schema_of(loose)["openAPIV3Schema"] = without_rules(schema_of(loose)["openAPIV3Schema"])
        status, answer = apiserver.request("POST", CRDS, loose)
        assert status == 201, answer.get("message")
    for plural in definitions:
        until(lambda: apiserver.request("GET", f"{API}/{plural}")[0] == 200, f"{plural} are not served")
    made = {}
    for plural, specs in BROKEN.items():
        kind = definitions[plural]["spec"]["names"]["kind"]
        names = [f"old-{number}" for number in range(len(specs))]
        objects = [({"name": name}, spec) for name, spec in zip(names, specs)]
        if plural == "controllers":
            names.append(LONG_NAME)
            objects.append(({"name": LONG_NAME}, {"slurmKeyRef": {"name": "a", "key": "k"}, "jwtKeyRef": {"name": "b", "key": "k"}}))
        for metadata, spec in objects:
            body = {"apiVersion": f"{GROUP}/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}

            def take(path=f"{API}/{plural}", body=body):
                status, answer = apiserver.request("POST", path, body)
                assert status in (201, 404, 429, 500), answer
                return status == 201
            until(take, f"{plural} {metadata['name']} is not taken")
        made[plural] = names
    for plural, definition in definitions.items():
        patch = json.dumps([{"op": "replace", "path": "/spec/versions/0/schema", "value": schema_of(definition)}])
        status, answer = apiserver.request("PATCH", f"{CRDS}/{definition['metadata']['name']}", patch,
                                           "application/json-patch+json")
        assert status == 200, answer.get("message")
    counter = itertools.count()
    for plural, definition in definitions.items():
        def refused(plural=plural, definition=definition):
            body = {"apiVersion": f"{GROUP}/v1beta1", "kind": definition["spec"]["names"]["kind"],
                    "metadata": {"name": f"new-{next(counter)}"}, "spec": BROKEN[plural][0]}
            return apiserver.request("POST", f"{API}/{plural}?dryRun=All", body)[0] == 422
        until(refused, f"the rules of {plural} are not in force")
    yield made
    for definition in definitions.values():
        apiserver.request("DELETE", f"{CRDS}/{definition['metadata']['name']}")


@pytest.mark.parametrize("plural", BROKEN)
def test_what_the_operator_writes_is_taken(apiserver, older, plural):
    """But for a status on an API server of 1.32, which does not let a write of it pass for what the spec has long had
    (docs/upgrading.md)."""
    with_status = int(apiserver.request("GET", "/version")[1]["minor"].rstrip("+")) > 32
    for name in older[plural]:
        item = f"{API}/{plural}/{name}"
        for path, patch in [(f"{item}/status", {"status": {"conditions": [CONDITION]}}),
                            (item, {"metadata": {"finalizers": ["capstan.dev/drain"]}}),
                            (f"{item}/status", {"status": {"conditions": [CONDITION | {"reason": "Older"}]}}),
                            (item, {"metadata": {"annotations": {"a": "b"}, "finalizers": []}})]:
            status, answer = apiserver.request("PATCH", path, patch, "application/merge-patch+json")
            refused = path.endswith("/status") and not with_status and name != LONG_NAME  # that is not of its spec
            wanted = 422 if refused else 200
            assert status == wanted, f"{name} {patch}: {answer.get('message')}"


@pytest.mark.parametrize("plural", ["loginsets", "nodesets"])
def test_it_can_be_scaled(apiserver, older, plural):
    for name in older[plural]:
        scale = f"{API}/{plural}/{name}/scale"
        status, answer = apiserver.request("PATCH", scale, {"spec": {"replicas": 2}}, "application/merge-patch+json")
        assert status == 200, f"{name}: {answer.get('message')}"


def test_a_rule_that_was_kept_is_not_broken_anew(apiserver, older):
    status, answer = apiserver.request("PATCH", f"{API}/nodesets/old-1", {"spec": {"extraConf": "nonsense"}},
                                       "application/merge-patch+json")
    assert status == 422 and "extraConf must be Key=Value words" in answer["message"]
