"""The examples of autoscaling: KEDA's API and Kubernetes' take them, field by field, and what they scale is there to be scaled."""
import time

import pytest
import yaml
from conftest import established
from definitions import API, CRDS, REPOSITORY
from patience import patient

EXAMPLE = REPOSITORY / "examples" / "autoscaling" / "scaledobject.yaml"
DEFINITION = REPOSITORY / "build" / "tools" / "scaledobjects.yaml"
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def keda(server):
    """With the definition of a ScaledObject in force."""
    definition = yaml.safe_load(DEFINITION.read_text())
    status, answer = server.request("POST", CRDS, definition)
    assert status == 201, answer.get("message")
    deadline = time.monotonic() + patient(20)
    while not established(server, definition["metadata"]["name"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    while server.request("GET", "/apis/keda.sh/v1alpha1/scaledobjects")[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield server
    assert server.request("DELETE", f"{CRDS}/{definition['metadata']['name']}")[0] == 200


def test_keda_takes_the_example(keda):
    example = yaml.safe_load(EXAMPLE.read_text())
    path = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects?fieldValidation=Strict"
    status, answer = keda.request("POST", path, example | {"metadata": {"name": "example"}})
    assert status == 201, answer.get("message")
    example["spec"]["triggers"][0]["metdata"] = {}
    status, answer = keda.request("POST", path, example | {"metadata": {"name": "misspelt"}})
    assert status == 400 and "metdata" in answer["message"], "the check can fail"


def test_the_api_server_takes_the_one_of_kubernetes(server):
    example = yaml.safe_load((EXAMPLE.parent / "hpa.yaml").read_text())
    example["spec"]["minReplicas"] = 1  # 0 needs an option of the server: tried on the local cluster
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All&fieldValidation=Strict"
    status, answer = server.request("POST", path, example)
    assert status == 201, answer.get("message")


def test_what_it_names_can_be_scaled_to_zero_and_back(server):
    target = yaml.safe_load(EXAMPLE.read_text())["spec"]["scaleTargetRef"]
    api = f"{API}/nodesets"
    assert (target["kind"], f"/apis/{target['apiVersion']}/namespaces/default") == ("NodeSet", API)
    node_set = {"apiVersion": target["apiVersion"], "kind": target["kind"], "metadata": {"name": target["name"]},
                "spec": {"controllerRef": {"name": "main"}, "replicas": 1}}
    assert server.request("POST", api, node_set)[0] == 201
    for replicas in (0, 3):
        scale = f"{api}/{target['name']}/scale"
        status, answer = server.request("PATCH", scale, {"spec": {"replicas": replicas}}, content_type=MERGE)
        assert status == 200, answer  # zero is left out of the answer, as of any Scale
        assert server.request("GET", f"{api}/{target['name']}")[1]["spec"]["replicas"] == replicas
    assert server.request("DELETE", f"{api}/{target['name']}")[0] == 200
