import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "kube"))

from apiserver import ApiServer  # noqa: E402
from website import install  # noqa: E402

# Every write, without its content; leases and events are written by other parts of a program.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: Metadata
"""


@pytest.fixture(scope="session")
def apiserver(tmp_path_factory):
    """A real etcd and kube-apiserver; `audit` is the file with one line for each write."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "policy.yaml").write_text(AUDIT_POLICY)
    audit = folder / "audit.log"
    with ApiServer([f"--audit-policy-file={folder}/policy.yaml", f"--audit-log-path={audit}"]) as server:
        server.audit = audit
        yield server


@pytest.fixture(scope="session")
def prefix():
    """What an installed Capstan is to another project."""
    return install()
