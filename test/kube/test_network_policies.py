"""A real API server takes the NetworkPolicies of the chart, with all their fields."""
import sys

from definitions import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "test" / "charts"))

from helm_render import pick_all, render  # noqa: E402


def test_the_api_server_takes_them(apiserver):
    peers = {"from": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]}
    whole = {"enabled": True, "restapi": peers, "controller": peers, "accounting": peers}
    policies = [policy for network in (whole, {}) for policy in pick_all(
        render(values={"accounting": {"enabled": True}, "networkPolicy": network}, namespace="default"), "NetworkPolicy")]
    assert len(policies) == 6
    for policy in policies:
        path = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies?dryRun=All&fieldValidation=Strict"
        status, answer = apiserver.request("POST", path, policy)
        assert status == 201, answer.get("message")
