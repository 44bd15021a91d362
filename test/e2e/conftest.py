"""Who runs beside whom, and on what: lab.py says how a case asks for it.

The cases of one file run in their order, one after another; so do all that use `shared`, whichever file they are in, and files
of the same GROUP.
"""
import contextlib
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import lab as labs  # noqa: E402  (`lab` is a fixture here)

NODES_EACH = 2  # of its own, at most, for a case
CLUSTER_SECONDS = 420  # of a dev/cluster that waits for another one, five minutes at most, and then for its node


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        group = "shared" if "shared" in item.fixturenames else getattr(item.module, "GROUP", item.module.__name__)
        item.add_marker(pytest.mark.xdist_group(group))


def in_charge(session):
    """Whether this process is not one of those that only run cases."""
    return not hasattr(session.config, "workerinput") and not session.config.option.collectonly


def pytest_sessionstart(session):
    if in_charge(session):
        labs.run("dev/cluster", "routes")
        labs.erase()
        labs.install_kinds()


def unless_it_is_down(action):
    """A case may have taken the cluster down, while what outlives the cases was on it."""
    if labs.cluster_processes():
        action()


def pytest_sessionfinish(session):
    if in_charge(session):
        unless_it_is_down(labs.erase)


@contextlib.contextmanager
def laboratory(name, nodes=0):
    """A namespace for an operator, one for Slurm, and nodes; removed in the end."""
    place = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    assert nodes <= NODES_EACH
    names = [f"node{4 + NODES_EACH * place + i}" for i in range(nodes)]
    one = labs.Lab(f"e2e-{name}", f"e2e-{name}-operator", f"slurm-operator-{name}", nodes=names)
    with contextlib.ExitStack() as after:
        for node in names:
            after.callback(labs.run, "dev/cluster", "node", "remove", node, timeout=CLUSTER_SECONDS, check=False)
            labs.run("dev/cluster", "node", "add", node, "build/images/slurmd.tar", timeout=CLUSTER_SECONDS)
        after.callback(unless_it_is_down, one.remove)
        one.make_namespaces()
        yield one


def fill(one, settings):
    one.install_operator()
    one.install_slurm(*settings)
    replicas = [int(setting.split("=")[1]) for setting in settings if setting.startswith("nodesets.slinky.replicas=")]
    one.wait_for_idle(replicas[0] if replicas else labs.WORKERS, within=120)
    one.wait_for("slurmrestd is ready", lambda: one.condition("restapis", "slurm", "Ready")["status"] == "True", within=30)


@pytest.fixture(scope="session")
def shared():
    with laboratory("shared") as one:
        fill(one, ())
        yield one


@pytest.fixture(scope="module")
def bare(request):
    name = re.sub(r"^test_(\d_)?", "", request.module.__name__).replace("_", "-")
    with laboratory(name, getattr(request.module, "NODES", 0)) as one:
        yield one


@pytest.fixture(scope="module")
def lab(request, bare):
    if getattr(request.module, "PEOPLE", False):
        bare.install_people()
    fill(bare, getattr(request.module, "SETTINGS", ()))
    return bare
