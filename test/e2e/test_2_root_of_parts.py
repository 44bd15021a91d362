"""A shared root of a cluster that is made of parts, by what docs/sharedroot.md says."""
import json

import pytest
from lab import IMAGES, LOGINSET
from one_object import Cluster

pytestmark = pytest.mark.long

ENVIRONMENT = [{"name": "CAPSTAN_SHARED_ROOT", "value": "/capstan/root"},
               {"name": "CAPSTAN_POD_UID", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
DAEMON = {"env": ENVIRONMENT, "volumeMounts": [{"name": "shared-root", "mountPath": "/capstan/root"}]}
POD = {"volumes": [{"name": "shared-root", "persistentVolumeClaim": {"claimName": "main-root"}}]}
RIGHTS = {"capabilities": {"add": ["SYS_ADMIN"]}, "appArmorProfile": {"type": "Unconfined"}}
ROOT = {"apiVersion": "capstan.dev/v1alpha1", "kind": "SharedRoot", "metadata": {"name": "main"}, "spec": {
    "claim": {"size": "2Gi"}, "source": {"image": f"{IMAGES}/login:26.05", "imagePullPolicy": "IfNotPresent"}}}


@pytest.fixture(scope="module")
def cluster(bare):
    bare.install_operator()
    one = Cluster(bare)
    login = {"login": DAEMON | {"securityContext": RIGHTS}, "podSpec": POD, "service": {"spec": {"type": "ClusterIP"}},
             "rootSshAuthorizedKeys": one.key.with_suffix(".pub").read_text()}
    bare.install_slurm("controller.extraConfMap.UsePAM=1", values={
        "nodesets": {"slinky": {"slurmd": DAEMON, "podSpec": POD}}, "loginsets": {"slinky": login}})
    yield one
    bare.kubectl("delete", "sharedroot", "main", "--ignore-not-found", timeout=120)
    bare.uninstall_slurm()
    bare.kubectl("delete", "persistentvolumeclaim", "main-root", "--ignore-not-found", timeout=120)


def test_sessions_and_jobs_of_a_chart_are_in_the_root_once_it_is_filled(cluster):
    lab = cluster.lab
    lab.kubectl("apply", "-f", "-", text_in=json.dumps(ROOT))
    lab.wait_for("a generation is current", lambda: (lab.get("sharedroot", "main") or {}).get("status", {}).get("current"), within=180)
    lab.wait_for_idle(3, within=120)
    host = f"{LOGINSET}.{lab.namespace}"
    lab.wait_for("root logs in", lambda: cluster.ssh("true", address=host).returncode == 0, within=60)
    done = cluster.ssh("echo two > /etc/two && srun -N3 cat /etc/two", address=host)
    assert (done.returncode, done.stdout.split()) == (0, ["two"] * 3), done.stderr
    assert "No such file" in lab.in_worker_result("cat", "/etc/two").stderr, "daemons are in the image"
