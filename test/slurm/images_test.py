"""What is in the container images, read from the archives that dev/images makes."""
import os
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from image import CLONE, Image

SLURM_IMAGES = {"slurmctld": "401:401", "slurmd": None, "slurmrestd": "65534:65534"}
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
        assert f"usr/sbin/{name}" in image.paths()


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
                          r"|etc/munge/.|.*/munge\.key$|etc/apt/sources\.list\.d/.*\.list$|etc/apt/sources\.list$")
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


def test_slurm_images_have_the_same_layers(images):
    assert len({tuple(image.layers) for image in images.values()}) == 1


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
    again = subprocess.run([CLONE + "/dev/images", *SLURM_IMAGES], text=True, capture_output=True)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
