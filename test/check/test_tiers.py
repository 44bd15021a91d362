"""What dev/test promises of its tiers: all run, each failed case is named, and nothing that did not run counts as passed."""
import importlib.machinery
import importlib.util
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSED = '<testcase classname="Suite" name="a"/>'
FAILED = '<testcase classname="Suite" name="b"><failure message="it is wrong&#10;and more"/></testcase>'
SKIPPED = '<testcase classname="Suite" name="c"><skipped/></testcase>'
NOT_RUN = '<testcase name="d" status="notrun"/>'


@pytest.fixture
def runner(tmp_path, monkeypatch, capfd):
    """Runs dev/test with these tiers; gives its exit status and its lines."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = importlib.machinery.SourceFileLoader("dev_test", str(ROOT / "dev/test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dev_test", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "REPORTS", tmp_path)
    monkeypatch.setattr(module, "FLAKY_BEFORE", tmp_path / "flaky.json")

    def run(*arguments, seconds=600, **tiers):
        monkeypatch.setattr(module, "TIERS", tiers)
        monkeypatch.setattr(module, "LIMIT_SECONDS", seconds)
        monkeypatch.setattr(sys, "argv", ["dev/test", *arguments])
        return module.main(), capfd.readouterr().out.splitlines()
    run.module = module
    return run


def script(*cases, status=0, reports=True):
    """A test program that reports these cases and ends with this status."""
    text = f"echo '<testsuite>{''.join(cases)}</testsuite>' > \"$1\"; " if reports else ""
    return ["sh", "-c", f"{text}exit {status}", "-"]


def program(*cases, status=0, reports=True, again=None, env=None):
    """A tier: one such program. `again`: what a failed case is tried with once more."""
    def tier(run):
        run.reported("program", script(*cases, status=status, reports=reports), "", env=env,
                     again=again and (lambda case: again))
    return tier


def test_green_tiers_run_in_order_and_are_counted(runner):
    status, lines = runner(one=program(PASSED), two=program(PASSED, PASSED))
    assert status == 0
    assert [line.split(" s, ")[-1] for line in lines] == ["== one", "1 passed, 0 failed", "== two", "2 passed, 0 failed",
                                                           "3 passed, 0 failed"]


def test_only_the_tiers_that_are_named_run(runner):
    status, lines = runner("two", one=program(FAILED), two=program(PASSED))
    assert status == 0 and lines[0] == "== two" and lines[-1] == "1 passed, 0 failed"


def test_a_red_tier_does_not_stop_the_next_and_its_failed_cases_are_named_at_the_end(runner):
    status, lines = runner(one=program(PASSED, FAILED, status=1), two=lambda run: run.command(["false"]), three=program(PASSED))
    assert status == 1
    assert [line.split(",")[0] for line in lines[:6]] == ["== one", "== one: failed", "== two", "== two: failed", "== three",
                                                          "== three: passed"]
    assert lines[6:] == ["failed: one: Suite.b: it is wrong", "failed: two: exit status 1: false", "2 passed, 2 failed"]


def test_a_red_program_does_not_keep_the_next_of_its_tier_from_running(runner):
    def tier(run):
        program(FAILED, status=1)(run)
        program(PASSED)(run)
    assert runner(tier=tier)[1][-2:] == ["failed: tier: Suite.b: it is wrong", "1 passed, 1 failed"]


def test_a_red_build_does_not_stop_the_next_tier(runner):
    lines = runner(one=lambda run: run.make(["false"], ["true"]), two=program(PASSED))[1]
    assert lines[-2:] == ["failed: one: exit status 1: false", "1 passed, 1 failed"]


def test_programs_at_once_all_run_although_one_cannot_go_on(runner):
    def tier(run):
        run.at_once(lambda: run.command(["./none"]), lambda: program(PASSED)(run), lambda: run.command(["false"]))
    lines = runner(one=tier, two=program(PASSED))[1]
    assert lines[-3:] == ["failed: one: exit status 1: false",
                          "failed: one: FileNotFoundError: [Errno 2] No such file or directory: './none'", "2 passed, 2 failed"]


@pytest.mark.parametrize("failure, said", [
    ('<failure message="ROOT/src/a_test.cc:7&#10;Expected equality"/>', "src/a_test.cc:7: Expected equality"),
    ('<error>&#10;  it broke&#10;</error>', "it broke"),
    ('<failure/>', "failed without a word")], ids=["gtest", "text", "nothing"])
def test_a_failed_case_is_told_by_the_first_thing_it_said(runner, failure, said):
    failure = failure.replace("ROOT", str(ROOT))
    lines = runner(tier=program(f'<testcase name="b">{failure}</testcase>', status=1))[1]
    assert lines[-2] == f"failed: tier: b: {said}"


@pytest.mark.parametrize("tier, reason", [
    (program(PASSED, SKIPPED), "Suite.c: skipped; a case runs or leaves the tests"),
    (program(PASSED, NOT_RUN), "d: skipped; a case runs or leaves the tests"),
    (program(PASSED, status=3), "program: exit status 3, although no case of it failed"),
    (program(status=0), "program: ran no test"),
    (program(PASSED, reports=False), "program: ended with status 0 before it could report"),
    (lambda run: run.command(["false"]), "exit status 1: false"),
    (program("<cut"), "ParseError: not well-formed (invalid token): line 1, column 15"),
    (lambda run: run.command(["./none"]), "FileNotFoundError: [Errno 2] No such file or directory: './none'")],
    ids=["skipped", "not-run", "status", "empty", "no-report", "command", "unreadable", "no-program"])
def test_what_did_not_run_to_its_end_has_failed(runner, tier, reason):
    status, lines = runner(tier=tier)
    assert status == 1
    assert lines[-3].startswith("== tier: failed, ") and lines[-3].endswith(" passed, 1 failed")
    assert lines[-2] == f"failed: tier: {reason}"
    assert lines[-1].endswith(" passed, 1 failed")


def named(name, text):
    return f'<testcase classname="Suite" name="{name}"><failure message="{text}"/></testcase>'


def test_a_case_that_passes_once_more_has_passed_and_is_named_as_flaky(runner, tmp_path):
    ran = []

    def tier(run):
        program(PASSED, FAILED, status=1, again=script(PASSED))(run)
        ran.append(run.passed)
    status, lines = runner(tier=tier)
    assert status == 0 and ran == [1], "it is tried again after the others"
    assert lines[-2:] == ["flaky: tier: Suite.b", "2 passed, 0 failed"]
    assert (tmp_path / "flaky/Suite.b").read_text() == "Suite.b\n\nit is wrong\nand more\n"
    assert not (tmp_path / "failed/Suite.b").exists()


@pytest.mark.parametrize("text", ["evidence.Harm: job 7 is gone", "failed on setup with &quot;evidence.Harm: job 7 is gone",
                                  "failed on teardown with &quot;evidence.Harm: residue"], ids=["call", "setup", "teardown"])
def test_what_shows_harm_is_never_tried_again(runner, text):
    lines = runner(tier=program(named("b", text), status=1, again=script(PASSED)))[1]
    assert lines[-1] == "0 passed, 1 failed" and not any("once more" in line for line in lines)


def test_a_program_that_could_not_go_on_has_failed_whatever_passes_once_more(runner):
    lines = runner(tier=program(PASSED, FAILED, status=2, again=script(PASSED)))[1]
    assert "failed: tier: program: exit status 2, which a failed case does not explain" in lines


def test_what_is_tried_again_has_its_own_environment(runner):
    again = ["sh", "-c", f"case $RELEASE in 1.36) case='{PASSED}' ;; *) case='{FAILED}' ;; esac; "
             "echo \"<testsuite>$case</testsuite>\" > \"$1\"", "-"]

    def tier(run):
        for release in "1.36", "1.32":
            program(FAILED, status=1, again=again, env={"RELEASE": release})(run)
    lines = runner(tier=tier)[1]
    assert lines[-1] == "1 passed, 1 failed" and "flaky: tier: Suite.b" in lines


def test_pytest_tries_again_with_the_same_marks_and_one_case_at_a_time(runner):
    by_itself = runner.module.by_itself
    assert by_itself(("-n", "3", "--dist", "loadgroup", "-m", "not long")) == ["-m", "not long"]
    assert by_itself(()) == []


@pytest.mark.parametrize("again", [script(FAILED, status=1), script(status=0), script(PASSED, status=1), script(reports=False)],
                         ids=["fails", "runs-nothing", "status", "no-report"])
def test_a_case_that_does_not_pass_once_more_has_failed(runner, tmp_path, again):
    status, lines = runner(tier=program(PASSED, FAILED, status=1, again=again))
    assert status == 1 and "failed: tier: Suite.b: it is wrong" in lines
    assert (tmp_path / "failed/Suite.b").exists()


@pytest.mark.parametrize("text", ["evidence.Harm: job 7 is NODE_FAIL", "Harm: left: link x"])
def test_a_case_that_shows_harm_is_not_run_again(runner, tmp_path, text):
    again = ["touch", tmp_path / "ran"]
    assert runner(tier=program(named("lost", text), status=1, again=again))[1][-2] == f"failed: tier: Suite.lost: {text}"
    assert not (tmp_path / "ran").exists()


def test_cases_that_are_tried_with_one_command_are_tried_once(runner, tmp_path):
    again = ["sh", "-c", f"echo x >> {tmp_path}/ran; echo '<testsuite>{PASSED}</testsuite>' > \"$1\"", "-"]
    status, _ = runner(tier=program(named("c", "x"), named("d", "x"), status=1, again=again))
    assert status == 0 and (tmp_path / "ran").read_text() == "x\n"


def test_more_than_three_failed_cases_of_a_tier_are_not_tried_again(runner):
    cases = [named(str(i), "x") for i in range(4)]
    assert runner(tier=program(*cases, status=1, again=script(PASSED)))[1][-1] == "0 passed, 4 failed"


def test_more_than_three_flaky_cases_in_a_run_are_a_failure(runner):
    tier = program(*(named(str(i), "x") for i in range(2)), status=1, again=script(PASSED))
    status, lines = runner(one=tier, two=tier)
    assert status == 1 and "failed: all: 4 flaky cases; 3 are the most that a run may have" in lines


def test_a_case_that_is_flaky_in_runs_of_two_commits_in_a_row_has_failed(runner, monkeypatch):
    commits = iter(["a", "a", "b", "c", "d"])
    monkeypatch.setattr(runner.module, "commit", lambda: next(commits))
    flaky, green = program(FAILED, status=1, again=script(PASSED)), program(PASSED)
    outcomes = [runner(tier=tier)[0] for tier in (flaky, flaky, flaky, green, flaky)]
    assert outcomes == [0, 0, 1, 0, 0]


def test_the_file_of_a_case_is_known_by_its_name(runner):
    assert runner.module.file_of("check.test_tiers.test_x[a.b]") == ROOT / "test/check/test_tiers.py"
    assert runner.module.file_of("kube.crds.test_helm_scaling.Class.test_x") == ROOT / "test/kube/crds/test_helm_scaling.py"


def test_what_a_failed_case_said_is_kept_at_once(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_one():\n    print('seen')\n    assert 1 == 2\n")
    subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "evidence", "--rootdir", tmp_path, tmp_path],
                   env={"PYTHONPATH": str(ROOT / "test/support"), "CAPSTAN_REPORTS": str(tmp_path), "PATH": "/usr/bin:/bin"},
                   capture_output=True, timeout=60, check=False)
    kept = (tmp_path / "failed/test_it.test_one").read_text()
    assert kept.startswith("test_it.test_one\n") and "assert 1 == 2" in kept and "seen" in kept


def test_the_report_of_an_earlier_run_does_not_count(runner):
    assert runner(tier=program(PASSED))[0] == 0
    assert runner(tier=program(reports=False))[0] == 1


def test_what_runs_is_ended_with_it(runner):
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(SystemExit, match="was told to end"):
            runner(endless=lambda run: run.command(["sh", "-c", "kill -TERM $PPID; exec sleep 600"]), seconds=60)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_time_limit_names_the_tier_and_those_after_it(runner):
    def slow(run):
        run.limit = time.monotonic() - run.started + 0.2
        run.command(["sleep", "600"])
    status, lines = runner(quick=program(PASSED), slow=slow, never=program(PASSED))
    assert status == 1
    assert lines[-3:] == ["failed: slow: out of time in: sleep 600", "not run: never", "1 passed, 1 failed"]
    assert "== never" not in lines


def test_without_time_left_nothing_is_started(runner, tmp_path):
    status, lines = runner(late=lambda run: run.command(["touch", tmp_path / "started"]), seconds=0)
    assert status == 1 and lines[-2] == "failed: late: out of time"
    assert not (tmp_path / "started").exists()


def test_the_time_counts_from_when_it_is_said_to_have_begun(runner):
    began = str(int(time.time()) - 700)
    assert runner("--began", began, seconds=600, tier=program(PASSED))[1][-2] == "failed: tier: out of time"
    assert runner("--began", began, seconds=6000, tier=program(PASSED))[0] == 0


@pytest.mark.parametrize("target, words", [("test", "--began 1000 unit kube"), ("test-long", "--long --began 1000 unit kube")])
def test_make_lets_the_time_begin_before_packages_are_installed(tmp_path, target, words):
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "now").write_text("1000")
    (tmp_path / "dev").mkdir()
    for name, text in {"date": "cat now", "dev/bootstrap": "echo 2000 > now", "dev/test": "echo $*"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    done = subprocess.run(["make", "-s", target, "ONLY=unit kube"], cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
                          capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == words + "\n"


@pytest.fixture
def budgeted(runner, monkeypatch, tmp_path):
    """Runs one tier that builds for 3 seconds and tests for 2, by a clock that is played."""
    def run(fresh, warm, *arguments):
        clock = [1000.0]
        (tmp_path / "budget").write_text(f"# a comment\ntier {fresh} {warm}\n")
        monkeypatch.setattr(runner.module, "BUDGET", tmp_path / "budget")
        monkeypatch.setattr(runner.module.time, "monotonic", lambda: clock[0])

        def pass_time(self, words, env=None, **_):
            clock[0] += float(words[1])
        monkeypatch.setattr(runner.module.Run, "command", pass_time)

        def tier(run):
            run.make(["sleep", "3"])
            run.command(["sleep", "2"])
            run.passed += 1
        return runner(*arguments, tier=tier)
    return run


def test_a_tiers_seconds_stand_beside_its_budget(budgeted):
    assert budgeted(5, 2) == (0, ["== tier", "== tier: passed, 5 s of 5, 2 s of 2 without building, 1 passed, 0 failed",
                                  "1 passed, 0 failed"])


@pytest.mark.parametrize("fresh, warm, told", [(3, 2, "5 s of 3"), (5, 1, "2 s of 1 without building"),
                                               (3, 1, "5 s of 3, 2 s of 1 without building")],
                         ids=["all", "without-building", "both"])
def test_a_tier_beyond_its_budget_is_told_as_slow_and_has_passed(budgeted, fresh, warm, told):
    status, lines = budgeted(fresh, warm)
    assert status == 0
    assert lines[-2:] == [f"slow: tier {told}", "1 passed, 0 failed"]


def test_the_long_variant_has_no_budget(budgeted):
    assert budgeted(1, 1, "--long")[1][-2] == "== tier: passed, 5 s, 1 passed, 0 failed"


def test_each_tier_of_make_test_has_a_budget_and_together_they_keep_the_limit(runner):
    budgets = runner.module.budgets()
    assert list(budgets) == [name for name in runner.module.TIERS if name not in runner.module.LONG_ONLY]
    assert sum(fresh for fresh, _ in budgets.values()) <= 75 * 60 and sum(warm for _, warm in budgets.values()) <= 25 * 60


def test_what_is_built_side_by_side_fails_with_either(runner):
    for commands in (["true"], ["false"]), (["false"], ["true"]):
        status, lines = runner(tier=lambda run, c=commands: run.make(*c))
        assert status == 1 and lines[-2] == "failed: tier: exit status 1: false"


def test_an_unknown_tier_is_refused(runner):
    with pytest.raises(SystemExit):
        runner("nothing", one=program(PASSED))


def test_no_tier_sees_what_would_lead_to_someones_cluster_or_out(runner, monkeypatch):
    for name in ("KUBECONFIG", "https_proxy", "NO_PROXY", "MAKEFLAGS"):
        monkeypatch.setenv(name, "set")
    status, lines = runner(tier=lambda run: run.command(["sh", "-c", "env | grep -c =set$"]))
    assert lines[1] == "0" and status == 1


def test_every_tier_is_run_without_names_but_the_long_ones(runner):
    tiers = {name: program(PASSED) for name in runner.module.TIERS}
    _, lines = runner(**tiers)
    assert [line[3:] for line in lines if line.startswith("== ") and ":" not in line] == [
        name for name in tiers if name not in ("tsan", "tidy")]
