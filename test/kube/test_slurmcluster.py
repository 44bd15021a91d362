"""A SlurmCluster, the operator with the rights of its chart, and the real API server: what becomes of the objects that it is made of.
Nothing runs any pod here."""
import itertools
import json

import pytest
import yaml
from definitions import REPOSITORY
from operating import operator, rules, until

SMALL = yaml.safe_load((REPOSITORY / "examples/slurmcluster/small.yaml").read_text())
numbers = itertools.count()
PARTS = {"controllers": "main", "restapis": "main", "accountings": "main", "loginsets": "main-login", "nodesets": "main-worker-cpu"}


class Place:
    """A namespace of its own, and kubectl in it."""

    def __init__(self, server):
        self.server, self.name = server, f"cluster-{next(numbers)}"
        server.kubectl("create", "namespace", self.name)

    def kubectl(self, *words, **options):
        return self.server.kubectl("--namespace", self.name, *words, **options)

    def apply(self, cluster):
        self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(cluster))

    def get(self, kind, name):
        """None: it is not there."""
        done = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(done) if done.strip() else None

    def phase(self):
        return self.get("slurmclusters", "main").get("status", {}).get("phase", "")

    def wanted_workers(self):
        """By its NodeSet; None: it has not said yet."""
        return self.get("nodesets", PARTS["nodesets"]).get("status", {}).get("desired")

    def condition(self, wanted, name="main"):
        conditions = (self.get("slurmclusters", name) or {}).get("status", {}).get("conditions", [])
        return next((each for each in conditions if each["type"] == wanted), {"status": "", "message": ""})


@pytest.fixture
def place(server):
    return Place(server)


@pytest.fixture
def log(server, reader_of, place):
    with operator(server, reader_of(rules()), place.name) as written:
        yield written


def changed(**spec):
    return SMALL | {"spec": SMALL["spec"] | spec}


def test_the_example_is_made_of_its_parts(place, log):
    place.apply(SMALL)
    for kind, name in PARTS.items():
        until(f"{kind} {name} is there", log, lambda kind=kind, name=name: place.get(kind, name))
    for name in ("main-auth-slurm", "main-auth-jwt", "main-sssd-conf"):
        until(f"Secret {name} is made", log, lambda name=name: place.get("secrets", name))
    until("slurmctld is on its way", log, lambda: place.get("statefulsets", "main-controller"))
    conf = until("slurm.conf is published", log, lambda: (place.get("configmaps", "main-config") or {}).get("data", {}).get("slurm.conf"))
    assert "ProctrackType=proctrack/linuxproc" in conf and "PartitionName=cpu Nodes=cpu" in conf
    until("it is said how far it is", log, lambda: "NodeSet main-worker-cpu" in place.condition("Progressing")["message"])
    until("nothing is wrong", log, lambda: place.condition("Degraded")["status"] == "False")
    header, line = place.kubectl("get", "slc").splitlines()
    assert header.split() == ["NAME", "PHASE", "NODES", "IDLE", "DOWN", "LOGINS", "AGE"]
    assert line.split()[0] == "main" and line.split()[1] in ("Degraded", "Installing", "Updating")
    parts = {(part["kind"], part["name"]) for part in place.get("slurmclusters", "main")["status"]["parts"]}
    assert len(parts) == len(PARTS)


def test_numbers_that_are_not_named_belong_to_whoever_scales(place, log):
    def replicas():
        return place.get("nodesets", "main-worker-cpu")["spec"]["replicas"]

    place.apply(SMALL)
    until("the NodeSet is there", log, lambda: place.get("nodesets", "main-worker-cpu"))
    assert replicas() == 3
    sets = [{"name": "cpu", "features": ["f1"]}]
    place.apply(changed(nodeSets=sets))
    until("it is changed", log, lambda: "f1" in place.get("nodesets", "main-worker-cpu")["spec"].get("extraConf", ""))
    assert replicas() == 3, "what it had when nobody named it any more"
    place.kubectl("scale", "nodesets.slinky.slurm.net/main-worker-cpu", "--replicas=7")
    place.apply(changed(nodeSets=[{"name": "cpu", "features": ["f2"]}]))
    until("it is changed again", log, lambda: "f2" in place.get("nodesets", "main-worker-cpu")["spec"]["extraConf"])
    assert replicas() == 7


def test_a_set_that_is_taken_out_goes_by_its_own_rules(place, log):
    place.apply(SMALL)
    until("it is held by the finalizer that drains", log,
          lambda: (place.get("nodesets", "main-worker-cpu") or {"metadata": {}})["metadata"].get("finalizers"))
    place.apply(changed(nodeSets=[{"name": "gpu"}]))
    until("the new one is there", log, lambda: place.get("nodesets", "main-worker-gpu"))
    until("the old one is asked to go", log, lambda: "deletionTimestamp" in place.get("nodesets", "main-worker-cpu")["metadata"])


def test_paused_a_person_may_change_parts_by_hand(place, log):
    place.apply(SMALL)
    until("the RestApi is there", log, lambda: place.get("restapis", "main"))
    place.apply(changed(paused=True))
    until("it is paused", log, lambda: place.phase() == "Paused")
    place.kubectl("patch", "nodesets.slinky.slurm.net", "main-worker-cpu", "--type=merge", "--patch", '{"spec":{"partition":{"config":"MaxTime=5"}}}')
    place.apply(changed(paused=True, mode="Stopped"))
    observed = until("the change is seen", log, lambda: place.get("slurmclusters", "main")["status"]["observedGeneration"] == 3)
    assert observed and place.get("nodesets", "main-worker-cpu")["spec"]["partition"]["config"] == "MaxTime=5"
    place.apply(SMALL)
    until("it is put right", log, lambda: place.get("nodesets", "main-worker-cpu")["spec"]["partition"]["config"].startswith("Default"))


def test_stopped_nothing_is_to_run(place, log):
    place.apply(SMALL)
    until("a worker is there", log, lambda: place.get("pods", "main-worker-cpu-0"))
    place.apply(changed(mode="Stopped"))
    for kind in ("nodesets", "loginsets"):
        until(f"{kind} are told", log, lambda kind=kind: place.get(kind, PARTS[kind])["metadata"].get("annotations", {}).get("capstan.dev/stopped"))
    until("logins have gone", log, lambda: (place.get("deployments", "main-login") or {"spec": {}})["spec"].get("replicas") == 0)
    until("it says so", log, lambda: place.phase() in ("Stopping", "Stopped"))
    assert place.get("nodesets", "main-worker-cpu")["spec"]["replicas"] == 3
    until("none is wanted", log, lambda: place.wanted_workers() == 0)
    place.apply(SMALL)
    until("all are wanted again", log, lambda: place.wanted_workers() == 3)


def test_stopped_a_number_that_is_not_named_stays(place, log):
    unnamed = [{"name": "cpu"}]
    place.apply(changed(nodeSets=unnamed))
    until("a worker is there", log, lambda: place.get("pods", "main-worker-cpu-0"))
    place.kubectl("scale", "nodesets.slinky.slurm.net/main-worker-cpu", "--replicas=2")
    for mode, wanted in (("Stopped", 0), ("Run", 2)):
        place.apply(changed(nodeSets=unnamed, mode=mode))
        until(f"{mode} is heard", log, lambda wanted=wanted: place.wanted_workers() == wanted)
        assert place.get("nodesets", "main-worker-cpu")["spec"]["replicas"] == 2


def test_a_persons_change_of_what_is_named_is_put_back_until_it_is_a_fight(place, log):
    place.apply(SMALL)
    until("the NodeSet is there", log, lambda: place.get("nodesets", "main-worker-cpu"))

    def is_put_back():
        return place.get("nodesets", "main-worker-cpu")["spec"]["replicas"] == 3

    def is_told():
        place.kubectl("patch", "nodesets.slinky.slurm.net", "main-worker-cpu", "--type=merge", "--patch", '{"spec":{"replicas":2}}')
        return "keeps changing it back" in place.condition("Degraded")["message"]

    for _ in range(2):
        place.kubectl("patch", "nodesets.slinky.slurm.net", "main-worker-cpu", "--type=merge", "--patch", '{"spec":{"replicas":2}}')
        until("it is put back", log, is_put_back)
    until("it is told", log, is_told)


def test_drained_first_the_controller_goes_last(place, log):
    place.apply(changed(deletionPolicy="Drain"))
    until("it is held", log, lambda: place.get("slurmclusters", "main")["metadata"].get("finalizers"))
    until("the NodeSet is held", log, lambda: (place.get("nodesets", "main-worker-cpu") or {"metadata": {}})["metadata"].get("finalizers"))
    place.kubectl("delete", "slurmcluster", "main", "--wait=false")
    until("the NodeSet is asked to go", log, lambda: "deletionTimestamp" in place.get("nodesets", "main-worker-cpu")["metadata"])
    until("the logins go", log, lambda: place.get("loginsets", "main-login") is None)
    assert "deletionTimestamp" not in place.get("controllers", "main")["metadata"]
    until("it says what it waits for", log, lambda: "NodeSet main-worker-cpu" in place.condition("Progressing")["message"])
    place.kubectl("annotate", "nodesets.slinky.slurm.net", "main-worker-cpu", "capstan.dev/force-delete=true")
    until("it is gone", log, lambda: place.get("slurmclusters", "main") is None)


def test_somebody_elses_object_is_left_alone_unless_a_person_gives_it_away(place, log):
    theirs = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "RestApi", "metadata": {"name": "main"},
              "spec": {"controllerRef": {"name": "main"}, "replicas": 2}}
    place.apply(theirs)
    place.apply(SMALL)
    until("it is named", log, lambda: "RestApi" in place.condition("Degraded")["message"])
    assert "ownerReferences" not in place.get("restapis", "main")["metadata"]
    place.kubectl("label", "restapis.slinky.slurm.net", "main", "capstan.dev/adopt=main")
    until("it is taken over", log, lambda: place.get("restapis", "main")["metadata"].get("ownerReferences"))
    assert place.get("restapis", "main")["spec"]["replicas"] == 2
    until("nothing is wrong any more", log, lambda: place.condition("Degraded")["status"] == "False")


def test_a_configmap_of_somebody_elses_is_given_away_alike(place, log):
    place.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "main-files"}, "data": {"theirs": "x"}})
    place.apply(SMALL)
    until("it is named", log, lambda: "main-files" in place.condition("Degraded")["message"])
    assert place.get("configmaps", "main-files")["data"] == {"theirs": "x"}
    place.kubectl("label", "configmap", "main-files", "capstan.dev/adopt=main")
    until("it is taken over", log, lambda: "cgroup.conf" in place.get("configmaps", "main-files")["data"])
    until("that is not wrong any more", log, lambda: "NameConflict" not in place.condition("Degraded")["reason"])


NEEDED = "a folder that a root or its pods need for themselves cannot be kept, node-local or a mount"
ROOTS = (
    *(({"mounts": [{"path": path, "claim": "c"}]}, NEEDED)
      for path in ("/etc", "/proc", "/proc/1", "/usr/lib", "/tmp", "/var/spool", "/capstan/root", "/data/../etc", "/data/..")),
    ({"keep": ["/home", "/var/log/mine"]}, NEEDED),
    ({"nodeLocal": ["/usr"]}, NEEDED),
    ({"nodeLocal": ["/mnt/ssh-config"]}, NEEDED),
    ({"keep": ["/mnt"]}, NEEDED),
    ({"keep": ["/home", "/home"]}, "a folder cannot be named twice"),
    ({"nodeLocal": ["/a/b", "/a"]}, "nor be within another"),
    ({"keep": ["/home"], "nodeLocal": ["/home/scratch"]}, "a folder of spec.keep cannot be one of spec.nodeLocal"),
    ({"mounts": [{"path": "/home/data", "claim": "c"}]}, "a path of spec.mounts cannot be a folder of spec.keep"),
    ({"mounts": [{"path": "/a", "claim": "c"}], "nodeLocal": ["/a/b"]}, "a path of spec.mounts cannot be a folder of spec.nodeLocal"),
    *(({"mounts": [{"path": path, "claim": "c"}]}, "should match") for path in ("data", "/")),
    ({"mounts": [{"path": "/a", "claim": "c"}, {"path": "/a/b", "claim": "c"}]}, "a path of spec.mounts cannot be within another"),
    *(({"mounts": [{"path": path, "claim": "c"}], "keep": []}, "a mount cannot be in /usr") for path in ("/usr/local/x", "/usr/share", "/root")),
    ({"files": [{"path": "/srv/site/x", "configMap": "c", "key": "k"}]}, "a path of spec.files cannot be in a folder of spec.keep"),
    ({"mounts": [{"path": "/a", "claim": "c"}], "files": [{"path": "/a/b", "configMap": "c", "key": "k"}]},
     "a path of spec.files cannot be in one of spec.mounts"),
    *(({"files": [{"path": path, "configMap": "c", "key": "k"}]}, "a file of spec.files cannot be in /proc")
      for path in ("/etc/passwd", "/etc/shadow-", "/run/x", "/tmp/x", "/etc/x/../passwd")),
    ({"switch": {"current": "g-1"}}, "switch.current is for switch.policy Manual"),
    ({"history": -1}, "greater than or equal to 0"),
)


@pytest.mark.parametrize("name, spec, said", [
    ("a-name-of-21-letters1", {}, "metadata.name must have at most 20 lower case letters"),
    ("my.hpc", {}, "metadata.name must have at most 20 lower case letters"),
    ("main", {"accounting": {"database": {}}}, "database must have one of embedded and external"),
    ("main", {"nodeSets": [{"name": "CPU"}]}, "spec.nodeSets[0].name"),
    ("main", {"nodeSets": [{"name": "a"}, {"name": "a"}]}, "Duplicate value"),
    ("main", {"nodeSets": [{"name": "a", "gres": "gpu=1 Weight"}]}, "spec.nodeSets[0].gres"),
    ("main", {"mode": "Sleep"}, 'supported values: "Run", "Maintenance", "Stopped"'),
    ("main", {"partitions": [{"name": "p q"}]}, "spec.partitions[0].name"),
    *(("main", {"sharedRoot": {"claim": {"size": "1Gi"}, "source": {"image": "shell"}} | root}, said) for root, said in ROOTS),
])
def test_what_makes_no_sense_is_refused_at_once(place, name, spec, said):
    wrong = SMALL | {"metadata": {"name": name}, "spec": spec}
    done = place.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(wrong), check=False)
    assert done.returncode != 0 and said in done.stderr, done.stderr


def test_folders_that_only_look_like_others_are_taken(place):
    root = {"claim": {"size": "1Gi"}, "source": {"image": "shell"}, "keep": ["/home", "/etcetera", "/usr/local", "/var/lib/mine"],
            "nodeLocal": ["/tmpfoo", "/libexec"], "mounts": [{"path": path, "claim": "c"} for path in ("/data", "/data2", "/..x", "/rootless")],
            "files": [{"path": path, "configMap": "c", "key": "k"} for path in ("/etc/passwd.d/x", "/etc/motd", "/homes/x", "/usr/bin/site")]}
    place.apply(changed(sharedRoot=root))


def test_the_clusters_name_in_slurm_stays(place):
    place.apply(changed(clusterName="one"))
    done = place.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(changed(clusterName="two")), check=False)
    assert done.returncode != 0 and "clusterName cannot be changed" in done.stderr
