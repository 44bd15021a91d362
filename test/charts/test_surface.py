"""A right, a writable folder or a port that is new is seen where the change is reviewed: in surface.txt."""
import os
import pathlib
import re

from helm_render import REPOSITORY
from surface import lines_of_pod, surface

GOLDEN = pathlib.Path(__file__).with_name("surface.txt")


def test_rights_folders_and_ports_are_the_known_ones():
    now = surface()
    if os.environ.get("CAPSTAN_UPDATE_GOLDEN"):
        GOLDEN.write_text(now)
    assert now.splitlines() == GOLDEN.read_text().splitlines(), "if it is meant, make it anew with CAPSTAN_UPDATE_GOLDEN=1, and say it in docs/security.md"


def test_every_port_is_in_the_table_of_the_docs():
    code = "".join(path.read_text() for path in (REPOSITORY / "src").rglob("*.h"))
    ports = set(re.findall(r"constexpr (?:int|uint16_t) k\w*Port = (\d+);", code)) | set(re.findall(r"port (\d+)/", GOLDEN.read_text()))
    table = set(re.findall(r"^\| (\d+) \|", (REPOSITORY / "docs/security.md").read_text(), re.MULTILINE))
    assert ports == table


def test_a_look_at_the_machine_and_a_whole_secret_are_seen():
    container = {"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/sys", "readOnly": True}], "envFrom": [{"secretRef": {"name": "s"}}]}
    lines = list(lines_of_pod("p", {"volumes": [{"name": "v", "hostPath": {"path": "/sys"}}], "containers": [container]}))
    assert lines[-2:] == ["    reads /sys of the machine", "    has Secret s"]
