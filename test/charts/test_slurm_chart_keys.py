"""Keys: which Secrets are named, who may create them, and that an upgrade never loses them."""
import base64
import http.server
import json
import threading

import pytest
from helm_render import RenderError, notes, pick, pick_all, render

HYBRID = [{"controller": {"external": True}}, {"accounting": {"enabled": True, "external": True}}]


def controller(**values):
    return pick(render(values=values), "Controller")


def generate_keys(**values):
    return controller(**values)["metadata"].get("annotations", {}).get("capstan.dev/generate-keys")


def test_the_chart_contains_no_key_material():
    values = {"accounting": {"enabled": True}, "nodesets": {"a": {}}}
    assert pick_all(render(values=values), "Secret") == []


def test_two_renderings_are_the_same():
    assert render() == render(arguments=("--no-hooks",))  # another argument, so that the second is not remembered


@pytest.mark.parametrize("slurm, jwt, annotation", [(True, True, "true"), (True, False, "slurm"), (False, True, "jwt"), (False, False, None)])
def test_annotation_says_which_keys_the_operator_may_create(slurm, jwt, annotation):
    assert generate_keys(slurmKey={"create": slurm}, jwtKey={"create": jwt}) == annotation


@pytest.mark.parametrize("values", HYBRID)
def test_a_hybrid_cluster_brings_its_own_keys(values):
    assert generate_keys(**values) is None
    said = notes(values=values)
    assert "slurm-auth-slurm with the key slurm.key" in said and "slurm-auth-jwt with the key jwt.key" in said
    assert "secret/" not in said


def test_external_accounting_that_is_not_enabled_changes_nothing():
    assert generate_keys(accounting={"external": True}) == "true"


def test_secrets_have_their_default_or_given_names():
    assert controller()["spec"]["slurmKeyRef"] == {"name": "slurm-auth-slurm", "key": "slurm.key"}
    assert controller()["spec"]["jwtKeyRef"] == {"name": "slurm-auth-jwt", "key": "jwt.key"}
    given = controller(slurmKey={"secretRef": {"name": "a", "key": "b"}}, jwtKey={"secretRef": {"name": "c"}})["spec"]
    assert (given["slurmKeyRef"], given["jwtKeyRef"]) == ({"name": "a", "key": "b"}, {"name": "c", "key": "jwt.key"})


@pytest.mark.parametrize("values, reference", [
    ({}, None),
    ({"enabled": True}, {"name": "slurm-auth-jwks", "key": "jwks.json"}),
    ({"enabled": True, "configMapRef": {"name": "a", "key": "b"}}, {"name": "a", "key": "b"}),
])
def test_jwks(values, reference):
    assert controller(jwksKeys=values)["spec"].get("jwksKeyRef") == reference


def test_notes_name_what_remains_with_the_command_that_removes_it():
    said = notes(values={"jwtKey": {"secretRef": {"name": "mine"}}}, release="prod", namespace="hpc")
    assert "kubectl --namespace hpc delete persistentvolumeclaim/statesave-prod-slurm-controller-0 secret/prod-slurm-auth-slurm secret/mine\n" in said


@pytest.mark.parametrize("values, command", [
    ({"controller": {"persistence": {"enabled": False}}}, "delete secret/slurm-auth-slurm secret/slurm-auth-jwt\n"),
    ({"controller": {"persistence": {"existingClaim": "mine"}}, "jwtKey": {"create": False}}, "delete secret/slurm-auth-slurm\n"),
    ({"slurmKey": {"create": False}, "jwtKey": {"create": False}}, "delete persistentvolumeclaim/statesave-slurm-controller-0\n"),
    ({"accounting": {"enabled": True, "database": {"embedded": {"enabled": True}}}, "loginsets": {"a": {}}},
     "delete persistentvolumeclaim/statesave-slurm-controller-0 secret/slurm-auth-slurm secret/slurm-auth-jwt "
     "persistentvolumeclaim/data-slurm-accounting-db-0 secret/slurm-login-a-ssh-host-keys\n"),
    ({"nodesets": {"a": {"ssh": {"enabled": True}}, "b": {}}}, "secret/slurm-auth-jwt secret/slurm-worker-a-ssh-host-keys\n"),
])
def test_notes_name_nothing_that_the_user_made(values, command):
    assert command in notes(values=values)


def test_notes_are_silent_when_nothing_remains():
    assert "helm uninstall" not in notes(values={"controller": {"external": True}})


def resources(group_version, **kinds):
    listed = [{"name": plural, "namespaced": True, "kind": kind, "verbs": ["get"]} for plural, kind in kinds.items()]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}


SLINKY = {"groupVersion": "slinky.slurm.net/v1beta1", "version": "v1beta1"}
NETWORKING = {"groupVersion": "networking.k8s.io/v1", "version": "v1"}
DISCOVERY = {
    "/version": {"major": "1", "minor": "35", "gitVersion": "v1.35.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": resources("v1", secrets="Secret"),
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "slinky.slurm.net", "versions": [SLINKY], "preferredVersion": SLINKY},
                                                                      {"name": "networking.k8s.io", "versions": [NETWORKING], "preferredVersion": NETWORKING}]},
    "/apis/networking.k8s.io/v1": resources("networking.k8s.io/v1", networkpolicies="NetworkPolicy"),
    "/apis/slinky.slurm.net/v1beta1": resources("slinky.slurm.net/v1beta1", controllers="Controller", restapis="RestApi"),
}
NOT_FOUND = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Cluster(http.server.BaseHTTPRequestHandler):
    """As much of an API server as helm asks when a chart looks up a Secret, or NetworkPolicies."""
    secrets = {}
    policies = ()

    def do_GET(self):
        path = self.path.split("?")[0]
        held = {f"/api/v1/namespaces/ns/secrets/{name}": secret for name, secret in self.secrets.items()}
        listed = {"kind": "NetworkPolicyList", "apiVersion": "networking.k8s.io/v1", "metadata": {}, "items": list(self.policies)}
        found = DISCOVERY.get(path) or held.get(path) or (listed if path.endswith("/namespaces/ns/networkpolicies") else None)
        self.answer(200 if found else 404, found or NOT_FOUND)

    def answer(self, code, body):
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def rendered_in_cluster():
    """Renders against a cluster that holds the given Secrets and NetworkPolicies."""
    servers = []

    def run(*held):
        secrets = {each["metadata"]["name"]: each for each in held if each["kind"] == "Secret"}
        handler = type("Holding", (Cluster,), {"secrets": secrets, "policies": [each for each in held if each["kind"] == "NetworkPolicy"]})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        return render(arguments=("--dry-run=server", "--disable-openapi-validation", "--kube-apiserver", address))

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


def secret(name, release="slurm", **annotations):
    helm = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": "ns"} if release else {}
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": True, "data": {"slurm.key": base64.b64encode(b"old").decode()},
            "metadata": {"name": name, "namespace": "ns", "labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {**helm, **annotations}, "resourceVersion": "7", "uid": "u"}}


def test_key_of_another_charts_release_is_handed_over_unchanged_and_kept(rendered_in_cluster):
    old = secret("slurm-auth-slurm", note="mine")
    kept = pick(rendered_in_cluster(old, secret("unrelated")), "Secret")
    assert (kept["metadata"]["name"], kept["data"], kept["immutable"], kept["type"]) == ("slurm-auth-slurm", old["data"], True, "Opaque")
    assert kept["metadata"]["annotations"] == {**old["metadata"]["annotations"], "helm.sh/resource-policy": "keep"}
    assert not {"resourceVersion", "uid"} & set(kept["metadata"])


def test_both_keys_are_handed_over(rendered_in_cluster):
    found = rendered_in_cluster(secret("slurm-auth-slurm"), secret("slurm-auth-jwt"))
    assert {s["metadata"]["name"] for s in pick_all(found, "Secret")} == {"slurm-auth-jwt", "slurm-auth-slurm"}


@pytest.mark.parametrize("existing", [
    secret("slurm-auth-slurm", release=None),
    secret("slurm-auth-slurm", release="other"),
    secret("slurm-auth-slurm", **{"helm.sh/resource-policy": "keep"}),
], ids=["not of helm", "of another release", "handed over before"])
def test_key_that_helm_would_not_delete_is_left_alone(rendered_in_cluster, existing):
    assert pick_all(rendered_in_cluster(existing), "Secret") == []


@pytest.mark.parametrize("release, made", [("slurm", 2), ("site", 0), (None, 0)])
def test_where_others_have_network_policies_none_of_ours_opens_what_they_close(rendered_in_cluster, release, made):
    annotations = {"meta.helm.sh/release-name": release} if release else {}
    other = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a", "namespace": "ns", "annotations": annotations}}
    assert len(pick_all(rendered_in_cluster(other), "NetworkPolicy")) == made


def test_unreachable_cluster_is_an_error_and_not_an_absent_secret():
    with pytest.raises(RenderError):
        render(arguments=("--dry-run=server", "--kube-apiserver", "http://127.0.0.1:1"))
