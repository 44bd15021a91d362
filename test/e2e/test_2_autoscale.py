"""Kubernetes' own autoscaler follows the exporter's figure: from no worker to as many as jobs want, and back."""
import json
import subprocess

import pytest
import yaml

import lab as labs
from outside import ADDRESS, MACHINE

pytestmark = pytest.mark.long

PORT = 19443
API = "v1beta1.external.metrics.k8s.io"
SETTINGS = ("nodesets.slinky.replicas=0", "nodesets.slinky.oversubscribeNode=true")


def objects(lab):
    """The API, which leads to a program outside of any pod, and the autoscaler of the example, in a hurry."""
    scaler = yaml.safe_load((labs.ROOT / "examples/autoscaling/hpa.yaml").read_text())
    scaler["spec"]["maxReplicas"] = 2
    scaler["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] = 0
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "queue"}, "spec": {"ports": [{"port": 443, "targetPort": PORT}]}},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4", "ports": [{"port": PORT}],
         "metadata": {"name": "queue", "labels": {"kubernetes.io/service-name": "queue"}}, "endpoints": [{"addresses": [ADDRESS]}]},
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API, "labels": {labs.MARK: "true"}},
         "spec": {"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                  "insecureSkipTLSVerify": True, "service": {"name": "queue", "namespace": lab.namespace}}},
        scaler]


@pytest.fixture
def autoscaler(bare, tmp_path):
    lab = bare
    lab.install_operator()
    lab.install_slurm(*SETTINGS)
    lab.wait_for("slurmctld answers, and has no node", lambda: lab.records() == {}, within=120)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=queue", "-keyout", tmp_path / "key", "-out", tmp_path / "crt"], check=True, capture_output=True)
    lab.install_exporter()
    words = ["dev/cluster", "join", MACHINE, "/usr/bin/python3", labs.ROOT / "test/e2e/adapter.py", str(PORT), tmp_path / "crt",
             tmp_path / "key", f"http://slurm-exporter.{lab.namespace}:8080/metrics"]
    with open(tmp_path / "log", "wb") as log:
        adapter = subprocess.Popen([str(word) for word in words], cwd=labs.ROOT, stdout=log, stderr=log)
    try:
        lab.kubectl("apply", "-f", "-", text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects(lab)}))
        yield lambda: (tmp_path / "log").read_text()[-2000:] + lab.kubectl("describe", "hpa", check=False).stdout
    finally:
        # First what leads there: while an API does not answer no namespace can be deleted.
        labs.kubectl("delete", "apiservice", API, "--ignore-not-found")
        adapter.terminate()
        adapter.wait(20)
        lab.remove_exporter()


def submit(lab, *words):
    """Where slurmctld is: there may be no worker."""
    done = lab.in_controller_result("sbatch", "--parsable", "-D", "/tmp", "-o", "/dev/null", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_workers_come_for_jobs_and_go_after_them(bare, autoscaler):
    lab = bare
    wait = lambda what, condition, within: labs.wait_for(what, condition, within, picture=lambda: autoscaler() + lab.picture())
    job = submit(lab, "--wrap", "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")
    wait("the job has got a worker", lambda: lab.job_state(job) == "RUNNING", within=90)
    assert sorted(lab.worker_pods()) == [f"{labs.NODESET}-0"]
    uid = lab.uid_of(0)
    numbers = [submit(lab, "--exclusive", "--wrap", "sleep 5") for _ in range(2)]
    wait("a second worker runs them", lambda: {lab.job_state(number) for number in numbers} == {"COMPLETED"}, within=120)
    lab.still_runs(job, 0, uid)
    wait("the worker without a job has gone", lambda: sorted(lab.worker_pods()) == [f"{labs.NODESET}-0"], within=90)
    lab.still_runs(job, 0, uid)
    lab.let_end(job, f"{labs.NODESET}-0")
    wait("the job has ended well", lambda: lab.job_state(job) == "COMPLETED", within=60)
    wait("no worker is left", lambda: not lab.worker_pods() and lab.records() == {}, within=90)
