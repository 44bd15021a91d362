"""The operator's metrics with operator.metricsSecure: with the chart's rights, for whom a real API server lets in."""
import contextlib
import http.client
import ssl
import subprocess
import sys
import time

import pytest
from apiserver import clean_environment, free_ports
from definitions import REPOSITORY
from patience import patient

sys.path.insert(0, str(REPOSITORY / "test" / "charts"))

from helm_render import pick, pick_all, render  # noqa: E402

CAPSTAN = REPOSITORY / "build" / "release" / "bin" / "capstan"
NAMESPACE = "metrics"


@contextlib.contextmanager
def operator(server, kubeconfig, port):
    log = server.folder / f"operator-{port}.log"
    with log.open("wb") as output:
        process = subprocess.Popen([CAPSTAN, "operator", "--kubeconfig", kubeconfig, "--namespaces", NAMESPACE, "--health-addr=0",
                                    f"--metrics-addr=127.0.0.1:{port}", "--metrics-secure", "--leader-elect=false"],
                                   stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=clean_environment())
        try:
            yield log
        finally:
            process.terminate()
            process.wait(10)


def scrape(port, token=None, path="/metrics"):
    """(status, text) over TLS, as Prometheus asks that is told insecureSkipVerify."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    deadline = time.monotonic() + patient(20)
    while True:
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=15)
        try:
            connection.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "nobody listens"
            time.sleep(0.05)
        finally:
            connection.close()


def token_of(server, account):
    server.kubectl("-n", NAMESPACE, "create", "serviceaccount", account)
    return server.kubectl("-n", NAMESPACE, "create", "token", account).strip()


@pytest.fixture(scope="module")
def tokens(server):
    server.kubectl("create", "namespace", NAMESPACE)
    documents = render("slurm-operator", {"operator": {"metricsSecure": True}})
    reader = pick(documents, "ClusterRole", "slurm-operator-metrics-reader")
    server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", reader)
    server.kubectl("create", "clusterrolebinding", "scrape", "--clusterrole", reader["metadata"]["name"],
                   f"--serviceaccount={NAMESPACE}:prometheus")
    return {account: token_of(server, account) for account in ("prometheus", "somebody")}


def rules(secure):
    documents = render("slurm-operator", {"operator": {"metricsSecure": True}})
    return [rule for role in pick_all(documents, "ClusterRole") for rule in role["rules"]
            if secure or "metrics-auth" not in role["metadata"]["name"]]


def test_metrics_are_for_whom_the_api_server_lets_in(server, reader_of, tokens):
    port, = free_ports(1)
    with operator(server, reader_of(rules(secure=True)), port) as log:
        status, text = scrape(port, tokens["prometheus"])
        assert status == 200, text
        assert "process_resident_memory_bytes" in text
        assert scrape(port)[0] == 401
        assert scrape(port, "eyJhbGciOiJub25lIn0.e30.")[0] == 401
        status, text = scrape(port, tokens["somebody"])
        assert status == 403
        assert f"system:serviceaccount:{NAMESPACE}:somebody may not get /metrics" in text
        assert scrape(port, tokens["prometheus"], "/elsewhere")[0] == 404
        with pytest.raises((http.client.HTTPException, ConnectionError)):  # not without TLS
            plain = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            plain.request("GET", "/metrics", headers={"Authorization": f"Bearer {tokens['prometheus']}"})
            plain.getresponse()
    assert not any(token in log.read_text() for token in tokens.values())


def test_without_the_right_to_ask_nobody_is_let_in_and_that_is_said(server, reader_of, tokens):
    port, = free_ports(1)
    with operator(server, reader_of(rules(secure=False)), port) as log:
        status, text = scrape(port, tokens["prometheus"])
        assert status == 503
        assert "the API server cannot be asked who may read this" in text
    assert 'cannot create resource \\"tokenreviews\\"' in log.read_text().replace("\\\\", "\\")
