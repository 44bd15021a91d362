"""`capstan doctor` on a cluster on which two things are wrong."""
import json

import pytest

import lab as labs

pytestmark = pytest.mark.long

LOGIN = """
apiVersion: slinky.slurm.net/v1beta1
kind: LoginSet
metadata: {name: keyless}
spec:
  controllerRef: {name: slurm}
  sssdConfRef: {name: nobody-made-this, key: sssd.conf}
"""


def run(lab, *words):
    done = labs.run("build/release/bin/capstan", "doctor", "--kubeconfig", labs.KUBECONFIG, "-n", lab.namespace, "-o", "json", *words,
                    check=False, timeout=180)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def doctor(lab):
    report = run(lab)
    assert report["notSeen"] == []
    return {(each["cause"], each["object"]): each["what"] for each in report["findings"]}


def test_two_problems_are_named_and_gone_when_they_are_mended(shared):
    namespace = shared.namespace
    assert doctor(shared) == {}
    drained = ("WorkersDrained", f"Controller {namespace}/slurm")
    missing = ("KeyMissing", f"LoginSet {namespace}/keyless")
    shared.in_controller_result("scontrol", "update", "nodename=slinky-2", "state=drain", "reason=bad fan")
    shared.kubectl("apply", "-f", "-", text_in=LOGIN)
    try:
        found = doctor(shared)
        assert {drained, missing} <= found.keys(), found
        assert '1 of Slurm\'s nodes take no jobs, as somebody drained them: slinky-2 "bad fan" by ' in found[drained]
        assert f"Secret {namespace}/nobody-made-this, named in spec.sssdConfRef, is missing" in found[missing]
    finally:
        shared.kubectl("delete", "loginset", "keyless", "--wait")
        shared.in_controller_result("scontrol", "update", "nodename=slinky-2", "state=resume")
    shared.wait_for_idle(labs.WORKERS, within=60)
    shared.wait_for("nothing is wrong any more", lambda: doctor(shared) == {}, within=60)


def test_a_volume_is_tried_on_two_nodes(shared):
    report = run(shared, "sharedroot")
    assert report["healthy"] and report["findings"] == report["left"] == [], report
    assert len(set(report["nodes"])) == 2 and report["filesPerSecond"] > 0 and report["seenAfterMs"] > 0, report
    ours = ("-l", "capstan.dev/doctor")
    shared.wait_for("nothing of it is left", lambda: not shared.items("pods", *ours) + shared.items("persistentvolumeclaims", *ours), within=30)


# The volume of slurmctld's state, of one node; nobody is started for it.
def test_a_claim_of_one_node_is_told_so(shared):
    claim = shared.items("persistentvolumeclaims")[0]["metadata"]["name"]
    report = run(shared, "sharedroot", "--claim", claim)
    assert [each["cause"] for each in report["findings"]] == ["NotReadWriteMany"], report
