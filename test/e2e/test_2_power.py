"""Workers on demand: Slurm's power saving starts and stops them as jobs need them."""
import pytest
from one_object import EXAMPLE, HOSTS, Cluster

pytestmark = pytest.mark.long

ON_DEMAND = {"name": "cpu", "replicas": 3, "resources": {"cpu": "1", "memory": "256Mi"}, "power": {"mode": "OnDemand", "idle": "15s"}}
CONFIG = EXAMPLE["spec"]["config"]
FASTER = CONFIG | {"slurmConf": CONFIG["slurmConf"] | {"SuspendTimeout": 10, "ResumeTimeout": 120}}


class OnDemand(Cluster):
    def workers(self):
        return sorted(pod["metadata"]["name"] for pod in self.lab.items("pods", "-l", "app.kubernetes.io/component=worker"))

    def states(self):
        return self.on_controller("sinfo", "-h", "-N", "-o", "%N=%T").split()

    def are_down(self):
        return self.workers() == [] and self.states() == [f"{host}=idle~" for host in HOSTS]


@pytest.fixture(scope="module")
def cluster(bare):
    bare.install_operator()
    one = OnDemand(bare)
    one.apply(nodeSets=[ON_DEMAND], config=FASTER)
    yield one
    bare.kubectl("delete", "slurmcluster", "main", "--ignore-not-found", timeout=120)
    bare.wait_for("its NodeSets are gone", lambda: not bare.items("nodesets"), within=120)


def test_nodes_are_there_in_slurm_and_have_no_pod(cluster):
    cluster.becomes("Ready", within=180)
    cluster.lab.wait_for("slurmctld knows them", cluster.are_down, within=60)


# The operator remembers nothing: what slurmctld says is all that it goes by.
def test_a_job_gets_its_workers_though_the_operator_is_killed_and_they_go_again(cluster):
    cluster.lab.wait_for("root can log in", lambda: cluster.ssh("true").returncode == 0, within=60)
    job = cluster.submit("-N2", "--wrap", "srun hostname > /tmp/hosts; sleep 1")
    cluster.lab.wait_for("Slurm powers two up", lambda: sum("#" in state for state in cluster.states()) == 2, within=30)
    cluster.lab.kubectl("-n", cluster.lab.operator_namespace, "delete", "pod", "-l", "app.kubernetes.io/name=slurm-operator", "--wait=false")
    cluster.lab.wait_for("the job is over", lambda: cluster.state(job) == "COMPLETED", within=120)
    assert len(cluster.workers()) == 2, "no third worker was started"
    cluster.lab.wait_for("they are gone, and Slurm has them powered down", cluster.are_down, within=120)
    ran = cluster.ssh("srun", "-N3", "hostname", timeout=120)
    assert sorted(ran.stdout.split()) == HOSTS, ran.stderr


def test_fewer_and_none_take_their_slurm_nodes_along(cluster):
    cluster.apply(nodeSets=[ON_DEMAND | {"replicas": 1}], config=FASTER)
    cluster.lab.wait_for("one Slurm node is left", lambda: len(cluster.states()) == 1, within=120)
    cluster.apply(nodeSets=[{key: value for key, value in ON_DEMAND.items() if key != "power"} | {"replicas": 2}], config=FASTER)
    cluster.lab.wait_for("all have pods", lambda: len(cluster.workers()) == 2, within=120)
    cluster.lab.wait_for("and take jobs", lambda: cluster.states() == ["cpu-0=idle", "cpu-1=idle"], within=120)
