#!/usr/bin/env python3
"""Stands in for slurmctld, slurmd and slurmrestd in entry_process_test.py.

Appends what happens to it to $FAKE_LOG, a JSON object a line, and obeys $FAKE, a list of words:
    exit=N  crash     ends at once with status N, or by SIGSEGV
    deaf              ignores SIGTERM
    orphans=N         leaves N orphans behind that end at once
    step              leaves a job step running, once
    forge             has a process that is not it announce itself as the main process
    fail-first        ends with status 1 the first time it is started
SIGHUP makes it hand over to a new process of itself, as Slurm does for a reconfigure.
"""
import json
import os
import signal
import socket
import sys
import time

WORDS = dict(word.partition("=")[::2] for word in os.environ.get("FAKE", "").split())
HARDWARE = "NodeName=n CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=32000\nUpTime=0-0\n"


def record(event, **fields):
    line = json.dumps({"event": event, "pid": os.getpid(), **fields}) + "\n"
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(line)


def notify(text):
    if path := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(path)
            sender.send(text.encode())


def in_orphan(body):
    """Runs body in a process whose parent has ended; returns its pid."""
    read, write = os.pipe()
    if os.fork() == 0:
        grandchild = os.fork()
        if grandchild == 0:
            body()
            os._exit(0)
        os.write(write, str(grandchild).encode())
        os._exit(0)
    pid = int(os.read(read, 20))
    os.wait()
    return pid


def times_started():
    with open(os.environ["FAKE_LOG"]) as log:
        return sum(json.loads(line)["event"] == "start" for line in log)


def hand_over(*_):
    # As in a real daemon, a request to stop does not come between the new process and its announcement.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    successor = in_orphan(serve)
    notify(f"READY=1\nMAINPID={successor}")
    record("handed over", to=successor)
    os._exit(0)


def stop(*_):
    record("signal", name="SIGTERM")
    if "deaf" not in WORDS:
        notify("STOPPING=1")
        os._exit(0)


def serve():
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGUSR2, lambda *_: record("signal", name="SIGUSR2"))
    signal.signal(signal.SIGHUP, hand_over)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    record("serving")
    while True:
        time.sleep(60)


def forge():
    notify(f"MAINPID={os.getpid()}")
    record("forged")
    time.sleep(60)


def main():
    if "-C" in sys.argv:
        record("hardware asked")
        sys.stdout.write(HARDWARE)
        return
    record("start", argv=sys.argv, socket=os.environ.get("NOTIFY_SOCKET"),
           blocked=sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    first = times_started() == 1
    for _ in range(int(WORDS.get("orphans", 0))):
        in_orphan(lambda: None)
    if "step" in WORDS and first:
        step = os.path.join(os.path.dirname(sys.argv[0]), "slurmstepd")
        pid = in_orphan(lambda: os.execv(step, [step, "60"]))
        while open(f"/proc/{pid}/comm").read() != "slurmstepd\n":
            pass
        record("step", step=pid)
    if "forge" in WORDS:
        in_orphan(forge)
    if "crash" in WORDS:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "exit" in WORDS:
        os._exit(int(WORDS["exit"]))
    if "fail-first" in WORDS and first:
        os._exit(1)
    notify(f"READY=1\nMAINPID={os.getpid()}")
    serve()


main()
