"""New images reach slurmdbd first, then slurmctld, then slurmrestd and logins; each says what it waits for."""
import pytest

import lab as labs

pytestmark = pytest.mark.long
PEOPLE = True
SETTINGS = ("nodesets.slinky.replicas=1",)
TAG = "26.05-renamed"  # a second name of the same images, on all nodes that everybody may use
VALUES = {"slurmdbd": "accounting.slurmdbd", "slurmctld": "controller.slurmctld", "slurmrestd": "restapi.slurmrestd",
          "login": "loginsets.slinky.login"}
BEFORE = {"slurmctld": "slurmdbd", "slurmrestd": "slurmctld", "login": "slurmctld"}
KINDS = {"slurmctld": "controllers", "slurmrestd": "restapis", "login": "loginsets"}


def on_all_nodes(*words):
    """Nodes that were added are other cases'."""
    for node in labs.items("nodes", "-l", "!capstan.dev/added"):
        socket = labs.STATE / node["metadata"]["name"] / "containerd.sock"
        labs.run("ctr", "--address", socket, "--namespace", "k8s.io", "image", *words)


@pytest.fixture(autouse=True)
def renamed():
    names = [f"{labs.IMAGES}/{name}" for name in VALUES]
    for name in names:
        on_all_nodes("tag", "--force", f"{name}:26.05", f"{name}:{TAG}")
    yield
    on_all_nodes("remove", *(f"{name}:{TAG}" for name in names))


def of_new_image(lab):
    """Which pods have it, by their main container's name: to whether all of those are ready."""
    found = {}
    for pod in lab.items("pods"):
        for container in pod["spec"]["containers"]:
            if container["name"] in VALUES and container["image"].endswith(f":{TAG}"):
                ready = any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
                found[container["name"]] = ready and found.get(container["name"], True)
    return found


def test_each_daemon_waits_for_the_one_before_it(lab):
    lab.wait_for_accounting(within=120)
    for name, kind in KINDS.items():
        lab.wait_for(f"{name} is ready", lambda: all(lab.condition(kind, item["metadata"]["name"], "Ready")["status"] == "True"
                                                     for item in lab.items(kind)), within=60)
    lab.install_slurm(*SETTINGS, *(f"{value}.image.tag={TAG}" for value in VALUES.values()))
    told, order = {}, []

    def all_are_new():
        new = of_new_image(lab)
        for name in sorted(new.keys() - set(order), key=list(VALUES).index):
            assert name not in BEFORE or new.get(BEFORE[name]), f"{name} is new before {BEFORE[name]} is ready: {new}"
            order.append(name)
        for name, kind in KINDS.items():
            for item in lab.items(kind):
                for one in item.get("status", {}).get("conditions", []):
                    if one["reason"] == "WaitingForUpgrade":
                        told[name] = one["message"]
        return new == dict.fromkeys(VALUES, True)

    lab.wait_for("all are new and ready", all_are_new, within=180, every=0.1)
    assert order[:2] == ["slurmdbd", "slurmctld"]
    for name, before in BEFORE.items():
        assert told[name].startswith(f"{name} keeps image {labs.IMAGES}/{name}:26.05, and gets {labs.IMAGES}/{name}:{TAG} once "
                                     f"{before} of "), told
    lab.wait_for_idle(1, within=60)
