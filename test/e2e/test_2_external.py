"""A slurmdbd outside of Kubernetes: on a machine that pods reach by its address, with the key of the cluster."""
import base64
import json
import os
import tempfile

import pytest

import lab as labs
from outside import ADDRESS, SLURM, Outside

pytestmark = pytest.mark.long

MYSQL = 402  # uid
KEY = os.urandom(1024)
SETTINGS = ("nodesets.slinky.replicas=1", "accounting.enabled=true", "accounting.external=true",
            f"accounting.externalConfig.host={ADDRESS}", "slurmKey.secretRef.name=site", "jwtKey.secretRef.name=site",
            "controller.extraConfMap.AccountingStorageEnforce=associations")
SLURMDBD_CONF = b"""\
DbdHost=outside
SlurmUser=slurm
AuthType=auth/slurm
AuthInfo=use_client_ids
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StorageUser=slurm
StoragePass=secret
StorageLoc=slurm_acct_db
LogFile=/dev/null
PidFile=/run/slurmdbd/slurmdbd.pid
"""
@pytest.fixture
def outside():
    """With a slurmdbd and its database, and the key for which it asks."""
    with tempfile.TemporaryDirectory() as folder:
        one = Outside(folder)
        one.write("mariadb", "run/secrets/database/password", b"secret\n", MYSQL)
        one.write("mariadb", "var/lib/mysql/.kept", b"", MYSQL)
        one.write("slurmdbd", "etc/slurm/slurmdbd.conf", SLURMDBD_CONF, SLURM)
        one.write("slurmdbd", "etc/slurm/slurm.key", KEY, SLURM)
        one.start("mariadb")
        one.start("slurmdbd")
        yield one
        one.stop()


def test_jobs_are_in_the_history_of_a_slurmdbd_outside_of_kubernetes(bare, outside):
    keys = {"slurm.key": base64.b64encode(KEY).decode(), "jwt.key": base64.b64encode(os.urandom(32)).decode()}
    bare.kubectl("create", "-f", "-", text_in=json.dumps({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "site"}, "data": keys}))
    bare.install_operator()
    bare.install_slurm(*SETTINGS)
    try:
        bare.wait_for_idle(1, within=120)
        bare.wait_for_accounting(within=60)
    except labs.Failed as failed:
        raise labs.Failed(f"{failed}\n{outside.said()}") from None
    # slurmdbd tells slurmctld of the new association, and without it the job would be refused.
    bare.account_for("games")
    as_games = ("setpriv", "--reuid=games", "--regid=games", "--clear-groups")
    job = bare.in_worker(*as_games, "sbatch", "--parsable", "-D/tmp", "-o/dev/null", "--wrap=hostname").strip()
    bare.wait_for("the job is in the history", lambda: bare.in_worker(
        "sacct", "-anXP", "-j", job, "-o", "user,account,state").strip() == "games|demo|COMPLETED", within=60)
    told = bare.condition("accountings", "slurm", "Ready")
    assert told["message"] == f"slurmdbd runs outside of Kubernetes, at {ADDRESS}:6819"
