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


def doctor(lab):
    done = labs.run("build/release/bin/capstan", "doctor", "--kubeconfig", labs.KUBECONFIG, "-n", lab.namespace, "-o", "json",
                    check=False)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
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
