"""What docs/keys.md tells a person to type, typed while a job runs."""
import re
import subprocess
import textwrap

import pytest

import lab as labs

pytestmark = pytest.mark.long
SETTINGS = ("nodesets.slinky.replicas=2",)
TYPED = [textwrap.dedent(block) for block in re.findall(r"```\n(.*?)```", (labs.ROOT / "docs/keys.md").read_text(), re.S)]


class Terminal:
    """A shell that a person keeps open."""

    def __init__(self, lab):
        self.lab = lab
        self.shell = subprocess.Popen(["bash", "-eu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.type(f"kubectl() {{ {labs.ROOT}/build/tools/kubectl --kubeconfig {labs.KUBECONFIG} \"$@\"; }}")

    def type(self, what):
        what = what.replace("-n slurm ", f"-n {self.lab.namespace} ").replace(" --watch", "")
        self.shell.stdin.write(what + "\necho it has ended\n")
        self.shell.stdin.flush()
        said = ""
        while not said.endswith("it has ended\n"):
            line = self.shell.stdout.readline()
            assert line, f"{what}\n{said}"
            said += line


def block(word, count=0):
    """The one in which this stands."""
    return [typed for typed in TYPED if word in typed][count]


def renew(lab, terminal, number):
    terminal.type(block("patch nodeset").replace('"1"', f'"{number}"'))


def renewed(lab):
    found = lab.get("nodesets", labs.NODESET)
    return found["status"].get("observedGeneration", found["metadata"]["generation"]) == found["metadata"]["generation"] and \
        lab.condition("nodesets", labs.NODESET, "Progressing")["status"] == "False" and \
        found["status"].get("updatedReplicas") == found["status"].get("readyReplicas") == 2


def uids(lab):
    return {name: pod["metadata"]["uid"] for name, pod in lab.worker_pods().items()}


def works(lab):
    lab.wait_for("a job runs across both workers",
                 lambda: sorted(lab.in_worker_result("srun", "-N2", "--exclusive", "hostname", timeout=60).stdout.split()) ==
                 ["slinky-0", "slinky-1"], within=90)


def slurmctld_has(lab, secret):
    def has():
        pod = lab.get("pod", "slurm-controller-0")
        return pod and secret in str(pod["spec"]["volumes"]) and any(
            one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
    lab.wait_for(f"slurmctld has {secret}", has, within=90)


def test_the_key_of_slurm_is_replaced_as_the_page_says(lab):
    terminal = Terminal(lab)
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    before = uids(lab)
    terminal.type(block("slurm-keys-1"))
    slurmctld_has(lab, "slurm-keys-1")
    renew(lab, terminal, 1)
    lab.wait_for("the idle worker is made anew", lambda: uids(lab).get(f"{labs.NODESET}-1") not in (before[f"{labs.NODESET}-1"], None),
                 within=120)
    lab.wait_for("the job runs", lambda: lab.job_state(job) == "RUNNING", within=60)
    assert uids(lab)[f"{labs.NODESET}-0"] == before[f"{labs.NODESET}-0"]
    lab.let_end(job, f"{labs.NODESET}-0")
    lab.wait_for_job(job, "COMPLETED", within=60)
    lab.wait_for("both are new", lambda: renewed(lab), within=120)
    works(lab)
    terminal.type(block("slurm-keys-2"))
    slurmctld_has(lab, "slurm-keys-2")
    works(lab)
    renew(lab, terminal, 2)
    lab.wait_for("renewal begins", lambda: not renewed(lab), within=60)
    lab.wait_for("both are new", lambda: renewed(lab), within=120)
    works(lab)


def test_the_key_of_tokens_is_replaced_as_the_page_says(lab):
    job = lab.submit_open("slinky-0")
    lab.wait_for_job(job, "RUNNING", within=60)
    before = uids(lab)
    slurmctld = lab.get("pod", "slurm-controller-0")["metadata"]["uid"]
    Terminal(lab).type(block("slurm-auth-jwt"))
    lab.wait_for("slurmctld is made anew", lambda: (lab.get("pod", "slurm-controller-0") or {"metadata": {"uid": slurmctld}})
                 ["metadata"]["uid"] != slurmctld, within=120)
    lab.wait_for("it answers", lambda: lab.job_state(job), within=60)
    lab.still_runs(job)
    assert uids(lab) == before
    lab.let_end(job, f"{labs.NODESET}-0")
    lab.wait_for_job(job, "COMPLETED", within=60)
    lab.scale(1)  # the operator, which drains by tokens of its own
    lab.wait_for("one worker is left", lambda: len(lab.worker_pods()) == 1, within=90)
