"""The operator as a process of its own beside the real API server."""
import contextlib
import subprocess
import time

import yaml
from apiserver import clean_environment
from definitions import REPOSITORY
from patience import patient

CAPSTAN = REPOSITORY / "build" / "release" / "bin" / "capstan"


def rules():
    """Those of its chart, as config/ has them."""
    roles = [one for one in yaml.safe_load_all((REPOSITORY / "config/rbac/rbac.yaml").read_text()) if one and one["kind"] == "ClusterRole"]
    assert len(roles) == 1
    return roles[0]["rules"]


@contextlib.contextmanager
def operator(server, kubeconfig, namespace):
    """What it logs is in the file that this gives."""
    log = server.folder / f"{namespace}.log"
    with log.open("wb") as out:
        process = subprocess.Popen([CAPSTAN, "operator", "--kubeconfig", kubeconfig, "--namespaces", namespace, "--health-addr=0",
                                    "--metrics-addr=0", "--cluster-domain=cluster.local"], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out, env=clean_environment())
    try:
        yield log
    finally:
        process.terminate()
        process.wait(10)


def until(what, log, condition):
    deadline = time.monotonic() + patient(60)
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}\n{log.read_text()[-3000:]}"
        time.sleep(0.1)
    return value
