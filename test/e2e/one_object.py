"""The SlurmCluster of the examples, as its users handle it."""
import json

import yaml

import lab as labs

EXAMPLE = yaml.safe_load((labs.ROOT / "examples/slurmcluster/small.yaml").read_text())
HOSTS = ["cpu-0", "cpu-1", "cpu-2"]


class Cluster:
    """The example, with a key of root's, in a namespace with an operator of its own."""

    def __init__(self, lab):
        self.lab = lab
        self.key = labs.ROOT / "build/e2e" / lab.namespace / "root"
        self.key.parent.mkdir(parents=True, exist_ok=True)
        self.key.unlink(missing_ok=True)
        labs.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)

    def apply(self, login=None, **spec):
        login = EXAMPLE["spec"]["login"] | {"authorizedKeys": self.key.with_suffix(".pub").read_text()} | (login or {})
        wanted = EXAMPLE | {"spec": EXAMPLE["spec"] | {"login": login} | spec}
        self.lab.kubectl("apply", "-f", "-", text_in=json.dumps(wanted))

    def status(self):
        return (self.lab.get("slurmclusters", "main") or {}).get("status", {})

    def becomes(self, phase, within=120):
        self.lab.wait_for(f"it is {phase}", lambda: self.status().get("phase") == phase, within=within)

    def on_controller(self, *words):
        return self.lab.kubectl("exec", "main-controller-0", "-c", "slurmctld", "--", *words).strip()

    def submit(self, *words):
        return self.on_controller("sbatch", "--parsable", "-D", "/tmp", *words)

    def queued(self, job):
        return self.on_controller("squeue", "-h", "-o", "%T", "-j", job)

    def state(self, job):
        """By the history: a job that is over is forgotten by slurmctld."""
        return self.on_controller("sacct", "-nXP", "-j", job, "-o", "state")

    def ssh(self, *words, person="root", address=None, port=22, known="/dev/null", timeout=60):
        """By the login's Service, or at the address. A host whose key is not the one in the file `known` is refused."""
        options = ("IdentitiesOnly=yes", "BatchMode=yes", "ConnectTimeout=10", "StrictHostKeyChecking=accept-new",
                   f"UserKnownHostsFile={known}", "LogLevel=ERROR")
        return labs.run("dev/cluster", "join", "node1", "ssh", "-i", self.key, *(word for option in options for word in ("-o", option)),
                        "-p", str(port), f"{person}@{address or f'main-login.{self.lab.namespace}'}", *words, check=False, timeout=timeout)
