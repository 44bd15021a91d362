"""No job is missing from the history, whatever happens to slurmdbd, its database and the password between them."""
import json

import pytest

import lab as labs

pytestmark = pytest.mark.long

JOBS = 60
SETTINGS = ("nodesets.slinky.replicas=2", "accounting.enabled=true", "accounting.database.embedded.enabled=true",
            "accounting.database.embedded.size=1Gi", labs.PROMPT)
PODS = ("slurm-accounting-0", "slurm-accounting-db-0")
DATABASE = "slurm-accounting-db"


@pytest.fixture(autouse=True)
def accounting(lab):
    lab.wait_for_accounting(within=120)


def take_away(lab):
    """Their pods, at once."""
    lab.kubectl("delete", "pods", *PODS, "--grace-period=0", "--force", "--wait=false")


def test_every_job_is_in_the_history_after_slurmdbd_and_the_database_were_killed(lab):
    jobs = lab.submit_stream(JOBS // 3)
    for program in ("slurmdbd", "mariadbd"):
        lab.kill(program)
    jobs += lab.submit_stream(JOBS // 3)
    lab.wait_for("both run again", lambda: lab.processes("slurmdbd") and lab.processes("mariadbd"), within=60)
    take_away(lab)
    jobs += lab.submit_stream(JOBS // 3)
    assert len(set(jobs)) == JOBS
    lab.wait_for("every job is in the history", lambda: not lab.missing_in_history(jobs), within=120)


def set_password(lab, text):
    """In the Secret, which cannot be changed and so is made anew, and not in the database. What stood there before."""
    secret = lab.get("secret", DATABASE)
    before = secret["data"]["password"]
    secret["data"]["password"] = text
    secret["metadata"] = {key: value for key, value in secret["metadata"].items() if key in ("name", "labels", "ownerReferences")}
    # A new one of the operator's may come between the deletion and the creation.
    lab.wait_for("the Secret is replaced", lambda: lab.kubectl("replace", "--force", "-f", "-", text_in=json.dumps(secret),
                                                               check=False).returncode == 0, within=60)
    return before


def slurmdbd(lab):
    """The UID of its pod, and whether that is ready."""
    pod = lab.get("pod", PODS[0])
    conditions = pod["status"].get("conditions", []) if pod else []
    return pod and pod["metadata"]["uid"], any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def make_ordered(lab):
    """The StatefulSet, as an older release made it: its pods wait for each other, and one that is not ready for its successor."""
    made = lab.get("statefulset", "slurm-accounting")
    made["spec"]["podManagementPolicy"] = "OrderedReady"
    del made["status"]
    for field in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
        made["metadata"].pop(field, None)
    lab.kubectl("delete", "statefulset", "slurm-accounting", "--cascade=orphan")
    lab.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=capstan-operator", "-f", "-", text_in=json.dumps(made))


# With OrderedReady the StatefulSet's own controller never replaces a pod that is not ready.
@pytest.mark.parametrize("policy", ["Parallel", "OrderedReady"])
def test_a_wrong_password_of_the_database_is_mended_by_the_right_one(lab, policy):
    if policy == "OrderedReady":
        labs.kubectl("-n", lab.operator_namespace, "scale", "deployment", lab.operator, "--replicas=0")
        lab.wait_for("the operator is away", lambda: not lab.processes("capstan", "operator"), within=60)
        make_ordered(lab)
        labs.kubectl("-n", lab.operator_namespace, "scale", "deployment", lab.operator, "--replicas=1")
    assert lab.get("statefulset", "slurm-accounting")["spec"]["podManagementPolicy"] == policy
    lab.wait_for("slurmdbd is ready", lambda: slurmdbd(lab)[1], within=90)
    first = slurmdbd(lab)[0]
    right = set_password(lab, "d3Jvbmc=")
    # A changed Secret is noticed within a minute.
    lab.wait_for("slurmdbd has the wrong one", lambda: slurmdbd(lab)[0] not in (None, first) and not slurmdbd(lab)[1], within=150)
    lab.wait_for("where to look is said", lambda: "or the password in Secret" in
                 lab.condition("accountings", "slurm", "Ready")["message"], within=60)
    second = slurmdbd(lab)[0]
    set_password(lab, right)
    lab.wait_for("a new slurmdbd is ready", lambda: slurmdbd(lab)[0] not in (None, first, second) and slurmdbd(lab)[1], within=150)
    lab.wait_for("it says so", lambda: lab.condition("accountings", "slurm", "Ready")["status"] == "True", within=60)
    job = lab.submit("--wrap", "true")
    lab.wait_for("jobs are in the history", lambda: not lab.missing_in_history([job]), within=60)
