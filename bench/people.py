"""Figures of a cluster that people use: accounting with the database for trials, one login, a Token, and ada of an LDAP server."""
import concurrent.futures
import subprocess
import time

import cluster

IMAGES = (*cluster.IMAGES, "slurmdbd", "login", "mariadb", "slapd")
WORKERS = 3
SESSIONS = 10
JOBS = 300       # five a second
KILLS = 3
LOGINS = 11
TIMER = """
import subprocess, sys, time
for _ in range(int(sys.argv[1])):
    began = time.monotonic()
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE) as login:
        assert login.stdout.read(1), "no login"
        print((time.monotonic() - began) * 1000)
"""


def prepare():
    cluster.prepare(IMAGES)


def fresh():
    """An operator, and people whom LDAP already knows."""
    cluster.fresh()
    cluster.slurm.install_people()
    cluster.slurm.kubectl("rollout", "status", "deployment/ldap", "--timeout=90s", timeout=100)


def install():
    """Until three nodes are idle, accounting knows the cluster and ada gets in."""
    slurm = cluster.slurm
    slurm.install_slurm(cluster.lab.PROMPT)
    slurm.wait_for_idle(WORKERS, within=120, ready=False)
    slurm.wait_for_accounting(within=120)
    slurm.wait_for("ada can log in", lambda: slurm.ssh_result("ada", "true").returncode == 0, within=60)


def first_bytes():
    """Of logins one after another, in milliseconds; the way into the cluster's network is not counted."""
    words = [str(word) for word in cluster.slurm.ssh_words("ada", "echo in")]
    way, ssh = words[:words.index("ssh")], words[words.index("ssh"):]
    said = subprocess.run([*way, "/usr/bin/python3", "-c", TIMER, str(LOGINS), *ssh], cwd=cluster.ROOT, check=True, text=True,
                          stdout=subprocess.PIPE, timeout=120).stdout
    return [float(line) for line in said.split()][1:]  # the first one warms


def sessions_cut():
    """How many of ten sessions a new version of the login ends, or makes fall silent."""
    slurm = cluster.slurm
    sessions = [cluster.lab.Session(slurm, "ada") for _ in range(SESSIONS)]
    before = {session.host for session in sessions}
    slurm.renew_logins()
    slurm.wait_for("the old login is on its way out", lambda: all(
        slurm.get("pod", host)["metadata"].get("deletionTimestamp") for host in before), within=90)
    slurm.wait_for("a new one takes sessions", lambda: slurm.ssh_result("ada", "hostname").stdout.strip() not in {*before, ""}, within=30)
    cut = sum(not session.echoes("still here") for session in sessions)
    for session in sessions:
        session.end()
    slurm.wait_for("the old login is gone", lambda: not any(slurm.get("pod", host) for host in before), within=60)
    return cut


def records_lost():
    """Of jobs that slurmctld took while slurmdbd and its database were killed again and again."""
    slurm = cluster.slurm
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        stream = pool.submit(slurm.submit_stream, JOBS)
        for _ in range(KILLS):
            time.sleep(10)
            for program in ("slurmdbd", "mariadbd"):
                slurm.wait_for(f"{program} runs", lambda name=program: slurm.processes(name), within=60)
                slurm.kill(program)
        jobs = stream.result()
    assert len(jobs) == JOBS, f"slurmctld took {len(jobs)} of {JOBS} jobs"
    deadline = time.monotonic() + 180
    while (missing := slurm.missing_in_history(jobs)) and time.monotonic() < deadline:
        time.sleep(1)
    return len(missing)


def measure(figures):
    runs = []
    for _ in range(3):
        fresh()
        began = time.monotonic()
        install()
        runs.append(time.monotonic() - began)
    figures.add("people_install_to_idle_s", runs, "s", "<= 45", "people")
    figures.add("login_first_byte_ms", first_bytes(), "ms", "", "people")
    figures.add("login_sessions_cut", [sessions_cut()], f"of {SESSIONS}", "0", "people")
    figures.add("accounting_lost_records", [records_lost()], f"of {JOBS}", "0", "people")
    cluster.lab.erase()


def measure_rest(figures):
    fresh()
    install()
    cluster.slurm.make_token("bench", "ada")
    cluster.measure_quiet(figures, "people_", "<= 13", "people-rest", {})
    cluster.lab.erase()


GROUPS = {"people": measure, "people-rest": measure_rest}
