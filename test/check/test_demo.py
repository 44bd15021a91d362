"""When `make demo` starts the operator anew, and when it scales, adds an account and makes keys: on a cluster that is played, by a Deployment whose
note is a file, and a NodeSet whose replicas are one."""
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAYED = {
    "dev/bootstrap": "", "dev/tools": "", "dev/build": "", "dev/images": "",
    "dev/cluster": """case "$*" in
*" sacct "*" state") echo COMPLETED ;;
*sbatch*) echo 7 ;;
*) echo config ;;
esac""",
    "build/tools/helm": 'case "$*" in *"slurm-operator charts/"*) [ -e note ] || : > note ;; esac',
    "build/tools/kubectl": """case "$*" in
*"get namespace"*) echo there ;;
*"get deployment"*) [ ! -e note ] || echo "slurm-operator $(cat note)" ;;
*"rollout restart deployment/slurm-operator") echo restart >> restarts ;;
*"annotate --overwrite deployment/slurm-operator "*) said=$*; echo "${said##*=}" > note ;;
*"get nodesets.slinky"*) cat replicas 2> /dev/null || echo 1 ;;
*"scale nodesets.slinky"*) said=$*; echo "${said##*=}" > replicas ;;
*" sinfo "*) printf 'a\\nb\\nc\\n' ;;
*"list cluster"*) echo slurm_slurm ;;
*"sacctmgr -nP list"*) cat accounts 2> /dev/null ;;
*"sacctmgr -i add"*) echo added >> accounts ;;
*"create secret generic ldap-people"*) sha256sum > people ;;
*"apply -f -") cat > /dev/null ;;
*host-keys*) echo a2V5 ;;
esac""",
}


@pytest.fixture
def demo(tmp_path):
    """Runs `dev/demo up` with this as the operator's image; gives how often the operator has been started anew by now."""
    for name, text in PLAYED.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    shutil.copy(ROOT / "dev/demo", tmp_path / "dev/demo")
    shutil.copy(ROOT / "VERSION", tmp_path)
    shutil.copytree(ROOT / "examples/demo", tmp_path / "examples/demo")
    (tmp_path / "build/images").mkdir()

    def up(image, **env):
        (tmp_path / "build/images/capstan.tar").write_text(image)
        subprocess.run([tmp_path / "dev/demo", "up"], env={"PATH": "/usr/bin:/bin"} | env, capture_output=True, timeout=60,
                       check=True)
        restarts = tmp_path / "restarts"
        return len(restarts.read_text().split()) if restarts.exists() else 0
    up.note = tmp_path / "note"
    up.replicas = tmp_path / "replicas"
    up.folder = tmp_path
    return up


def test_the_operator_is_started_anew_when_its_image_has_changed_and_only_then(demo):
    assert [demo(image) for image in ("first", "first", "second", "second", "first")] == [0, 0, 1, 1, 2]


def test_an_operator_that_something_else_installed_is_started_anew_once(demo):
    demo.note.touch()
    assert [demo("first"), demo("first")] == [1, 1]


@pytest.mark.parametrize("before, after", [("0", "3"), ("1", "3"), ("3", "3"), ("7", "7")])
def test_a_second_demo_takes_whatever_number_of_workers_there_is(demo, before, after):
    """Its values held the number: after a `kubectl scale`, helm ended with a conflict about .spec.replicas."""
    demo("first")
    assert demo.replicas.read_text().strip() == "3"
    demo.replicas.write_text(before)
    demo("first")
    assert demo.replicas.read_text().strip() == after


def test_a_second_demo_keeps_the_keys_and_accounts_of_people(demo):
    demo("first")
    files = demo.folder / "build/demo"
    kept = {file.name: file.read_text() for file in files.iterdir()}
    people = (demo.folder / "people").read_text()
    demo("second")
    assert {file.name: file.read_text() for file in files.iterdir()} == kept
    assert (demo.folder / "people").read_text() == people
    assert (demo.folder / "accounts").read_text() == "added\n"  # the account, as whose list that of the people is played
    assert (files / "ada").stat().st_mode & 0o077 == 0
    assert kept["known_hosts"] == "slurm-login-slinky key\n"
