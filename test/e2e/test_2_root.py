"""A root that is prepared in the pods of a login and of workers: sessions and steps are in it, and all else goes on."""
import json

import pytest
from one_object import EXAMPLE, HOSTS, Cluster
from roots import MAKE

import lab as labs

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster(bare):
    bare.install_operator()
    one = Cluster(bare)
    slurm_conf = EXAMPLE["spec"]["config"]["slurmConf"] | {"UsePAM": 1}
    # What a login needs to let its sessions join; a worker has it already.
    login = {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}, "appArmorProfile": {"type": "Unconfined"}}}
    one.apply(config=EXAMPLE["spec"]["config"] | {"slurmConf": slurm_conf},
              login=EXAMPLE["spec"]["login"] | {"authorizedKeys": one.key.with_suffix(".pub").read_text(), "spec": {"login": login}})
    one.becomes("Ready", within=240)
    yield one
    bare.kubectl("delete", "slurmcluster", "main", "--ignore-not-found", timeout=120)
    bare.wait_for("its NodeSets are gone", lambda: not bare.items("nodesets"), within=120)


def in_pod(cluster, pod, *words):
    container = "login" if "login" in pod else "slurmd"
    return cluster.lab.kubectl("exec", pod, "-c", container, "--", *words, check=False)


def pods(cluster):
    return sorted(pod["metadata"]["name"] for pod in cluster.lab.items("pods", "-l", "app.kubernetes.io/component in (worker,login)"))


def test_sessions_and_steps_are_in_it_and_all_else_goes_on(cluster):
    cluster.lab.wait_for("root can log in", lambda: cluster.ssh("true").returncode == 0, within=60)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.lab.items("pods")}
    for pod in pods(cluster):
        made = in_pod(cluster, pod, "bash", "-c", f"set -- g1; {MAKE} ln -sfn g1 /run/capstan/root/current")
        assert made.returncode == 0, (pod, made.stdout, made.stderr)
    assert cluster.ssh("cat /MARK").stdout.strip() == "g1"
    assert cluster.ssh("srun -N3 -D /tmp cat /MARK").stdout.split() == ["g1"] * 3
    assert sorted(cluster.ssh("srun -N3 -D /tmp hostname").stdout.split()) == HOSTS
    for pod in pods(cluster):
        assert in_pod(cluster, pod, "cat", "/MARK").returncode != 0, f"kubectl exec into {pod} is in the image"
    # What is mounted in the login counts as before, also for sessions in the root.
    other = cluster.key.with_name("other")
    other.unlink(missing_ok=True)
    labs.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other)
    both = cluster.key.with_suffix(".pub").read_text() + other.with_suffix(".pub").read_text()
    cluster.lab.kubectl("patch", "slurmcluster", "main", "--type=merge", "-p", json.dumps({"spec": {"login": {"authorizedKeys": both}}}))
    cluster.key = other
    cluster.lab.wait_for("the other key counts", lambda: cluster.ssh("cat /MARK").stdout.strip() == "g1", within=150)
    cluster.becomes("Ready")
    assert {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in cluster.lab.items("pods")} == before
