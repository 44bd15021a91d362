"""Programs of more than one worker, and from an image of their own."""
import subprocess
import sys

import pytest

import lab as labs

sys.path.insert(0, str(labs.ROOT / "test/slurm"))

from image import Image  # noqa: E402

pytestmark = pytest.mark.long

USER = "games"  # any but root: containers are run as those whose job it is
CRUN = "crun --root=/tmp/crun-%U"
OCI_CONF = "\n".join([
    f'RunTimeQuery="{CRUN} state %n.%u.%j.%s.%t"',
    f'RunTimeKill="{CRUN} kill --all %n.%u.%j.%s.%t SIGTERM"',
    f'RunTimeDelete="{CRUN} delete --force %n.%u.%j.%s.%t"',
    f'RunTimeRun="{CRUN} --cgroup-manager=disabled run --bundle %b %n.%u.%j.%s.%t"'])
SETTINGS = (f"configFiles.oci\\.conf={OCI_CONF}",)


def test_an_mpi_program_sums_across_three_workers(lab):
    program = (labs.ROOT / "test/slurm/allreduce.py").read_text(encoding="utf-8")
    said = lab.in_worker("srun", "--mpi=pmi2", "-N3", "-n3", "python3", "-c", program)
    assert sorted(said.splitlines()) == ["0 3 6", "1 3 6", "2 3 6"]


def test_an_oci_image_runs_as_a_job(lab):
    """The image shares nothing with the worker's: Capstan's own program, and the libraries that it needs."""
    worker = f"{labs.NODESET}-0"
    lab.in_worker("mkdir", "-p", "/tmp/bundle/rootfs", worker=worker)
    kubectl = [labs.ROOT / "build/tools/kubectl", "--kubeconfig", labs.KUBECONFIG, "-n", lab.namespace, "exec", "-i", worker, "-c",
               "slurmd", "--", "tar", "-x", "-C", "/tmp/bundle/rootfs"]
    with subprocess.Popen(["tar", "-c", "-C", Image("capstan").root(), "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(kubectl, stdin=tar.stdout, check=True, timeout=60)
    lab.in_worker("crun", "spec", "--rootless", "--bundle", "/tmp/bundle", worker=worker)
    lab.in_worker("chown", "-R", f"{USER}:{USER}", "/tmp/bundle", worker=worker)
    said = lab.in_worker("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "sh", "-c",
                         "cd / && srun -w slinky-0 --container=/tmp/bundle /capstan --help", worker=worker)
    assert said.startswith("Slurm on Kubernetes\n")
