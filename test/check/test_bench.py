"""What `make bench` does of what is asked when a group cannot be measured here: the modules that measure are played."""
import importlib
import pathlib
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """bench/bench.py with the groups one and two of the module `plain`, three of `other`; and what they did."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    figures, bench = importlib.import_module("figures"), importlib.import_module("bench")
    monkeypatch.setattr(figures, "RESULTS", tmp_path / "bench.json")
    done = []

    def played(name, *groups):
        module = types.ModuleType(name)
        module.prepare = lambda: done.append(f"prepare {name}")
        module.GROUPS = {group: lambda _, group=group: done.append(group) for group in groups}
        monkeypatch.setitem(sys.modules, name, module)
        return module

    bench.played = {"plain": played("plain", "one", "two"), "other": played("other", "three")}
    monkeypatch.setattr(bench, "GROUPS", {"one": "plain", "two": "plain", "three": "other"})

    def run(*names):
        done.clear()
        monkeypatch.setattr(sys, "argv", ["bench", *names])
        bench.main()
        return done
    bench.run, bench.done = run, done
    return bench


def test_what_a_group_needs_is_made_just_before_it(bench):
    assert bench.run() == ["prepare plain", "one", "two", "prepare other", "three"]
    assert bench.run("three", "two") == ["prepare other", "three", "prepare plain", "two"]


def test_what_cannot_be_measured_here_is_said_and_the_rest_measured(bench, capsys):
    def prepare():
        raise bench.CannotMeasure("no Go")
    bench.played["plain"].prepare = prepare
    with pytest.raises(SystemExit) as ended:
        bench.run()
    assert bench.done == ["prepare other", "three"]
    assert ended.value.code == "bench: one, two not measured: no Go"
    assert "== one" not in capsys.readouterr().out


def test_a_go_that_is_too_old_for_the_program_to_compare_with_is_said_before_anything_is_built(bench, monkeypatch, tmp_path):
    against_go = importlib.import_module("against_go")
    (tmp_path / "go").write_text("#!/bin/sh\necho 'go: go.mod requires go >= 1.26.0 (running go 1.25.3)' >&2\nexit 1\n")
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(bench.CannotMeasure) as said:
        against_go.prepare()
    assert str(said.value) == ("the Go program to compare with cannot be built "
                               "(go: go.mod requires go >= 1.26.0 (running go 1.25.3))")
