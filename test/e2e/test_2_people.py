"""People: they log in by SSH with an account from LDAP, submit jobs, and find them in the history."""
import json

import pytest

import lab as labs

pytestmark = pytest.mark.long

PEOPLE = True
SETTINGS = ("nodesets.slinky.replicas=2", "controller.extraConfMap.AccountingStorageEnforce=associations")


@pytest.fixture(scope="module")
def people(lab):
    """ada has an association, grace has none."""
    lab.wait_for_accounting(within=120)
    lab.account_for("ada")
    for person in ("ada", "grace"):
        lab.wait_for(f"{person} can log in", lambda p=person: lab.ssh_result(p, "true").returncode == 0, within=60)
    return lab


def history(lab, job):
    """What slurmdbd knows of it: "USER|ACCOUNT|STATE"."""
    return lab.in_controller_result("sacct", "-anXP", "-j", job, "-o", "user,account,state").stdout.strip()


def wait_for_history(lab, job, row):
    lab.wait_for(f"job {job} is in the history as {row}", lambda: history(lab, job) == row, within=60)


def test_a_persons_job_runs_as_them_is_in_their_history_and_writes_to_their_home(people):
    job = people.ssh("ada", "sbatch --parsable --wrap 'id -un; hostname; pwd'").strip()
    people.wait_for(f"ada sees job {job}", lambda: people.ssh("ada", f"sacct -nXP -j {job} -o user,account,state") ==
                    "ada|demo|COMPLETED\n", within=60)
    name, host, folder = people.ssh("ada", f"cat slurm-{job}.out").split()
    assert name == "ada" and host in ("slinky-0", "slinky-1") and folder == "/home/ada"


def test_who_has_no_association_is_refused_in_a_sentence(people):
    done = people.ssh_result("grace", "sbatch --wrap true")
    assert done.returncode == 1
    sentences = [line for line in done.stderr.splitlines() if line]
    assert sentences == ["sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"]


def test_srun_reaches_workers_from_a_login_and_logins_know_workers_by_name(people):
    assert sorted(people.ssh("ada", "srun -N2 hostname").split()) == ["slinky-0", "slinky-1"]
    assert people.ssh("ada", "getent hosts slinky-0").split()[1].startswith("slinky-0.")


def test_a_rollout_of_logins_cuts_no_session(people):
    session = labs.Session(people, "ada")
    before = session.host
    assert session.echoes("here")
    people.renew_logins()
    people.wait_for("the login with the session is on its way out", lambda: people.get("pod", before)["metadata"].get(
        "deletionTimestamp"), within=90)
    people.wait_for("new sessions go to the new one", lambda: people.ssh("ada", "hostname").strip() != before, within=60)
    assert session.echoes("still here")
    assert session.end() == 0
    people.wait_for("the old login goes after its last session", lambda: people.get("pod", before) is None, within=60)


SUBMIT = """
import json, os, urllib.error, urllib.request

job = {"name": "rest", "account": "demo", "current_working_directory": "/tmp", "environment": ["PATH=/usr/bin:/bin"],
       "script": "#!/bin/sh\\nhostname\\n"}
request = urllib.request.Request("http://slurm-restapi:6820/slurm/v0.0.44/job/submit", json.dumps({"job": job}).encode(),
                                 {"Content-Type": "application/json", "X-SLURM-USER-TOKEN": os.environ["SLURM_JWT"]})
try:
    print(json.load(urllib.request.urlopen(request, timeout=20))["job_id"])
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""


def test_a_pod_submits_a_job_with_a_token(people):
    """Of a person whom only LDAP knows. The images have no curl, but a Python."""
    people.wait_for("slurmctld knows ada", lambda: people.in_controller_result("getent", "passwd", "ada").returncode == 0, within=60)
    people.make_token("pipeline", "ada")
    variable = {"name": "SLURM_JWT", "valueFrom": {"secretKeyRef": {"name": "pipeline-jwt-ada", "key": "SLURM_JWT"}}}
    people.kubectl("create", "-f", "-", text_in=json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pipeline"}, "spec": {
            "restartPolicy": "Never", "containers": [{"name": "submit", "image": f"{labs.IMAGES}/login:26.05", "env": [variable],
                                                      "command": ["python3", "-c", SUBMIT]}]}}))
    people.wait_for("the pod has submitted", lambda: people.get("pod", "pipeline")["status"]["phase"] in ("Succeeded", "Failed"),
                    within=60)
    said = people.kubectl("logs", "pipeline").strip()
    assert said.isdigit(), said
    wait_for_history(people, said, "ada|demo|COMPLETED")


# The local port range of Linux begins there: of steps, and of whoever calls.
EPHEMERAL = 32768


def listening(people, pod, container):
    """The ports at which processes of the pod can be reached from outside of it."""
    found = set()
    for line in people.kubectl("exec", pod, "-c", container, "--", "cat", "/proc/net/tcp", "/proc/net/tcp6").splitlines():
        words = line.split()
        if len(words) > 3 and words[3] == "0A":
            address, port = words[1].split(":")
            if address not in ("0100007F", "00000000000000000000000001000000"):
                found.add(int(port, 16))
    return {port for port in found if port < EPHEMERAL}


def test_nothing_listens_that_docs_security_does_not_name(people):
    expected = {"slurmctld": {6815, 6817}, "slurmdbd": {6815, 6819}, "slurmrestd": {6815, 6820}, "login": {22, 6818}, "slurmd": {22, 6816, 6818}, "slapd": {1389},
                "mariadb": {3306}}
    seen = {}
    for pod in people.items("pods"):
        app = pod["metadata"].get("labels", {}).get("app.kubernetes.io/name", "")
        container = next((each["name"] for each in pod["spec"]["containers"] if each["name"] == app), None)
        if container and pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
            seen.setdefault(app, set()).update(listening(people, pod["metadata"]["name"], container))
    assert seen == expected
