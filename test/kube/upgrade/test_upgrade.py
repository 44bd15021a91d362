"""The present operator after an earlier one, on what that has made: no worker is replaced."""
import json
import pathlib

import pytest
from apiserver import ApiServer
from definitions import DEFINITIONS, REPOSITORY
from upgrade.recorded import NAMESPACE, Operator, get, restore, run_pods

CAPSTAN = REPOSITORY / "build" / "release" / "bin" / "capstan"
# Of each recording, whose pods are made otherwise since, and are replaced once; CHANGELOG.md says so.
REPLACED = {"0.1.0-3cf0fe8": {"deployment/main-restapi", "deployment/login"}}
WORKLOADS = ("statefulset/main-controller", "statefulset/main-accounting", "deployment/main-restapi", "deployment/login")


@pytest.fixture
def fresh():
    with ApiServer() as server:
        server.kubectl("create", *(word for path in DEFINITIONS for word in ("-f", path)))
        server.await_definitions()
        yield server


def identities(server):
    return {pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["metadata"].get("deletionTimestamp")) for pod in get(server, "pods")["items"]}


@pytest.mark.parametrize("release", sorted(REPLACED))
def test_no_worker_is_replaced_for_a_new_release(fresh, release):
    restore(fresh, pathlib.Path(__file__).parent / f"{release}.json")
    pods = identities(fresh)
    assert sorted(pods) == ["plain-0", "plain-1", "ssh-0"]
    templates = {name: get(fresh, name)["spec"]["template"] for name in WORKLOADS}
    with Operator(CAPSTAN, fresh) as operator:
        # Small changes of a user's, so that all that belongs to them has been decided and, when the operator ends, done.
        marked = {"controller/main": "main-controller", "accounting/main": "main-accounting", "restapi/main": "main-restapi", "loginset/login": "login"}
        mark = {"spec": {"service": {"metadata": {"annotations": {"seen": "true"}}}}}
        for owner in marked:
            fresh.kubectl("--namespace", NAMESPACE, "patch", owner, "--type=merge", "--patch", json.dumps(mark))
        fresh.kubectl("--namespace", NAMESPACE, "scale", "nodeset", "plain", "--replicas=3")
        for service in marked.values():
            operator.until(f"Service {service} is as wanted", lambda: get(fresh, "service", service)["metadata"].get("annotations", {}).get("seen"))
        operator.until("a worker more is made", lambda: "plain-2" in identities(fresh))
        run_pods(fresh)
        operator.until("all workers are of the present revision", lambda: get(fresh, "nodeset", "plain")["status"].get("updatedReplicas") == 3)
    after = identities(fresh)
    assert {name: after.get(name) for name in pods} == pods
    assert get(fresh, "nodeset", "ssh")["status"]["updatedReplicas"] == 1
    assert {name for name in WORKLOADS if get(fresh, name)["spec"]["template"] != templates[name]} == REPLACED[release]
