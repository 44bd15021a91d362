"""What dev/bootstrap says of a machine: the programs by which it looks are played, so that any answer can be had."""
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAYED = {
    "go": "echo go1.25.3",
    "df": 'echo Avail; echo 104857600; echo "${@: -1}" >> "$0.asked"',
    "stat": 'echo "${@: -1}"',  # each place on a file system of its own
    "unshare": "",
    "ip": "",
    "iptables": "",
    "dpkg-query": "sed 's/$/ installed/' " + f"<(grep -v -e '^#' -e '^$' {ROOT}/dev/packages.txt)",
    "apt-get": 'echo "$@" >> "$0.asked"',
}
NO_BRIDGE = '[ "$*" != "--net ip link add name test0 type bridge" ]'


@pytest.fixture
def machine(tmp_path):
    """Runs dev/bootstrap on a machine that has everything but what is changed here, by the text of the program asked."""
    def bootstrap(*arguments, home=tmp_path, without="", **changed):
        for name, text in (PLAYED | {name.replace("_", "-"): text for name, text in changed.items()}).items():
            (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
            (tmp_path / name).chmod(0o755)
        (tmp_path / "before").write_text(f'command() {{ [ "${{*: -1}}" != "{without}" ] && builtin command "$@"; }}\n')
        env = {"PATH": f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "BASH_ENV": str(tmp_path / "before")}
        return subprocess.run([ROOT / "dev/bootstrap", *arguments], env=env, capture_output=True, text=True, timeout=60,
                              check=False)
    bootstrap.asked = lambda program: (tmp_path / f"{program}.asked").read_text().splitlines()
    return bootstrap


def sentences(done):
    assert done.returncode == 1
    return [line.removeprefix("bootstrap: ") for line in done.stderr.splitlines()]


def test_a_machine_that_has_everything_is_fine(machine):
    done = machine("--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_place_of_a_cache_that_is_yet_to_be_made_is_looked_at(machine, tmp_path):
    assert machine("--check", home=tmp_path / "not" / "made" / "yet").returncode == 0
    assert machine.asked("df") == [str(tmp_path), str(ROOT), "/var/lib"]


def test_too_little_space_is_said_for_each_place(machine, tmp_path):
    said = sentences(machine("--check", df="echo Avail; echo 3145728"))
    assert said == [f"{place} has 3 GiB free; 25 GiB are needed." for place in (tmp_path, ROOT, "/var/lib")] + [
        "3 of the things needed are missing."]


def test_one_file_system_is_looked_at_once(machine, tmp_path):
    said = sentences(machine("--check", df="echo Avail; echo 3145728", stat="echo 7"))
    assert said == [f"{tmp_path} has 3 GiB free; 25 GiB are needed.", "1 of the things needed are missing."]


def test_less_space_is_enough_once_the_programs_are_built(machine, tmp_path):
    (tmp_path / ".cache/capstan/tools").mkdir(parents=True)
    assert machine("--check", df="echo Avail; echo 10485760").returncode == 0


@pytest.mark.parametrize("changed, sentence", [
    ({"go": "exit 127"}, "Go is missing; install version 1.25 or newer and put it on PATH."),
    ({"go": "echo go1.24.9"}, "Go is go1.24.9; 1.25 or newer is needed."),
    ({"unshare": '[ "$1" != --pid ]'},
     "The kernel or this container forbids new pid namespaces (unshare --pid)."),
    ({"unshare": '[ "$1" != --mount ] || [ "$2" = --fork ]'},
     "The kernel lacks overlayfs, or this container forbids mounting it."),
    ({"unshare": NO_BRIDGE}, "The kernel lacks bridge links."),
    ({"dpkg_query": PLAYED["dpkg-query"] + " | grep -v -e ninja -e jq"}, "Debian packages are missing: jq ninja-build.")],
    ids=["go-missing", "go-old", "namespace", "overlay", "bridge", "packages"])
def test_what_is_missing_is_said_in_one_sentence(machine, changed, sentence):
    assert sentences(machine("--check", **changed)) == [sentence, "1 of the things needed are missing."]


@pytest.mark.parametrize("changed", [{"go": "echo go1.24.9"}, {"unshare": NO_BRIDGE}], ids=["go", "network"])
def test_a_machine_that_will_not_do_is_left_as_it_is(machine, tmp_path, changed):
    assert sentences(machine(dpkg_query="true", **changed))
    assert not (tmp_path / "apt-get.asked").exists()


@pytest.mark.parametrize("without", ["ip", "iptables"])
def test_the_network_is_not_blamed_for_a_program_that_is_yet_to_come(machine, without):
    packages = PLAYED["dpkg-query"] + " | grep -v -e ^iptables -e ^iproute2"
    assert sentences(machine("--check", without=without, unshare=NO_BRIDGE, dpkg_query=packages)) == [
        "Debian packages are missing: iproute2 iptables.", "1 of the things needed are missing."]


def test_an_unknown_argument_is_refused(machine):
    done = machine("--chek")
    assert done.returncode == 2 and done.stderr == 'bootstrap: unknown argument "--chek"; only --check is known.\n'
