"""What must hold of the sources themselves: format, layers, sizes, nothing that leads outside."""
import json
import pathlib
import re
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


@pytest.fixture(scope="session")
def compile_flags():
    """The compiler's words for a source of a folder, without its file and output."""
    subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, check=True, capture_output=True)
    commands = json.loads((BUILD / "compile_commands.json").read_text())

    def of(layer):
        for command in commands:
            path = pathlib.Path(command["file"])
            if path.parent == ROOT / "src" / layer and not path.name.endswith("_test.cc"):
                words = shlex.split(command["command"])
                start = next(i for i, word in enumerate(words) if word.endswith("clang++-19"))
                end = words.index("-o")
                return words[start:end]
        raise AssertionError(f"no source in src/{layer}")

    return of


@pytest.mark.parametrize("case", sorted((ROOT / "test/nocompile").glob("*.cc")), ids=lambda path: path.stem)
def test_does_not_compile(case, compile_flags):
    text = case.read_text()
    layer = re.search(r"^// layer: (\S+)$", text, re.M).group(1)
    expected = re.search(r"^// expect: (.+)$", text, re.M).group(1)
    command = [*compile_flags(layer), "-fsyntax-only", "-fno-color-diagnostics", str(case)]
    control = subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)
    assert control.returncode == 0, f"the case must compile without its offence:\n{control.stderr}"
    offence = subprocess.run([*command, "-DOFFENCE"], cwd=BUILD, capture_output=True, text=True, check=False)
    assert offence.returncode != 0, "the offence compiles"
    assert expected in offence.stderr


def test_formatted():
    files = [str(path) for path in tracked("*.h", "*.cc")]
    done = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, "run `make format`:\n" + done.stderr[:3000]


def test_python_can_be_read():
    """Also of programs that no tier runs, such as those of `make bench`."""
    for path in tracked("*.py"):
        compile(path.read_text(), str(path), "exec")


def test_includes_are_written_from_src():
    for path in tracked("src/*.h", "src/*.cc"):
        assert not re.search(r'#include "\.', path.read_text()), f"{path}: relative include"


def test_headers_are_included_once():
    for path in tracked("src/*.h"):
        assert "#pragma once" in path.read_text(), path


def test_promises_of_the_runtime_name_their_tests():
    table = (ROOT / "docs/runtime.md").read_text().split("## What it promises")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)\.(\w+)`", table))
    there = set()
    for path in tracked("src/*_test.cc", "test/*_test.cc"):
        there |= set(re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", path.read_text(), re.M))
    assert len(named) > 10 and not named - there
    functions = set(re.findall(r"`(test_\w+)`", table))
    assert functions <= set(re.findall(r"^def (test_\w+)", (ROOT / "test/examples/test_website.py").read_text(), re.M))
    assert all((ROOT / path).exists() for path in re.findall(r"`(test/nocompile/\S+)`", table))


def test_shell_scripts_have_no_known_fault():
    scripts = [path for path in tracked("dev/*", "test/*", "images/*", "charts/*", "examples/*", ".ci/*")
               if path.suffix == ".sh" or re.match(rb"#!.*\b(ba)?sh\b", path.open("rb").readline())]
    assert ROOT / "dev/cluster" in scripts
    done = subprocess.run(["shellcheck", "--external-sources", "--format=gcc", *scripts], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_images_tests_and_demo_speak_of_one_slurm():
    places = {"images/slurm/Containerfile": r'"slurm[\w-]*=([\d.]+)\*"', "dev/slurm-root": r"^SLURM=([\d.]+)$",
              "dev/demo": r"^slurm_tag=([\d.]+)$"}
    found = {path: set(re.findall(pattern, (ROOT / path).read_text(), re.M)) for path, pattern in places.items()}
    assert all(found.values()) and len(set.union(*found.values())) == 1, found


def test_no_large_file_is_committed():
    large = [str(path) for path in tracked() if path.stat().st_size > 1 << 20]
    assert not large


@pytest.mark.parametrize("page, least", [("testing", 100), ("compatibility", 15), ("security", 15)])
def test_every_promise_names_a_test_that_exists(page, least):
    named = re.findall(r"`([\w./]+\.(?:cc|py))(?::(?:(\w+)\.)?(\w+))?`", (ROOT / f"docs/{page}.md").read_text())
    assert len(named) > least, "the tables are not read as they are written"
    for path, suite, name in named:
        files = [folder / path for folder in (ROOT, ROOT / "src") if (folder / path).is_file()]
        assert files, f"docs/{page}.md names {path}, which is not there"
        macro = rf"^TEST(_[FP])?\({suite}, {name}\)" if suite else rf"^def {name}\("
        found = not name or re.search(macro, files[0].read_text(), re.M)
        assert found, f"docs/{page}.md names {suite}.{name}, which is not in {path}"


def test_nothing_names_a_registry_or_a_path_of_one_machine():
    # Module paths such as google.golang.org/grpc are names, not places to fetch from. Root's keys lie there in every image, and
    # /home/kubernetes is on every node of GKE.
    hosts = (r"\b(proxy|sum)\.golang\.org|\b(deb|ftp|security|snapshot)\.debian\.org|\bregistry\.npmjs\.org|"
             r"\bpypi\.org|\bfiles\.pythonhosted\.org|\bdocker\.(io|com)\b|\b(ghcr|quay|gcr)\.io\b")
    paths = r"(?<![\w.-])/(root(?!/\.ssh\b)|home/(?!kubernetes/)\w+)/"
    allowed = {"test_check.py", "go.sum"}
    for path in tracked():
        if path.name in allowed or path.is_relative_to(ROOT / "licences") or path.name in ("LICENSE", "NOTICE"):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for pattern in (hosts, paths):
            found = re.search(pattern, text)
            assert not found, f"{path.relative_to(ROOT)}: {found.group(0)}"
