"""What is in the container images, read from the archives that dev/images makes."""
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from image import CLONE, Image

# The user, and the role and program of each; the first four have the same layers, so have the other two.
SLURM_IMAGES = {"slurmctld": "401:401", "slurmdbd": "401:401", "slurmrestd": "65534:65534", "sackd": None, "slurmd": None,
                "login": None}
PEOPLE_IMAGES = ("slurmd", "login")
TRIAL_IMAGES = {"mariadb": ("database", "402:402"), "slapd": ("directory", "403:403")}
LICENCES = "usr/share/licenses/capstan/"


@pytest.fixture(scope="module")
def images():
    return {name: Image(name) for name in SLURM_IMAGES}


@pytest.fixture(scope="module")
def capstan():
    return Image("capstan")


def test_slurm_images_start_their_daemon_through_the_entry(images):
    for name, image in images.items():
        assert image.reference == f"localhost/capstan/{name}:26.05"
        assert image.config["Entrypoint"] == ["/usr/local/bin/capstan-entry", name]
        assert not image.config.get("Cmd"), "a pod's arguments must be all there are"
        assert (image.config.get("User") or None) == SLURM_IMAGES[name]
        assert image.member("usr/local/bin/capstan-entry").mode & 0o111
        assert f"usr/sbin/{'sackd' if name == 'login' else name}" in image.paths()


def test_slurm_images_have_what_the_containers_beside_a_daemon_run(images):
    programs = ["sh", "bash", "cat", "mkfifo", "sleep", "find", "sort", "sha256sum", "hostname",
                "scontrol", "sinfo", "squeue", "srun", "sbatch"]
    for name, image in images.items():
        for program in programs:
            assert f"usr/bin/{program}" in image.paths(), f"{program} in {name}"


def test_slurm_images_have_the_plugins_our_configuration_names(images):
    for name, image in images.items():
        plugins = {os.path.basename(path) for path in image.paths() if "/slurm-wlm/" in path or "/slurm/" in path}
        for plugin in ("auth_slurm", "auth_jwt", "serializer_json", "data_parser_v0_0_44", "cgroup_v2"):
            assert f"{plugin}.so" in plugins, f"{plugin} in {name}"


def test_slurms_user_has_the_number_of_the_charts(images):
    for image in images.values():
        assert b"\nslurm:x:401:401:" in image.read("etc/passwd")
        assert b"\nslurm:x:401:" in image.read("etc/group")
        assert (image.member("run/slurmctld").uid, image.member("var/spool/slurmctld").uid) == (401, 401)


def test_slurm_images_carry_no_configuration_keys_or_leftovers(images):
    unwanted = re.compile(r"etc/slurm/.|var/lib/apt/lists/.|var/cache/apt/.*(\.bin|\.deb)$|usr/share/man/.|run/install$"
                          r"|etc/munge/.|etc/ssh/ssh_host_|etc/sssd/sssd\.conf|root/\.ssh/.|.*/munge\.key$|etc/apt/sources\.list\.d/.*\.list$|etc/apt/sources\.list$")
    for name, image in images.items():
        assert [path for path in image.paths() if unwanted.match(path)] == [], name


def test_every_package_keeps_its_copyright_file(images):
    for name, image in images.items():
        status = image.read("var/lib/dpkg/status").decode()
        packages = re.findall(r"^Package: (.*)$", status, re.M)
        assert len(packages) > 50
        missing = [p for p in packages if f"usr/share/doc/{p}/copyright" not in image.files
                   and not (f"usr/share/doc/{p}" in image.files and image.member(f"usr/share/doc/{p}").issym())]
        assert missing == [], name


def test_slurm_images_have_few_layers(images):
    assert len({tuple(image.layers) for name, image in images.items() if name not in PEOPLE_IMAGES}) == 1
    assert len({tuple(images[name].layers) for name in PEOPLE_IMAGES}) == 1
    alone, people = images["slurmctld"].layers, images["slurmd"].layers
    assert people[:-2] == alone[:-1], "what comes last is Capstan's, and the packages for people before it"


def test_people_find_what_they_log_in_to(images):
    for image in (images[name] for name in PEOPLE_IMAGES):
        for program in ("usr/sbin/sshd", "usr/sbin/sssd", "usr/bin/sss_ssh_authorizedkeys", "usr/bin/crun", "usr/bin/setpriv"):
            assert program in image.paths()
        modules = {os.path.basename(path) for path in image.paths() if "/security/" in path}
        assert {"pam_sss.so", "pam_slurm_adopt.so", "pam_mkhomedir.so"} <= modules
        assert re.search(rb"^session.*pam_mkhomedir\.so.*umask=0077$", image.read("etc/pam.d/common-session"), re.M)
        assert re.search(rb"^session +optional +pam_loginuid\.so$", image.read("etc/pam.d/sshd"), re.M)
        assert b"pam_slurm_adopt" not in image.read("etc/pam.d/sshd"), "a login has no jobs; a worker's entry adds it"
        libraries = {os.path.basename(path) for path in image.paths()}
        assert "libmpich.so.12" in libraries and not [name for name in libraries if name.startswith("libLLVM")]


def test_users_that_only_rest_names_can_resolve(images):
    for image in images.values():
        assert any(path.endswith("/libnss_sss.so.2") for path in image.paths())
        assert re.search(rb"^passwd: .*\bsss\b", image.read("etc/nsswitch.conf"), re.M)


def test_trial_images_start_their_script():
    for name, (script, user) in TRIAL_IMAGES.items():
        image = Image(name)
        assert image.config["User"] == user
        with open(CLONE + "/VERSION") as file:
            assert image.reference == f"localhost/capstan/{name}:{file.read().strip()}"
        assert image.config["Entrypoint"] == [f"/usr/local/bin/{script}"]
        assert LICENCES + "NOTICE" in image.paths()


def test_every_image_has_notice_and_licences(images, capstan):
    texts = {LICENCES + name for name in ("NOTICE", "LICENSE")}
    texts |= {f"{LICENCES}licences/{name}" for name in os.listdir(CLONE + "/licences")}
    for image in [*images.values(), capstan]:
        assert texts <= image.paths()


def test_the_capstan_image_holds_nothing_but_what_it_loads(capstan):
    libraries = {"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libnss_dns.so.2", "libnss_files.so.2",
                 "libresolv.so.2"}
    rest = {path for path in capstan.paths() if not path.startswith(LICENCES)}
    found = {os.path.basename(path) for path in rest if re.match(r"(usr/)?lib(64)?/", path)}
    assert found == libraries
    assert {path for path in rest if os.path.basename(path) not in libraries} == {
        "capstan", "capstan-entry", "etc/nsswitch.conf", "etc/passwd", "etc/group"}
    assert b"\0.symtab\0" not in capstan.read("capstan"), "it is not stripped"
    assert capstan.config["Entrypoint"] == ["/capstan"]
    assert capstan.config["User"] == "65532:65532"
    assert b"nonroot:x:65532:65532:" in capstan.read("etc/passwd")
    assert capstan.read("etc/nsswitch.conf") == b"hosts: files dns\n"
    assert capstan.member("tmp").mode & 0o7777 == 0o1777


@pytest.fixture
def capstan_root(capstan, tmp_path):
    root = tmp_path / "root"
    root.mkdir(mode=0o755)
    with tarfile.open(capstan.archive) as archive:
        for layer in capstan.layers:
            with tarfile.open(fileobj=archive.extractfile(layer)) as files:
                files.extractall(root)
    return root


def test_capstan_starts_from_its_image(capstan_root):
    helped = subprocess.run(["chroot", "--userspec=65532:65532", capstan_root, "/capstan", "--help"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert helped.returncode == 0, helped.stdout
    assert "operator" in helped.stdout


# Answers every question for an IPv4 address with 192.0.2.7 and others with nothing, then runs the command.
NAME_SERVER = """
import socket, subprocess, sys, threading
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def serve():
    while True:
        question, client = server.recvfrom(512)
        end = question.index(b"\\0", 12) + 5
        found = question[end - 4:end - 2] == b"\\0\\1"
        answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4" + bytes([192, 0, 2, 7]) if found else b""
        server.sendto(question[:2] + b"\\x81\\x80\\0\\1\\0" + bytes([found]) + b"\\0\\0\\0\\0" + question[12:end] + answer, client)
threading.Thread(target=serve, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


def test_a_service_name_can_be_resolved_in_the_capstan_image(capstan_root):
    # The image has no program that only resolves; this one needs nothing but the image's own glibc.
    shutil.copy("/usr/bin/getent", capstan_root / "getent")
    (capstan_root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\nsearch slurm.svc.cluster.local\n")
    for query, expected in (("ahosts", "192.0.2.7"), ("hosts", "slurm-restapi.slurm.svc.cluster.local")):
        result = subprocess.run(
            ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "-", sys.executable, "-c", NAME_SERVER,
             "chroot", "--userspec=65532:65532", capstan_root, "/getent", query, "slurm-restapi"],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30)
        assert result.returncode == 0, result.stdout
        assert expected in result.stdout


def test_a_second_run_builds_nothing(images):
    again = subprocess.run([CLONE + "/dev/images", *SLURM_IMAGES, *TRIAL_IMAGES], text=True, capture_output=True)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def baked(*targets):
    """What buildx would build, and how it would call it."""
    printed = subprocess.run([CLONE + "/dev/buildx", "bake", "-f", CLONE + "/images/docker-bake.hcl", "--print", *targets],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=CLONE)
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)["target"]


# Read only: there is no daemon here that would build it.
def test_buildx_would_build_the_same_images_under_the_same_names():
    references = subprocess.run([CLONE + "/dev/images", "--references"], text=True, capture_output=True, check=True).stdout
    expected = dict(line.split() for line in references.splitlines())
    for targets, suffix in (([], ""), (["multiarch"], "-multiarch")):
        found = baked(*targets)
        assert {name.removesuffix(suffix): target["tags"][0] for name, target in found.items() if "tags" in target} == expected
        for name, target in found.items():
            assert (target.get("platforms") == ["linux/amd64", "linux/arm64"]) == bool(suffix), name
            for used in target.get("contexts", {}).values():
                assert used.removeprefix("target:") in found or os.path.isdir(f"{CLONE}/{used}"), used
            containerfile = os.path.join(CLONE, target["context"], target["dockerfile"])
            with open(containerfile) as file:
                text = file.read()
            assert "target" not in target or f" AS {target['target']}\n" in text
            for stage in target.get("contexts", {}):
                assert f" AS {stage}\n" in text
