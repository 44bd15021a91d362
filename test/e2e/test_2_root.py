"""A SlurmCluster with a shared root: what one job or session writes in `/` all others read, and a session outlives a switch."""
import concurrent.futures
import json

import pytest
from lab import IMAGES
from one_object import HOSTS, Cluster

IMAGE = f"{IMAGES}/login:26.05"


class Rooted(Cluster):
    def apply(self, revision="1", root=None, **spec):
        source = {"image": IMAGE, "imagePullPolicy": "IfNotPresent"}
        mounts = [{"path": "/datasets", "claim": "datasets"}]
        files = [{"path": "/etc/profile.d/site.sh", "configMap": "site", "key": "profile"}]
        super().apply(sharedRoot={"claim": {"size": "2Gi"}, "source": source, "revision": revision, "mounts": mounts, "files": files} |
                      (root or {}), **spec)

    def site(self, profile):
        """The ConfigMap with what the root's files are."""
        self.make({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site"}, "data": {"profile": profile}})

    def make(self, thing):
        self.lab.kubectl("apply", "-f", "-", text_in=json.dumps(thing))

    def root(self):
        """The current generation, and those that are there."""
        status = (self.lab.get("sharedroots", "main") or {}).get("status", {})
        return status.get("current", {}).get("generation", ""), [each["name"] for each in status.get("generations", [])]

    def kept_by(self, generation):
        """Why it is still there; None: it is not."""
        status = (self.lab.get("sharedroots", "main") or {}).get("status", {})
        return next((each.get("keptBy", "") for each in status.get("generations", []) if each["name"] == generation), None)

    def complaints(self):
        conditions = (self.lab.get("sharedroots", "main") or {}).get("status", {}).get("conditions", [])
        return next((each["message"] for each in conditions if each["type"] == "Degraded"), "")

    def remove_now(self):
        """What was in use is asked for anew, before its hour is over."""
        for job in self.lab.items("jobs", "-l", "app.kubernetes.io/component=root"):
            if "-remove-" in job["metadata"]["name"]:
                self.lab.kubectl("delete", "job", job["metadata"]["name"], "--ignore-not-found")

    def says(self, *words, person="root"):
        done = self.ssh(*words, person=person)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.split()

    def pods(self):
        return self.lab.items("pods", "-l", "app.kubernetes.io/component in (worker,login)")

    def exec(self, pod, *words):
        name = pod["metadata"]["name"]
        return self.lab.kubectl("exec", name, "-c", "login" if "login" in name else "slurmd", "--", *words, check=False)


@pytest.fixture(scope="module")
def cluster(bare):
    bare.install_operator()
    one = Rooted(bare)
    one.site("export SITE=one\n")
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    one.make({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "datasets"}, "spec": claim})
    one.apply()
    yield one
    bare.kubectl("delete", "slurmcluster", "main", "--ignore-not-found", timeout=120)
    bare.wait_for("its NodeSets are gone", lambda: not bare.items("nodesets"), within=120)
    bare.kubectl("delete", "persistentvolumeclaim", "main-root", "datasets", "--ignore-not-found", timeout=120)


def test_what_one_writes_in_the_root_all_read_and_the_daemons_do_not(cluster):
    cluster.becomes("Ready", within=300)
    current, generations = cluster.root()
    assert generations == [current] and cluster.status()["sharedRoot"]["generation"] == current
    cluster.lab.wait_for("root can log in", lambda: cluster.ssh("true").returncode == 0, within=60)
    assert cluster.says("srun -N3 readlink /etc/hosts") == ["/run/capstan/etc/hosts"] * 3, "each step is in the root"
    assert sorted(cluster.says("srun -N3 hostname")) == HOSTS
    cluster.says("srun -w cpu-0 sh -c 'mkdir -p /data && echo one > /data/file && echo two > /etc/two && echo three > ~/three'")
    read = "cat /data/file /etc/two ~/three"
    assert cluster.says("srun", "-w", "cpu-1", "sh", "-c", f"'{read}'") == cluster.says(read) == ["one", "two", "three"]
    cluster.says("srun -w cpu-0 sh -c 'echo mine > /tmp/mine'")
    assert cluster.ssh("srun -w cpu-1 cat /tmp/mine").returncode != 0, "/tmp is the pod's"
    for pod in cluster.pods():
        assert cluster.exec(pod, "cat", "/etc/two").returncode != 0, f"kubectl exec into {pod['metadata']['name']} is in the image"
        assert cluster.exec(pod, "capstan-entry", "enter", "cat", "/etc/two").stdout.split() == ["two"]


@pytest.mark.long
def test_mounts_and_files_are_the_same_for_all(cluster):
    cluster.becomes("Ready", within=300)
    assert cluster.says("bash -lc 'echo $SITE'") == ["one"]
    cluster.says("srun -w cpu-0 sh -c 'echo set > /datasets/one'")
    assert cluster.says("cat /datasets/one") == cluster.says("srun -w cpu-1 cat /datasets/one") == ["set"]
    for pod in cluster.pods():
        assert cluster.exec(pod, "cat", "/datasets/one").stdout.split() == ["set"], "daemons have it at the same place"
    cluster.site("export SITE=two\n")
    cluster.lab.wait_for("the file follows", lambda: cluster.ssh("bash -lc 'echo $SITE'").stdout.split() == ["two"], within=150)
    assert cluster.says("srun -w cpu-2 bash -lc 'echo $SITE'") == ["two"]


# A program is installed once, by a session, and is there for all: from a file, as there may be no way out.
@pytest.mark.long
def test_what_is_installed_once_runs_everywhere(cluster):
    cluster.becomes("Ready", within=300)
    package = """
mkdir -p ~/pack/DEBIAN ~/pack/usr/bin
printf 'Package: tell-host\\nVersion: 1\\nArchitecture: all\\nMaintainer: nobody\\nDescription: tells\\n' > ~/pack/DEBIAN/control
printf '#!/bin/sh\\necho host $(hostname)\\n' > ~/pack/usr/bin/tell-host
chmod 755 ~/pack/usr/bin/tell-host
dpkg-deb -b ~/pack ~/tell-host.deb > /dev/null && dpkg -i ~/tell-host.deb > /dev/null
"""
    cluster.says(package)
    assert sorted(cluster.says("srun -N3 tell-host")) == sorted(["host"] * 3 + HOSTS)


@pytest.mark.long
def test_a_session_and_a_job_outlive_a_switch(cluster):
    cluster.becomes("Ready", within=300)
    first, _ = cluster.root()
    cluster.says("echo first > /etc/which")
    waits = "until [ -e ~/go ]; do sleep 0.2; done; cat /etc/which"  # what is kept, as /root is, is in all generations
    running = cluster.says(f"sbatch --parsable -w cpu-2 -o ~/out --wrap '{waits}'")[0]
    cluster.lab.wait_for("it runs", lambda: cluster.queued(running) == "RUNNING", within=60)
    before = {pod["metadata"]["uid"] for pod in cluster.pods()}
    with concurrent.futures.ThreadPoolExecutor(1) as others:
        session = others.submit(cluster.ssh, f"touch ~/began; {waits}", timeout=240)
        cluster.lab.wait_for("the session has begun", lambda: cluster.ssh("test -e ~/began").returncode == 0, within=30)
        cluster.apply(revision="2", root={"history": 0})
        cluster.lab.wait_for("another generation is current", lambda: cluster.root()[0] not in ("", first), within=120)
        cluster.lab.wait_for("new sessions have it", lambda: cluster.ssh("test -e /etc/which").returncode != 0, within=30)
        assert cluster.root()[1] == [first, cluster.root()[0]]
        cluster.lab.wait_for("pods say that they have it", lambda: "main-login" in (cluster.kept_by(first) or ""), within=60)
        cluster.says("touch ~/go")
        assert session.result().stdout.split() == ["first"]
    cluster.lab.wait_for("the job is over", lambda: cluster.state(running) == "COMPLETED", within=60)
    assert cluster.says("cat ~/out") == ["first"], "both keep the root that they began in"
    cluster.becomes("Ready")
    assert {pod["metadata"]["uid"] for pod in cluster.pods()} == before, "no pod was replaced"

    def is_gone():
        cluster.remove_now()
        return cluster.kept_by(first) is None

    cluster.lab.wait_for("the old one goes with the last process in it", is_gone, within=120, every=10)
    listed = cluster.exec(cluster.pods()[0], "ls", "/capstan/root/roots").stdout.split()
    assert listed == [cluster.root()[0]]


# Whom somebody gives an account in a session the login lets in, and jobs run as: no pod is renewed for that.
@pytest.mark.long
def test_who_gets_an_account_in_a_session_logs_in_and_runs_jobs(cluster):
    cluster.becomes("Ready", within=300)
    before = {pod["metadata"]["uid"] for pod in cluster.pods()}
    public = cluster.key.with_suffix(".pub").read_text().strip()
    cluster.says(f"useradd -m -s /bin/bash grace && install -d -m 700 ~grace/.ssh && echo '{public}' > ~grace/.ssh/authorized_keys "
                 "&& chown -R grace: ~grace/.ssh")
    cluster.lab.wait_for("grace logs in", lambda: cluster.ssh("true", person="grace").returncode == 0, within=30)
    assert cluster.says("srun -N3 sh -c 'id -un; pwd'", person="grace").count("grace") == 3
    assert {pod["metadata"]["uid"] for pod in cluster.pods()} == before


# By its name: what is broken is left in seconds, and nobody waits for a copy.
@pytest.mark.long
def test_by_hand_the_name_says_which_is_current(cluster):
    cluster.becomes("Ready", within=300)
    first, _ = cluster.root()
    cluster.says("echo first > /etc/which")
    cluster.apply(revision="3", root={"switch": {"policy": "Manual"}})
    cluster.lab.wait_for("another generation is filled", lambda: len(cluster.root()[1]) == 2, within=120)
    cluster.becomes("Ready")
    assert cluster.root()[0] == first and cluster.says("cat /etc/which") == ["first"]
    second = next(each for each in cluster.root()[1] if each != first)
    for name, there in ((second, 1), (first, 0)):
        cluster.apply(revision="3", root={"switch": {"policy": "Manual", "current": name}})
        cluster.lab.wait_for(f"{name} is current", lambda: cluster.ssh("test -e /etc/which").returncode == there, within=60)
    cluster.apply(revision="3", root={"switch": {"policy": "Manual", "current": "g-none"}})
    cluster.lab.wait_for("it is said", lambda: "g-none, named in spec.switch.current, is not on the volume" in cluster.complaints(), within=60)
    assert cluster.says("cat /etc/which") == ["first"]


# No daemon runs in it: who mends it comes in, and the name of another one is the way back.
@pytest.mark.long
def test_from_a_root_that_somebody_broke_there_is_a_way_back(cluster):
    cluster.apply(revision="3", root={"switch": {"policy": "Manual"}})
    cluster.becomes("Ready")
    first, generations = cluster.root()
    assert len(generations) == 2, "those of the case before"
    second = next(each for each in generations if each != first)
    cluster.apply(revision="3", root={"switch": {"policy": "Manual", "current": second}})
    cluster.lab.wait_for("the other is current", lambda: cluster.ssh("test -e /etc/which").returncode == 1, within=60)
    cluster.ssh("rm -rf /bin /usr/bin /usr/sbin")
    assert cluster.ssh("true").returncode not in (0, 255), "who logs in finds no shell"
    assert "bin" not in cluster.says(f"ls /capstan/root/roots/{second}/usr", person="rescue")
    cluster.apply(revision="3", root={"switch": {"policy": "Manual", "current": first}})
    cluster.lab.wait_for("the first is current", lambda: cluster.ssh("test -e /etc/which").returncode == 0, within=60)
    assert sorted(cluster.says("srun -N3 hostname")) == HOSTS
    cluster.becomes("Ready")
