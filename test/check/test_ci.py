"""What .ci/run leaves behind for whoever asks why a commit was refused."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def ci(tmp_path):
    """Runs .ci/run in a repository of its own, whose `make test` is this recipe: what ran, and where it is kept."""
    clone, cache = tmp_path / "clone", tmp_path / "cache"
    (clone / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", clone / ".ci/run")
    env = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache), "HOME": "/nonexistent"}

    def git(*words):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=clone, env=env,
                              capture_output=True, text=True, check=True).stdout.strip()

    def run(recipe):
        (clone / "Makefile").write_text("test:\n\t@" + recipe.replace("$", "$$") + "\n")
        git("init", "-q")
        git("add", ".")
        git("commit", "-qm", "one", "--allow-empty")
        done = subprocess.run([clone / ".ci/run"], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=False)
        return done, cache / "capstan/ci" / git("rev-parse", "HEAD")
    return run


def test_what_a_run_says_and_its_status_are_kept_and_passed_on(ci):
    done, folder = ci('echo "patience $CAPSTAN_PATIENCE"; echo wrong >&2; touch "$CAPSTAN_REPORTS/report"; exit 3')
    assert done.returncode == 2, "make's own for a failed recipe"
    lines = done.stdout.splitlines()
    assert lines[:2] == ["patience 4", "wrong"]
    assert (folder / "output").read_text().splitlines() == lines
    assert (folder / "report").exists()


def test_a_green_run_is_green_although_something_outlives_it(ci):
    done, folder = ci("sleep 30 & echo done")
    assert done.returncode == 0 and (folder / "output").read_text() == "done\n"


def test_the_last_ten_runs_are_kept(ci):
    folders = []
    for i in range(12):
        folders.append(ci(f"echo {i}")[1])
        os.utime(folders[-1], (i, i))
    assert [folder.exists() for folder in folders] == [False, False, *[True] * 10]
