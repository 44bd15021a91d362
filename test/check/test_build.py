"""What dev/build lets one see of a build, with a ninja that is played, and minutes that pass at once; where compilers cache."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# SECONDS stops being the clock, and half a minute passes with every line.
QUICK_CLOCK = 'unset SECONDS; SECONDS=0; read() { SECONDS=$((SECONDS + 30)); builtin read "$@"; }\n'


@pytest.fixture
def build(tmp_path):
    """Runs dev/build in a tree that is configured, with a ninja that says this and ends so."""
    def build(says, status=0):
        (tmp_path / "dev").mkdir()
        shutil.copy(ROOT / "dev/build", tmp_path / "dev/build")
        (tmp_path / "build/release").mkdir(parents=True)
        (tmp_path / "build/release/build.ninja").touch()
        (tmp_path / "says").write_text(says)
        (tmp_path / "clock").write_text(QUICK_CLOCK)
        (tmp_path / "ninja").write_text(f"#!/bin/sh\nsed \"s|^STATUS|$NINJA_STATUS|\" {tmp_path}/says\nexit {status}\n")
        (tmp_path / "ninja").chmod(0o755)
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "BASH_ENV": str(tmp_path / "clock")}
        return subprocess.run([tmp_path / "dev/build", "release"], env=env, capture_output=True, text=True, timeout=60, check=False)
    return build


def test_a_line_a_minute_says_how_far_a_long_build_is(build):
    done = build("ninja: Entering directory `build/release'\n" + "".join(f"STATUSBuilding {n}\n" for n in range(6)))
    assert done.returncode == 0
    assert done.stdout == "".join(f"build/release: %f of %t done: Building {n}\n" for n in (0, 2, 4))


def test_a_build_with_nothing_to_do_says_nothing(build):
    done = build("ninja: Entering directory `build/release'\nninja: no work to do.\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_a_compiler_says_is_heard_and_its_failure_is_the_builds(build):
    said = "FAILED: a.o\nclang++ a.cc\na.cc:1:1: error: 100% \\wrong\nninja: build stopped: subcommand failed.\n"
    done = build("STATUSBuilding a.o\n" + said, status=1)
    assert done.returncode == 1
    assert done.stdout == said


@pytest.mark.parametrize("setting, place", [
    ({}, "/a/home/.cache/capstan/ccache"),
    ({"XDG_CACHE_HOME": "/a/cache"}, "/a/cache/capstan/ccache"),
    ({"XDG_CACHE_HOME": "/a/cache", "CCACHE_DIR": "/mine"}, "/mine")], ids=["home", "xdg", "callers"])
def test_what_compilers_made_is_kept_with_the_other_caches(tmp_path, setting, place):
    (tmp_path / "ccache").write_text('#!/bin/sh\necho "$CCACHE_DIR $CCACHE_BASEDIR $*"\n')
    (tmp_path / "ccache").chmod(0o755)
    done = subprocess.run([ROOT / "dev/lib/ccache", "clang", "a b.cc"], capture_output=True, text=True, timeout=60, check=True,
                          env={"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": "/a/home"} | setting)
    assert done.stdout == f"{place} {ROOT} clang a b.cc\n"
