import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from apiserver import ApiServer  # noqa: E402


@pytest.fixture(scope="session")
def apiserver():
    """One real etcd and kube-apiserver for all tests of a run."""
    with ApiServer() as server:
        yield server
