"""slurmctld reads topology.conf before any worker has registered, and leaves all that it names out."""
import pytest

import lab as labs

pytestmark = pytest.mark.long
SWITCHES = {"rack1": "slinky-[0-1]", "rack2": "slinky-2"}
TOPOLOGY = "".join(f"SwitchName={name} Nodes={nodes}\n" for name, nodes in SWITCHES.items()) + "SwitchName=core Switches=rack[1-2]\n"


def switches(lab):
    """By leaf, the nodes that Slurm has there."""
    shown = lab.in_controller_result("scontrol", "-o", "show", "topology").stdout.splitlines()
    found = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in shown]
    return {said["SwitchName"]: said.get("Nodes", "") for said in found if said.get("SwitchName") in SWITCHES}


def test_workers_that_come_later_are_in_their_switches(bare):
    lab = bare
    lab.install_operator()
    lab.install_slurm(values={"configFiles": {"topology.conf": TOPOLOGY},
                              "controller": {"extraConfMap": {"TopologyPlugin": "topology/tree"}}})
    lab.wait_for_idle(3, within=150)
    lab.wait_for("all are in their switches", lambda: switches(lab) == SWITCHES, within=120)
    job = lab.submit("-N3", "--wrap", "srun true")
    lab.wait_for_job(job, "COMPLETED", within=60)


def test_one_whose_record_is_new_is_there_again(bare):
    """A registration of a record that is there keeps its switch, one that makes a record has none."""
    lab = bare
    lab.in_controller_result("scontrol", "update", "nodename=slinky-2", "state=down", "reason=away")
    lab.in_controller_result("scontrol", "delete", "nodename=slinky-2")
    lab.kubectl("delete", "pod", f"{labs.NODESET}-2")
    lab.wait_for_idle(3, within=150)
    lab.wait_for("it is in its switch", lambda: switches(lab) == SWITCHES, within=120)
