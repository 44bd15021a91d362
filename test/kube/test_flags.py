"""The flags of `capstan operator`, as far as it gets without a way to an API server."""
import subprocess

import pytest
from apiserver import clean_environment
from definitions import REPOSITORY

CAPSTAN = REPOSITORY / "build" / "release" / "bin" / "capstan"


def started(*flags):
    return subprocess.run([CAPSTAN, "operator", "--kubeconfig", "/none", *flags], text=True, env=clean_environment(),
                          capture_output=True, timeout=10, check=False)


@pytest.mark.parametrize("flags", [
    ["--leader-elect"], ["--leader-elect=true"], ["--leader-elect=false"], ["--leader-elect", "false"],
    ["--leader-elect", "--health-addr=0"], ["--zap-log-level=1"], ["--zap-log-level", "panic"]])
def test_taken(flags):
    done = started(*flags)
    assert done.returncode == 1
    assert "no way to the API server" in done.stderr, "--leader-elect alone once ended with: 1 required BOOLEAN missing"


@pytest.mark.parametrize("flags, words", [
    (["--leader-elect=perhaps"], "Could not convert: --leader-elect = perhaps"),
    (["--zap-log-level=loud"], "must be debug, info, warn, error, panic, or a number above 0 for debug")])
def test_refused(flags, words):
    done = started(*flags)
    assert done.returncode != 0
    assert words in done.stderr + done.stdout
