"""docs/migration.md, the part that Helm has in it: from releases of the Slinky projects' charts to ours and back, on an API
server of its own. Their charts are stand-ins with the names, selectors and objects that count; what their operator makes of
custom resources is in test_takeover.py."""
import base64
import json
import os
import subprocess

import pytest
import yaml
from apiserver import ApiServer
from definitions import DEFINITIONS, REPOSITORY

CHARTS = REPOSITORY / "charts"
KEEP = "helm.sh/resource-policy"
SELECTOR = {"app.kubernetes.io/name": "slurm-operator", "app.kubernetes.io/instance": "slurm-operator"}
HOOK = {"app.kubernetes.io/name": "slurm-operator-webhook", "app.kubernetes.io/instance": "slurm-operator"}
KEYS = {name: base64.b64encode(name.encode() * 200).decode() for name in ("slurm.key", "jwt.key")}

pytestmark = pytest.mark.long  # Helm, again and again


def deployment(name, selector, container, image):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": selector},
            "spec": {"replicas": 1, "selector": {"matchLabels": selector}, "template": {
                "metadata": {"labels": selector}, "spec": {"serviceAccountName": name, "hostname": name,
                                                           "containers": [{"name": container, "image": image}]}}}}


def service_account(name):
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
    return [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}},
            role | {"kind": "ClusterRole", "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]},
            role | {"kind": "ClusterRoleBinding", "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                    "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "slinky"}]}]


def former_definitions():
    for path in DEFINITIONS:
        definition = yaml.safe_load(path.read_text())
        del definition["metadata"]["annotations"][KEEP]
        yield definition


def former_operator():
    hook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "slurm-operator-webhook"}, "webhooks": [{
                "name": "nodeset-v1beta1.kb.io", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "slinky", "name": "slurm-operator-webhook", "path": "/validate"}},
                "rules": [{"apiGroups": ["slinky.slurm.net"], "apiVersions": ["v1beta1"], "resources": ["nodesets"],
                           "operations": ["CREATE", "UPDATE"]}]}]}
    return [*service_account("slurm-operator"), *service_account("slurm-operator-webhook"), hook,
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "slurm-operator-webhook"},
             "spec": {"selector": HOOK, "ports": [{"port": 443, "targetPort": 9443}]}},
            deployment("slurm-operator", SELECTOR, "slurm-operator", "slinkyproject/slurm-operator:1.2.1"),
            deployment("slurm-operator-webhook", HOOK, "webhook", "slinkyproject/slurm-operator-webhook:1.2.1")]


def former_cluster():
    api = "slinky.slurm.net/v1beta1"
    for name in ("slurm", "jwt"):
        yield {"apiVersion": "v1", "kind": "Secret", "immutable": True, "metadata": {"name": f"slurm-auth-{name}"},
               "data": {f"{name}.key": KEYS[f"{name}.key"]}}
    yield {"apiVersion": api, "kind": "Controller", "metadata": {"name": "slurm"}, "spec": {
        "slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}, "jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}}}
    yield {"apiVersion": api, "kind": "RestApi", "metadata": {"name": "slurm"}, "spec": {"controllerRef": {"name": "slurm"}, "replicas": 1}}
    yield {"apiVersion": api, "kind": "NodeSet", "metadata": {"name": "slurm-worker-a"}, "spec": {
        "controllerRef": {"name": "slurm"}, "replicas": 3, "partition": {"enabled": True}}}


class Site:
    """A cluster whose owner has Slinky's three releases, in the namespaces of their documentation."""

    def __init__(self, server, folder, program):
        self.server = server
        self.program = REPOSITORY / "build/tools" / program
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(server.kubeconfig)}
        self.folder = folder
        # The cluster before the operator, whose webhook nobody serves here.
        for chart, namespace, objects in (("slurm-operator-crds", "default", former_definitions()),
                                          ("slurm", "slurm", former_cluster()), ("slurm-operator", "slinky", former_operator())):
            self.helm("install", chart, self.write(chart, objects), "--namespace", namespace, "--create-namespace")

    def write(self, name, objects):
        chart = self.folder / name
        (chart / "templates").mkdir(parents=True)
        (chart / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": name, "version": "1.2.1", "appVersion": "1.2.1"}))
        (chart / "values.yaml").write_text("operator: {image: {repository: slinkyproject/slurm-operator}}\n")
        (chart / "templates" / "all.yaml").write_text(yaml.safe_dump_all(objects))
        return chart

    def helm(self, *words):
        done = subprocess.run([self.program, *words], text=True, capture_output=True, timeout=60, check=False, env=self.environment)
        assert done.returncode == 0, f"helm {' '.join(map(str, words))}: {done.stderr}"

    def get(self, *words):
        return json.loads(self.server.kubectl("get", *words, "-o", "json"))

    def names(self, *words):
        return self.server.kubectl("get", *words, "-o", "name").split()

    def uids(self):
        """Of all that must survive."""
        kinds = "controllers.slinky.slurm.net,restapis.slinky.slurm.net,nodesets.slinky.slurm.net,secrets"
        theirs = [crd for crd in self.get("crd")["items"] if crd["spec"]["group"] == "slinky.slurm.net"]
        objects = self.get("-n", "slurm", kinds)["items"] + theirs
        return {(one["kind"], one["metadata"]["name"]): one["metadata"]["uid"] for one in objects
                if one.get("type") != "helm.sh/release.v1"}

    def image(self):
        return self.get("-n", "slinky", "deployment", "slurm-operator")["spec"]["template"]["spec"]["containers"][0]["image"]

    def may_change(self):
        done = self.server.kubectl("-n", "slurm", "annotate", "--overwrite", "nodesets.slinky.slurm.net/slurm-worker-a", "a=b", check=False)
        return done.returncode == 0


@pytest.fixture
def site(request, tmp_path):
    with ApiServer() as server:
        yield Site(server, tmp_path, request.param)


@pytest.mark.parametrize("site", ["helm", "helm3"], indirect=True)
def test_there_and_back(site):
    before = site.uids()
    keys = site.get("-n", "slurm", "secret", "slurm-auth-slurm")["data"]
    assert len(before) == 6 + 5 and not site.may_change(), "their webhook refuses what it cannot judge"

    # There: their operator stops, the definitions, the operator in the same release, then the cluster.
    site.server.kubectl("-n", "slinky", "scale", "deployment/slurm-operator", "--replicas=0")
    site.helm("upgrade", "slurm-operator-crds", CHARTS / "slurm-operator-crds", "--namespace", "default", "--reset-values")
    site.helm("upgrade", "slurm-operator", CHARTS / "slurm-operator", "--namespace", "slinky", "--reset-values", *conflicts(site))
    assert site.image().startswith("capstan/capstan:")
    assert site.get("-n", "slinky", "deployment", "slurm-operator")["spec"]["replicas"] == 1
    assert site.names("-n", "slinky", "deployments,services") == ["deployment.apps/slurm-operator", "service/slurm-operator"]
    assert site.names("validatingwebhookconfigurations") == []
    assert site.may_change()
    site.helm("upgrade", "slurm", CHARTS / "slurm", "--namespace", "slurm", "--reset-values", "--set", "nodesets.a.enabled=true")
    assert site.uids() == before
    assert site.get("-n", "slurm", "secret", "slurm-auth-slurm")["data"] == keys
    site.helm("upgrade", "slurm", CHARTS / "slurm", "--namespace", "slurm", "--reset-values", "--set", "nodesets.a.enabled=true")
    assert site.uids() == before, "the second upgrade leaves the keys, which it no longer contains"

    # Back: what an operator of ours leaves on a NodeSet, and each release to what it was. (Not by `helm rollback`: that finds no
    # trace of the keys in the release that it leaves.) The operator comes last, as its webhook is not served here.
    site.server.kubectl("-n", "slurm", "patch", "nodesets.slinky.slurm.net", "slurm-worker-a", "--type=merge",
                        "--patch", '{"metadata":{"finalizers":["capstan.dev/drain"]}}')
    site.server.kubectl("-n", "slinky", "scale", "deployment/slurm-operator", "--replicas=0")
    site.server.kubectl("-n", "slurm", "patch", "nodesets.slinky.slurm.net", "slurm-worker-a", "--type=merge",
                        "--patch", '{"metadata":{"finalizers":null}}')
    for chart, namespace in (("slurm-operator-crds", "default"), ("slurm", "slurm"), ("slurm-operator", "slinky")):
        site.helm("upgrade", chart, site.folder / chart, "--namespace", namespace, "--reset-values", *conflicts(site))
    assert site.uids() == before
    assert site.image() == "slinkyproject/slurm-operator:1.2.1"
    assert site.names("validatingwebhookconfigurations") != []
    assert site.get("-n", "slurm", "secret", "slurm-auth-slurm")["data"] == keys
    assert "finalizers" not in site.get("-n", "slurm", "nodesets.slinky.slurm.net", "slurm-worker-a")["metadata"]


def conflicts(site):
    """Helm 4 writes with server-side apply, and meets whoever has scaled."""
    return ["--force-conflicts"] if site.program.name == "helm" else []


@pytest.mark.parametrize("site", ["helm"], indirect=True)
def test_an_uninstallation_would_take_everything_before_the_upgrade_and_nothing_after(site):
    before = site.uids()
    site.helm("upgrade", "slurm-operator-crds", CHARTS / "slurm-operator-crds", "--namespace", "default", "--reset-values")
    site.helm("uninstall", "slurm-operator-crds", "--namespace", "default")
    assert site.uids() == before
