"""The example on the Slurm library: it builds from an installed prefix, its tests pass, and docs/slurm-library.md quotes it."""

import re
import subprocess

import pytest

from website import REPOSITORY, configure, run, stranger

DRAIN = REPOSITORY / "examples" / "drain"


@pytest.fixture(scope="module")
def built(prefix):
    build, done = configure(prefix, DRAIN)
    assert done.returncode == 0, done.stderr
    run("cmake", "--build", build)
    return build


def test_its_own_tests_pass(built):
    assert "100% tests passed" in run("ctest", "--test-dir", built, "--no-tests=error")


def test_what_the_page_shows_is_code_that_was_compiled(built):
    code = "\n".join(path.read_text() for path in sorted(DRAIN.glob("*.cc")))
    shown = re.findall(r"```cpp\n(.*?)```", (REPOSITORY / "docs/slurm-library.md").read_text(), re.S)
    assert len(shown) > 4
    for snippet in shown:
        assert snippet in code, snippet


def test_a_missing_argument_is_told(built):
    done = subprocess.run([built / "drain-node"], text=True, capture_output=True, env=stranger())
    assert done.returncode == 2 and "usage: SLURM_JWT=TOKEN drain-node URL NODE REASON" in done.stderr
