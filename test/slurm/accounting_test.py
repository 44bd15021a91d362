"""Accounting with a real MariaDB: our images of the database, slurmdbd and slurmctld, without Kubernetes."""
import json
import os
import pathlib
import re
import signal

import pytest
from pods import Pods, await_that

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/accounting_it_test"
# Every character that means something to a shell, SQL or Slurm's own files.
PASSWORD = "pa'ss\\w#o\"r`d$x;"
SLURM_CONF = """\
ClusterName=trial
SlurmctldHost=ctl
SlurmUser=slurm
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
SlurmctldParameters=enable_configless
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=dbd
NodeName=none State=FUTURE
PartitionName=all Nodes=none Default=YES
"""
SLURMDBD_CONF = """\
DbdHost=dbd
SlurmUser=slurm
AuthType=auth/slurm
AuthInfo=use_client_ids
StorageType=accounting_storage/mysql
StorageHost=db
StorageUser=slurm
StorageLoc=slurm_acct_db
StoragePass={password}
LogFile=/dev/null
PidFile=/run/slurmdbd/slurmdbd.pid
"""


@pytest.fixture
def pods():
    made = Pods()
    key = os.urandom(1024)
    for name, image in (("db", "mariadb"), ("dbd", "slurmdbd"), ("ctl", "slurmctld")):
        pod = made.add(name, image)
        if name != "db":
            pod.write("/etc/slurm/slurm.key", key, 0o600, 401)
    made.pods["ctl"].write("/etc/slurm/slurm.conf", SLURM_CONF)
    made.pods["db"].folder("/var/lib/mysql", 402)
    secret(made.pods["db"], PASSWORD)
    configure(made.pods["dbd"], PASSWORD)
    yield made
    made.stop()


def secret(db, password):
    db.write("/run/secrets/database/password", password + "\n", 0o640, 402)


def configure(dbd, password):
    """As a volume with fsGroup has it: root's, and readable for the group."""
    escaped = re.sub(r'([\\#])', r'\\\1', password)
    dbd.write("/etc/slurm/slurmdbd.conf", SLURMDBD_CONF.format(password=escaped), 0o640)
    os.chown(dbd.root + "/etc/slurm/slurmdbd.conf", 0, 401)


def clusters(ctl):
    return ctl.run("sacctmgr", "-nP", "list", "cluster", "format=cluster,controlhost,controlport", check=False).stdout


def await_cluster(pods):
    ctl = pods.pods["ctl"]
    await_that(lambda: re.search(r"^trial\|203\.0\.113\.\d+\|6817$", clusters(ctl), re.M), "registered cluster", 60,
               lambda: f": {clusters(ctl)}\n{ctl.said()}\n{pods.pods['dbd'].said()}")


# Kubernetes starts them in any order.
def test_a_cluster_registers_when_all_start_in_the_wrong_order(pods):
    db, dbd, ctl = (pods.pods[name] for name in ("db", "dbd", "ctl"))
    ctl.start()
    dbd.start()
    dbd.await_said("The database must be up when starting the MYSQL plugin")
    db.start()
    await_cluster(pods)
    assert dbd.running() and ctl.running()
    assert "innodb_snapshot_isolation" not in dbd.said()
    assert dbd.stop() in (0, 128 + signal.SIGUSR1)  # its own, of a moment after its start


def test_what_was_acknowledged_survives_a_killed_database(pods):
    db, dbd, ctl = (pods.pods[name] for name in ("db", "dbd", "ctl"))
    for pod in (db, dbd, ctl):
        pod.start()
    await_cluster(pods)
    ctl.run("sacctmgr", "-i", "add", "account", "physics")
    db.kill()
    db.start()
    names = lambda: ctl.run("sacctmgr", "-nP", "list", "account", "format=account", check=False).stdout.split()
    await_that(lambda: "physics" in names(), "account of before", 60, lambda: f": {names()}\n{dbd.said()}\n{db.said()}")


def test_a_new_password_counts_from_the_next_start_on(pods):
    db, dbd = pods.pods["db"], pods.pods["dbd"]
    db.start()
    configure(dbd, "wrong")
    dbd.start()
    dbd.await_said("Access denied for user 'slurm'")
    db.kill()
    secret(db, "wrong")
    db.start()
    dbd.await_said("slurmdbd version 26.05")


def test_a_user_is_read_as_it_is_meant(pods):
    """As the operator writes it: in quotes, with # escaped."""
    db, dbd = pods.pods["db"], pods.pods["dbd"]
    conf = dbd.read("/etc/slurm/slurmdbd.conf").replace("StorageUser=slurm", r'StorageUser="o\#dd user"')
    dbd.write("/etc/slurm/slurmdbd.conf", conf, 0o640)
    os.chown(dbd.root + "/etc/slurm/slurmdbd.conf", 0, 401)
    db.start()
    dbd.start()
    dbd.await_said("Access denied for user 'o#dd user'")


def test_tables_of_a_newer_slurm_are_left_alone(pods):
    """It waits, and its last words are what the operator passes on."""
    db, dbd, ctl = (pods.pods[name] for name in ("db", "dbd", "ctl"))
    for pod in (db, dbd, ctl):
        pod.start()
    await_cluster(pods)
    ctl.stop()
    dbd.stop()  # it ends by its own SIGUSR1 when it began a moment ago
    assert db.stop() == 0, db.said()
    db.write("/tmp/newer.sql", "UPDATE slurm_acct_db.convert_version_table SET version = 999;\n", 0o644)
    db.start("--init-file=/tmp/newer.sql")
    dbd.start()
    dbd.await_said("slurmdbd does not start: ")
    asked = pods.within("python3", "-c", "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())",
                        f"http://{dbd.address}:6815/start")
    told = json.loads(asked.stdout)
    assert re.fullmatch("slurmdbd does not start: .*fatal: .*", told["message"]), told
    assert dbd.running()


@pytest.mark.parametrize("break_it, complaint", [
    (lambda db: os.unlink(db.root + "/run/secrets/database/password"), "/run/secrets/database/password cannot be read"),
    (lambda db: secret(db, ""), "holds no password"),
    (lambda db: db.folder("/var/lib/mysql", 0), "uid 402 cannot write /var/lib/mysql"),
])
def test_the_database_says_what_it_lacks(pods, break_it, complaint):
    db = pods.pods["db"]
    break_it(db)
    db.start()
    assert db.process.wait(15) == 1
    assert complaint in db.said() and db.said().count("\n") == 1


def test_an_interrupted_first_start_is_begun_anew(pods):
    db = pods.pods["db"]
    db.folder("/var/lib/mysql/new", 402)
    db.write("/var/lib/mysql/new/half", "x", owner=402)
    db.start()
    db.await_said("ready for connections")
    assert not os.path.exists(db.root + "/var/lib/mysql/new")


def test_the_library_reads_what_is_booked(pods, tmp_path):
    ctl, dbd, rest = pods.pods["ctl"], pods.pods["dbd"], pods.add("rest", "slurmrestd")
    key, tokens = os.urandom(32), "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt.key\n"
    (tmp_path / "jwt.key").write_bytes(key)
    rest.write("/etc/slurm/slurm.conf", SLURM_CONF)
    ctl.write("/etc/slurm/slurm.conf", SLURM_CONF.replace("NodeName=none State=FUTURE", "NodeName=none CPUs=1 State=DOWN Reason=test") + tokens +
              "PriorityType=priority/multifactor\nPriorityWeightFairshare=1000\n")
    dbd.write("/etc/slurm/slurmdbd.conf", dbd.read("/etc/slurm/slurmdbd.conf") + tokens, 0o640)
    os.chown(dbd.root + "/etc/slurm/slurmdbd.conf", 0, 401)
    for pod in (ctl, dbd):
        pod.write("/etc/slurm/jwt.key", key, 0o600, 401)
    for pod in (pods.pods["db"], dbd, ctl):
        pod.start()
    rest.start("0.0.0.0:6820", SLURM_JWT="daemon", SLURMRESTD_SECURITY="disable_unshare_files,disable_unshare_sysv")
    await_cluster(pods)
    ctl.run("sacctmgr", "-i", "add", "account", "physics", "fairshare=30")
    ctl.run("sacctmgr", "-i", "add", "user", "root", "account=physics")
    job = ctl.run("sbatch", "--parsable", "--hold", "-A", "physics", "-J", "booked", "-D", "/tmp", "--wrap", "true").strip()
    ctl.run("scancel", job)
    sacct = lambda: ctl.run("sacct", "-nPXj", job, "-o", "state", check=False).stdout
    await_that(lambda: "CANCELLED" in sacct(), "end of the job", 60, lambda: f": {sacct()}\n{dbd.said()}")
    done = pods.within("env", f"SLURMRESTD_URL=http://{rest.address}:6820", f"SLURM_JWT_KEY_FILE={tmp_path}/jwt.key", f"JOB={job}", str(PROGRAM))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{rest.said()}"
