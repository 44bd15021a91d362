"""Every object that a unit test holds the operator to is one that a real API server takes, with all its fields."""

import json
import pathlib

import pytest
from definitions import REPOSITORY

FILES = sorted((REPOSITORY / "src" / "operator").glob("*/testdata/*.json"))
FOLDERS = {"v1": "api/v1", "slinky.slurm.net/v1beta1": "apis/slinky.slurm.net/v1beta1", "apps/v1": "apis/apps/v1", "batch/v1": "apis/batch/v1", "policy/v1": "apis/policy/v1"}


@pytest.fixture(scope="module")
def namespace(server):
    status, answer = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "slurm"}})
    assert status in (201, 409), answer
    status, answer = server.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                                    {"metadata": {"name": "high"}, "value": 1})
    assert status in (201, 409), answer
    return "slurm"


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parts[-3]}-{file.stem}")
def test_the_api_server_takes_it(server, namespace, file):
    made = json.loads(file.read_text())
    where = f"/{FOLDERS[made['apiVersion']]}/namespaces/{namespace}/{made['kind'].lower()}s"
    status, answer = server.request("POST", f"{where}?dryRun=All&fieldValidation=Strict", made)
    assert status == 201, answer.get("message")
