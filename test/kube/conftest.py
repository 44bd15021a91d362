import json
import pathlib
import sys
import time

import pytest
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from apiserver import ApiServer  # noqa: E402
from definitions import CRDS, DEFINITIONS, OWN_DEFINITIONS  # noqa: E402
from patience import patient  # noqa: E402


@pytest.fixture(scope="session")
def apiserver():
    """One real etcd and kube-apiserver for all tests of a run."""
    with ApiServer() as server:
        yield server


def established(server, name):
    status = server.request("GET", f"{CRDS}/{name}")[1].get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions") or []}
    return conditions.get("Established", {}).get("status") == "True"


@pytest.fixture(scope="session")
def server(apiserver):
    """With the definitions in force."""
    assert len(DEFINITIONS) == 6 and len(OWN_DEFINITIONS) == 2
    for path in DEFINITIONS + OWN_DEFINITIONS:
        definition = yaml.safe_load(path.read_text())
        status, answer = apiserver.request("POST", CRDS, definition)
        assert status == 201, f"{path.name}: {answer.get('message')}"
        deadline = time.monotonic() + patient(20)
        while not established(apiserver, definition["metadata"]["name"]):
            assert time.monotonic() < deadline, f"{path.name} is not established"
            time.sleep(0.05)
        # The server takes objects a moment after it has said so.
        spec = definition["spec"]
        served = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/namespaces/default/{spec['names']['plural']}"
        while apiserver.request("GET", served)[0] != 200:
            assert time.monotonic() < deadline, f"{path.name} is not served"
            time.sleep(0.05)
    return apiserver


@pytest.fixture(scope="session")
def reader_of(server):
    """Makes a kubeconfig of somebody who may do what these rules of RBAC say, and no more."""
    made = []

    def make(rules):
        name = f"reader-{len(made)}"
        made.append(name)
        server.kubectl("create", "-f", "-", stdin=yaml.safe_dump_all([
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
             "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
             "subjects": [{"kind": "User", "name": name}]}]))
        config = json.loads(server.kubeconfig.read_text())
        config["users"][0]["user"]["as"] = name
        path = pathlib.Path(server.folder) / f"{name}.json"
        path.write_text(json.dumps(config))
        return path

    return make
