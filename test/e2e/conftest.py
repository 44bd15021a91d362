"""One installation for the whole run; each file of tests begins where the one before ended."""
import sys
import pathlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import lab  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def no_way_out():
    lab.run("dev/cluster", "routes")


@pytest.fixture(scope="session")
def operator():
    lab.erase()
    lab.install_operator()
    yield
    lab.erase()


@pytest.fixture(scope="session")
def slurm(operator):
    """Three workers, as the demo installs them."""
    lab.install_slurm()
    lab.wait_for_idle(3, within=90)
    yield
