"""What `dev/cluster residue` sees on a host: tried without a cluster, in network and mount namespaces that go with each test."""
import pytest

from conftest import CLONE, Answer

STATE = "/var/lib/capstan-dev"


@pytest.fixture
def residue():
    """Runs shell commands on a host with nothing but a loopback link and an empty state folder, then residue; its lines."""
    def residue(*before):
        script = f"""set -e
            mount -t tmpfs none /var/lib
            mount -t tmpfs none /sys/fs/cgroup
            TakeRecord() {{ bash -ec 'for part in common residue; do . dev/lib/cluster/$part.sh; done; TakeRecord'; }}
            {'; '.join(before)}
            dev/cluster residue"""
        answer = Answer(["unshare", "--net", "--mount", "--propagation", "private", "bash", "-c", script], 60, cwd=CLONE)
        return answer.ok().splitlines()
    return residue


def test_an_unchanged_host_has_no_residue(residue):
    assert not residue(f"mkdir {STATE}", "TakeRecord")


def test_a_link_that_was_not_there_before_is_named(residue):
    assert residue(f"mkdir {STATE}", "TakeRecord", "ip link add left0 type bridge") == ["new: link left0"]


def test_a_route_that_has_gone_is_named(residue):
    route = "blackhole 198.51.100.0/24"
    lines = residue(f"mkdir {STATE}", f"ip route add {route}", "TakeRecord", f"ip route del {route}")
    assert [line.rstrip() for line in lines] == [f"gone or changed: route {route}"]


def test_a_lost_record_is_no_clean_bill(residue):
    lines = residue(f"mkdir -p {STATE}/images", "ip link add left0 type bridge")
    assert lines == [f'unknown: {STATE}/record is missing, and with it how the host was before "up"']


@pytest.mark.parametrize("before", [(), (f"mkdir {STATE}", f"touch {STATE}/lock {STATE}/processes")], ids=["never", "down-only"])
def test_where_no_cluster_has_been_there_is_nothing_to_know(residue, before):
    assert not residue(*before)
