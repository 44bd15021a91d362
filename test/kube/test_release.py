"""What `dev/release` packages, and config/ for kustomize, installed on an API server that has nothing yet."""
import os
import pathlib
import subprocess

import pytest
import yaml
from apiserver import TOOLS, ApiServer, clean_environment
from definitions import REPOSITORY

VERSION = (REPOSITORY / "VERSION").read_text().strip()
KINDS = ("accountings", "controllers", "loginsets", "nodesets", "restapis", "tokens")
KUSTOMIZED = "slinky"  # the namespace in config/default


@pytest.fixture(scope="module")
def folder():
    """A release without its images, which a kubelet would be needed for."""
    done = subprocess.run(["dev/release", "charts", "manifests", "program"], cwd=REPOSITORY, env=clean_environment(), text=True,
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return REPOSITORY / done.stdout.strip()


@pytest.fixture(scope="module")
def empty():
    with ApiServer() as server:
        yield server


@pytest.fixture
def helm(empty, folder, tmp_path):
    def run(*words):
        done = subprocess.run([REPOSITORY / "build/tools/helm", *words], cwd=folder / "charts", text=True, capture_output=True,
                              timeout=60, check=False, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
                                                            "KUBECONFIG": str(empty.kubeconfig)})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


def by_name(text):
    """Kind and name to the object, without what is Helm's: its labels, and the lease's namespace."""
    found = {}
    for one in filter(None, yaml.safe_load_all(text)):
        for place in (one, one.get("spec", {}).get("template", {})):
            for name in ("helm.sh/chart", "app.kubernetes.io/managed-by"):
                place.get("metadata", {}).get("labels", {}).pop(name, None)
        for container in one.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            container["args"] = [word for word in container["args"] if not word.startswith("--leader-elect-namespace=")]
        found[one["kind"], one["metadata"]["name"]] = one
    return found


def test_every_file_has_its_checksum(folder):
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    summed = {line.split(maxsplit=1)[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert summed == there - {"SHA256SUMS"}
    assert {f"charts/{name}-{VERSION}.tgz" for name in ("slurm", "slurm-operator", "slurm-operator-crds")} <= summed


def test_the_program_is_of_the_version(folder):
    done = subprocess.run([folder / "bin/capstan", "version"], text=True, capture_output=True, timeout=10, check=True)
    assert done.stdout == f"capstan/{VERSION}\n"


def test_manifests_are_what_the_charts_render(folder, helm):
    charts = helm("template", "slurm-operator", f"slurm-operator-{VERSION}.tgz", "--namespace", KUSTOMIZED, "--set", "crds.enabled=true")
    wanted = by_name(charts)
    assert len(wanted) == len(KINDS) + 9
    wanted["Namespace", KUSTOMIZED] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUSTOMIZED}}
    assert by_name((folder / "manifests/operator.yaml").read_text()) == wanted
    definitions = {key: one for key, one in wanted.items() if key[0] == "CustomResourceDefinition"}
    assert by_name((folder / "manifests/crds.yaml").read_text()) == definitions


def test_kustomize_moves_the_operator_to_another_namespace(tmp_path):
    """The namespace of a ServiceAccount in a binding's subjects goes along; the lease is where the operator is."""
    base = pathlib.Path(os.path.relpath(REPOSITORY / "config" / "default", tmp_path))
    (tmp_path / "kustomization.yaml").write_text(f"namespace: hpc\nresources: [{base}]\n")
    text = subprocess.run([TOOLS / "kubectl", "kustomize", tmp_path], text=True, capture_output=True, timeout=30, check=True,
                          env=clean_environment()).stdout
    objects = by_name(text)
    namespaced = [one for (kind, _), one in objects.items() if kind in ("Deployment", "Service", "ServiceAccount", "Role", "RoleBinding")]
    assert len(namespaced) == 5 and {one["metadata"]["namespace"] for one in namespaced} == {"hpc"}
    subjects = [subject for one in objects.values() for subject in one.get("subjects", [])]
    assert [subject["namespace"] for subject in subjects] == ["hpc", "hpc"]
    assert ("Namespace", "hpc") in objects and KUSTOMIZED not in text.replace("slinky.slurm.net", "")


def test_installed_from_the_folder_then_upgraded_to_itself(folder, helm, empty):
    for _ in range(2):
        helm("upgrade", "--install", "slurm-operator-crds", f"slurm-operator-crds-{VERSION}.tgz", "--namespace", "default")
        empty.await_definitions()
        helm("upgrade", "--install", "slurm-operator", f"slurm-operator-{VERSION}.tgz", "--namespace", "hpc", "--create-namespace")
        helm("upgrade", "--install", "slurm", f"slurm-{VERSION}.tgz", "--namespace", "slurm", "--create-namespace",
             "--set", "nodesets.a.enabled=true", "--set", "accounting.enabled=true")
    image = "-o=jsonpath={.spec.template.spec.containers[0].image}"
    assert empty.kubectl("-n", "hpc", "get", "deployment", "slurm-operator", image) == f"capstan/capstan:{VERSION}"
    assert empty.kubectl("-n", "slurm", "get", "controllers,restapis,nodesets,accountings", "-o=name").split() == [
        f"{kind}.slinky.slurm.net/{name}" for kind, name in (("controller", "slurm"), ("restapi", "slurm"), ("nodeset", "slurm-worker-a"),
                                                             ("accounting", "slurm"))]


def test_kubectl_installs_what_the_folder_has(folder, empty):
    """After Helm's: the definitions stay, and are taken over as kubectl is told to."""
    for name in ("crds", "operator"):
        empty.kubectl("apply", "--server-side", "--force-conflicts", "-f", folder / "manifests" / f"{name}.yaml")
    empty.kubectl("-n", KUSTOMIZED, "get", "deployment/slurm-operator", "serviceaccount/slurm-operator", "service/slurm-operator")
