"""The operator with the rights of its chart, as config/ has them, and with one of them taken away: what it says then."""
import copy
import itertools
import json

import pytest
from operating import operator, rules, until

numbers = itertools.count()
CLUSTER = """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: main, annotations: {capstan.dev/generate-keys: "true"}}
spec: {slurmKeyRef: {name: slurm, key: slurm.key}, jwtKeyRef: {name: jwt, key: jwt.key}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: w}
spec: {controllerRef: {name: main}, replicas: 1}
"""


def without(verb, resource):
    """The same rules, but that nobody may do this."""
    less = copy.deepcopy(rules())
    for rule in less:
        if resource in rule["resources"] and verb in rule["verbs"]:
            less.append(rule | {"resources": [resource], "verbs": [each for each in rule["verbs"] if each != verb]})
            rule["resources"] = [each for each in rule["resources"] if each != resource]
    return [rule for rule in less if rule["resources"]]


@pytest.fixture
def place(server):
    name = f"rights-{next(numbers)}"
    server.kubectl("create", "namespace", name)
    server.kubectl("--namespace", name, "apply", "-f", "-", stdin=CLUSTER)
    return name


def degraded(server, namespace, kind, name):
    status = json.loads(server.kubectl("--namespace", namespace, "get", kind, name, "-o", "json")).get("status", {})
    return next((each["message"] for each in status.get("conditions", []) if each["type"] == "Degraded" and each["status"] == "True"), "")


def test_sufficient_they_are(server, reader_of, place):
    with operator(server, reader_of(rules()), place) as log:
        wanted = ("statefulset/main-controller", "pod/w-0", "poddisruptionbudget/slurm-workers-pdb-main", "secret/jwt")
        until("all is made", log, lambda: server.kubectl("--namespace", place, "get", *wanted, check=False).returncode == 0)
        assert degraded(server, place, "controllers.slinky.slurm.net", "main") == ""


@pytest.mark.parametrize("verb, resource, kind, name, words", [
    ("create", "pods", "nodesets.slinky.slurm.net", "w", ['pods is forbidden', 'cannot create resource "pods"']),
    ("patch", "statefulsets", "controllers.slinky.slurm.net", "main", ['statefulsets.apps "main-controller" is forbidden', 'cannot patch']),
    ("get", "secrets", "controllers.slinky.slurm.net", "main", ['cannot get resource "secrets"'])])
def test_missing_one_is_named_in_a_condition_and_the_rest_is_made(server, reader_of, place, verb, resource, kind, name, words):
    with operator(server, reader_of(without(verb, resource)), place) as log:
        def said():
            status = json.loads(server.kubectl("--namespace", place, "get", kind, name, "-o", "json")).get("status", {})
            return " ".join(each["message"] for each in status.get("conditions", []))
        until(f"{words} is said", log, lambda: all(word in said() for word in words))
        made = ("service/slurm-workers-main",)
        until("the rest is made", log, lambda: server.kubectl("--namespace", place, "get", *made, check=False).returncode == 0)
