"""Folders that the kubelet makes for a pod of ours: an emptyDir is everybody's to write to, until somebody takes it."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]

# component, container, folder, medium, limit of its size. A new one is to be seen in a review: who runs programs in that
# container, and what would another file there, or a full folder, do to the others?
WRITABLE = {
    ("accounting", "slurmdbd", "/run", "Memory", None),
    ("controller", "logfile", "/var/log/slurm", "Memory", None),
    ("controller", "slurmctld", "/run", "Memory", None),
    ("controller", "slurmctld", "/run/slurmctld", None, None),
    ("controller", "slurmctld", "/var/log/slurm", "Memory", None),
    ("loginset", "initconf", "/mnt/etc/slurm", "Memory", "16Mi"),
    ("loginset", "login", "/run/slurm", "Memory", "64Mi"),
    ("nodeset", "logfile", "/var/log/slurm", "Memory", "16Mi"),
    ("nodeset", "slurmd", "/var/log/slurm", "Memory", "16Mi"),
    ("sharedroot", "entry", "/capstan/bin", "Memory", "16Mi"),
}
# Where people run programs: capstan-entry takes each of these before the daemon that trusts it begins.
WITH_PEOPLE = {"login", "slurmd"}


def pods():
    """Component and spec of each pod that the operator's own tests hold."""
    for file in sorted((ROOT / "src/operator").glob("*/testdata/*.json")):
        spec = json.loads(file.read_text()).get("spec", {})
        pod = spec["template"]["spec"] if "template" in spec else spec
        if "containers" in pod:
            yield file.parts[-3], pod


def writable(component, pod):
    made = {volume["name"]: volume["emptyDir"] for volume in pod.get("volumes", []) if "emptyDir" in volume}
    for container in pod.get("initContainers", []) + pod["containers"]:
        for mount in container.get("volumeMounts", []):
            volume = made.get(mount["name"])
            if volume is not None and not mount.get("readOnly"):
                yield component, container["name"], mount["mountPath"], volume.get("medium"), volume.get("sizeLimit")


def test_the_folders_that_others_could_write_to_are_known():
    assert {folder for component, pod in pods() for folder in writable(component, pod)} == WRITABLE


def test_capstan_entry_takes_those_where_people_run_programs():
    roles = (ROOT / "src/entry/role.cc").read_text()
    assert not [folder for _, container, folder, *_ in WRITABLE if container in WITH_PEOPLE and f'{{"{folder}", ' not in roles]
