"""capstan-entry as a process: signals, handing over, reaping, exit status, with daemons that are fakes."""
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

HERE = os.path.dirname(os.path.realpath(__file__))
ENTRY = os.path.join(HERE, "../../build/release/bin/capstan-entry")


class Container:
    """One run of capstan-entry with a fake daemon."""

    def __init__(self, folder, prefix=()):
        self.folder, self.prefix = str(folder), list(prefix)
        self.log = self.folder + "/log"
        self.state = self.folder + "/state"
        self.process = None
        os.makedirs(self.state, mode=0o755)
        os.makedirs(self.folder + "/sbin")
        for name in ("slurmctld", "slurmd", "slurmrestd", "slurmdbd"):
            fake = f"{self.folder}/sbin/{name}"
            with open(HERE + "/fake_daemon.py") as source, open(fake, "w") as target:
                target.write(source.read().replace("/usr/bin/env python3", sys.executable, 1))
            os.chmod(fake, 0o755)
        shutil.copy("/bin/sleep", self.folder + "/sbin/slurmstepd")

    def run(self, *arguments, fake="", **environment):
        environment = {"PATH": self.folder + "/sbin:/usr/bin:/bin", "FAKE_LOG": self.log, "FAKE": fake,
                       "CAPSTAN_ENTRY_FOLDER": self.state, **environment}
        self.process = subprocess.Popen([*self.prefix, ENTRY, *arguments], env=environment, text=True,
                                        stdout=subprocess.DEVNULL, stderr=open(self.folder + "/stderr", "w"))
        return self

    def events(self, name=None):
        try:
            with open(self.log) as log:
                events = [json.loads(line) for line in log if line.endswith("\n")]
        except FileNotFoundError:
            return []
        return [e for e in events if name in (None, e["event"])]

    def await_events(self, name, count=1):
        self.await_that(lambda: len(self.events(name)) >= count, f"{count} times '{name}'")
        return self.events(name)

    def await_that(self, condition, what):
        deadline = time.monotonic() + 15
        while not condition():
            assert time.monotonic() < deadline, f"no {what}; events: {self.events()}; it said: {self.said()}"
            time.sleep(0.005)

    def started(self):
        """Waits until the daemon runs and was believed to be ready."""
        self.await_events("serving")
        self.await_that(lambda: os.path.exists(self.state + "/ready"), "ready file")
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """The exit status, 128 + n for signal n."""
        status = self.process.wait(15)
        return status if status >= 0 else 128 - status

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.end()

    def said(self):
        with open(self.folder + "/stderr") as file:
            return file.read()

    def children(self):
        """[(pid, state)] of capstan-entry's children."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            pids = [int(pid) for pid in file.read().split()]
        return [(pid, state(pid)) for pid in pids]


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "gone"


@pytest.fixture
def container(tmp_path):
    made = Container(tmp_path)
    yield made
    if made.process:
        made.process.kill()
        made.process.wait()
        for event in made.events():
            for pid in [event["pid"], event.get("step"), event.get("to")]:
                if pid and state(pid) not in ("gone", "Z"):
                    os.kill(pid, signal.SIGKILL)


def test_starts_the_daemon_with_its_options_and_a_clean_signal_mask(container):
    container.run("slurmctld", "-i", SLURMCTLD_OPTIONS="-v -f '/a b'").started()
    start = container.events("start")[0]
    assert start["argv"][1:] == ["--systemd", "-v", "-f", "/a b", "-i"]
    assert start["socket"] == container.state + "/notify"
    assert start["blocked"] == []
    assert container.stop() == 0


def test_sizes_the_node_from_one_look_at_the_hardware(container):
    container.run("slurmd", "-Z", "--conf", "Features=a Topology=", "-v", POD_CPUS="4", POD_MEMORY="8000",
                  SLINKY_TOPOLOGY="topo:x").started()
    assert container.events("start")[0]["argv"][1:] == [
        "--systemd", "-Z", "-v", "--conf", "Features=a CoreSpecCount=6 MemSpecLimit=24000 Topology=topo:x"]
    assert len(container.events("hardware asked")) == 1


def test_does_not_look_at_the_hardware_without_limits(container):
    container.run("slurmd", "-Z", "--conf", "Features=a", POD_CPUS="0").started()
    assert container.events("hardware asked") == []


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def identity(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/slurmd", timeout=5) as answer:
        return json.load(answer)


def test_slurmd_is_the_node_that_its_pod_is_known_by(container):
    port = free_port()
    container.run("slurmd", "-Z", "-N", "node1", fake="step", CAPSTAN_NODE_NAME="rack-0", SLURMD_OPTIONS="-vN node2",
                  CAPSTAN_IDENTITY_PORT=str(port)).started()
    assert container.events("start")[0]["argv"][1:] == ["--systemd", "-v", "-Z", "-N", "rack-0"]
    assert "-N node1 is left out" in container.said() and "-N node2 is left out" in container.said()
    assert identity(port) == {"node": "rack-0", "steps": True}


def test_another_name_is_told_where_nobody_says_which_is_right(container):
    port = free_port()
    container.run("slurmd", "-Z", "-N", "node1", CAPSTAN_IDENTITY_PORT=str(port)).started()
    assert container.events("start")[0]["argv"][1:] == ["--systemd", "-Z", "-N", "node1"]
    assert identity(port) == {"node": "node1", "steps": False}


def test_a_port_that_is_taken_stops_no_slurmd(container):
    with socket.socket() as other:
        other.bind(("0.0.0.0", 0))
        other.listen()
        container.run("slurmd", CAPSTAN_IDENTITY_PORT=str(other.getsockname()[1])).started()
    assert "nobody can ask what slurmd is called" in container.said()


def test_forwards_signals_to_the_daemon(container):
    container.run("slurmctld").started()
    container.signal(signal.SIGUSR2)
    assert container.await_events("signal")[0]["name"] == "SIGUSR2"
    assert container.stop() == 0
    assert [e["name"] for e in container.events("signal")] == ["SIGUSR2", "SIGTERM"]
    assert not os.path.exists(container.state + "/ready")


def test_follows_the_daemon_to_its_new_process(container):
    container.run("slurmctld").started()
    old = container.events("serving")[0]["pid"]
    for count in (2, 3, 4):
        container.signal(signal.SIGHUP)
        new = container.await_events("serving", count)[-1]["pid"]
        container.await_that(lambda: f"process {new} takes over" in container.said(), "take-over")
        container.await_that(lambda: state(old) == "gone", "end of the old process")
        old = new
    container.signal(signal.SIGUSR2)
    assert container.await_events("signal")[0]["pid"] == new
    assert container.process.poll() is None
    assert os.path.exists(container.state + "/ready")
    assert container.stop() == 0
    assert container.events("signal")[-1] == {"event": "signal", "pid": new, "name": "SIGTERM"}
    assert "ignored" not in container.said()


def test_stops_the_new_process_when_asked_to_stop_during_a_hand_over(container):
    container.run("slurmctld").started()
    container.signal(signal.SIGHUP)
    container.signal(signal.SIGTERM)
    assert container.end() == 0
    # The old process may still be on its last lines; it ends by itself.
    servers = [event["pid"] for event in container.events("serving")]
    container.await_that(lambda: all(state(pid) in ("gone", "Z") for pid in servers), "end of both processes")


@pytest.mark.parametrize("fake, status", [("exit=0", 0), ("exit=3", 3), ("crash", 128 + signal.SIGSEGV)])
def test_ends_with_the_daemons_status(container, fake, status):
    assert container.run("slurmd", fake=fake).end() == status


def test_kills_a_daemon_that_does_not_stop_in_time(container):
    container.run("slurmctld", fake="deaf", CAPSTAN_STOP_SECONDS="1").started()
    assert container.stop() == 128 + signal.SIGKILL
    assert "did not stop in time" in container.said()


def test_reaps_orphans(container):
    container.run("slurmctld", fake="orphans=20").started()
    daemon = container.events("start")[0]["pid"]
    container.await_that(lambda: container.children() == [(daemon, "S")], "reaping")


def test_believes_only_the_daemon_about_its_successor(container):
    container.run("slurmd", fake="forge").started()
    forger = container.await_events("forged")[0]["pid"]
    container.await_that(lambda: f"ignored a message from process {forger}" in container.said(), "refusal")
    container.signal(signal.SIGUSR2)
    assert container.await_events("signal")[0]["pid"] == container.events("start")[0]["pid"]
    os.kill(forger, signal.SIGKILL)
    assert container.stop() == 0


def test_starts_slurmd_again_while_job_steps_run(container):
    container.run("slurmd", fake="step fail-first").started()
    step = container.events("step")[0]["step"]
    assert len(container.events("start")) == 2
    assert "slurmd ended with status 1 while job steps are running" in container.said()
    assert state(step) == "S"
    assert container.stop() == 0


def test_does_not_start_slurmd_again_when_it_was_asked_to_stop(container):
    container.run("slurmd", fake="step").started()
    assert container.stop() == 0
    assert len(container.events("start")) == 1


def test_ends_when_stopped_while_it_waits_to_start_slurmd_again(container):
    container.run("slurmd", fake="step exit=5")
    container.await_that(lambda: "started again" in container.said(), "restart")
    assert container.stop() == 5


def test_ends_with_slurmd_when_no_job_steps_run(container):
    assert container.run("slurmd", fake="exit=5").end() == 5
    assert len(container.events("start")) == 1


def test_is_the_same_as_process_1(tmp_path):
    container = Container(tmp_path, prefix=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"])
    container.run("slurmd", fake="orphans=3").started()
    assert container.events("start")[0]["pid"] == 2
    entry = int(open(f"/proc/{container.process.pid}/task/{container.process.pid}/children").read())
    os.kill(entry, signal.SIGHUP)
    container.await_events("serving", 2)
    container.await_that(lambda: "takes over from 2" in container.said(), "take-over")
    os.kill(entry, signal.SIGTERM)
    assert container.end() == 0


@pytest.mark.parametrize("arguments, environment, complaint", [
    ([], {}, "usage: capstan-entry ROLE"),
    (["slurm"], {}, "unknown role 'slurm'; known roles: slurmctld, slurmd, slurmrestd, slurmdbd, sackd, login, sshd, sssd"),
    (["slurmd", "--conf"], {}, "--conf is the last argument; it needs a value"),
    (["slurmd"], {"POD_CPUS": "many"}, "POD_CPUS is 'many', must be a whole number"),
    (["slurmctld"], {"SLURMCTLD_OPTIONS": "'"}, "SLURMCTLD_OPTIONS: the quote ' is never closed"),
    (["slurmd"], {"CAPSTAN_BESIDE": "slurmctld"}, "CAPSTAN_BESIDE names 'slurmctld', must be of: sssd sshd"),
    (["drain-logins", "12h"], {}, "usage: capstan-entry drain-logins SECONDS, 1 to 2592000"),
    (["slurmctld"], {"CAPSTAN_STOP_SECONDS": "0"}, "CAPSTAN_STOP_SECONDS is '0', must be 1 to 86400"),
])
def test_says_what_is_wrong_with_its_input(container, arguments, environment, complaint):
    assert container.run(*arguments, **environment).end() == 64
    assert complaint in container.said()
    assert container.said().count("\n") == 1


# Of a daemon that is about to end with status 3.
ENDED_OR_STOPPED = (3, 128 + signal.SIGTERM)


def test_waits_with_a_slurmctld_that_does_not_start(container):
    port = free_port()
    conf = container.folder + "/etc/slurm.conf"
    os.makedirs(os.path.dirname(conf))
    with open(conf, "w") as file:
        file.write(f"ClusterName=a\nSlurmctldPort={port}\nStateSaveLocation={container.folder}\n")
    os.symlink("/bin/false", container.folder + "/sbin/scontrol")
    asked = free_port()
    container.run("slurmctld", fake="exit=3", SLURM_CONF=conf, CAPSTAN_CONFIGURATION_PORT=str(asked))
    container.await_that(lambda: "it ended with status 3 and said nothing" in container.said(), "complaint")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5)
    with urllib.request.urlopen(f"http://127.0.0.1:{asked}/configuration", timeout=5) as answer:
        told = json.load(answer)
    assert not told["runs"] and "it ended with status 3" in told["refused"]["message"]
    assert len(container.events("start")) == 1 and not os.path.exists(container.state + "/ready")
    with open(conf, "a") as file:
        file.write("MaxNodeCount=1\n")
    container.await_events("start", 2)
    assert container.stop() in ENDED_OR_STOPPED


@pytest.mark.parametrize("daemon", ["slurmdbd", "slurmrestd"])
def test_waits_with_a_daemon_that_does_not_start(container, daemon):
    port, own = free_port(), free_port()
    os.makedirs(container.folder + "/etc")
    container.run(daemon, f"0.0.0.0:{own}", fake="exit=3", SLURM_CONF=container.folder + "/etc/slurm.conf",
                  CAPSTAN_CONFIGURATION_PORT=str(port))
    container.await_that(lambda: f"{daemon} does not start: it ended with status 3" in container.said(), "complaint")
    told = {"message": f"{daemon} does not start: it ended with status 3 and said nothing"}
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/start", timeout=5) as answer:
        assert json.load(answer) == told
    with pytest.raises(urllib.error.HTTPError, match="503"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5)
    if daemon == "slurmrestd":
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{own}/slurm/v0.0.44/ping", timeout=5)
        assert json.load(refused.value) == told
    assert len(container.events("start")) == 1
    with open(f"{container.folder}/etc/{daemon}.conf", "w") as file:
        file.write("DbdHost=mended\n")
    container.await_events("start", 2)
    assert container.stop() in ENDED_OR_STOPPED


class ReadySlurmctld(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("fake, status, said", [("exit=3", 1, "slurmrestd does not start\n"), ("", 0, "")])
def test_the_probe_of_slurmrestd_sees_whether_its_container_waits(container, fake, status, said):
    """The probe of the Deployment, as unit tests pin it, beside a slurmctld that is ready."""
    with open(os.path.join(HERE, "../../src/operator/restapi/testdata/default-Deployment.json")) as file:
        pinned = json.load(file)["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]["exec"]["command"]
    port = free_port()
    container.run("slurmrestd", f"0.0.0.0:{free_port()}", fake=fake, SLURM_CONF=container.folder + "/slurm.conf",
                  CAPSTAN_CONFIGURATION_PORT=str(port))
    if fake:
        container.await_that(lambda: "slurmrestd does not start" in container.said(), "complaint")
    else:
        container.await_events("serving")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ReadySlurmctld) as slurmctld:
        threading.Thread(target=slurmctld.serve_forever, daemon=True).start()
        with open(container.folder + "/slurm.conf", "w") as conf:
            conf.write(f"SlurmctldHost=here(127.0.0.1)\nSlurmctldPort={slurmctld.server_address[1]}\n")
        script = pinned[-1].replace("/etc/slurm/", container.folder + "/").replace("127.0.0.1/6815", f"127.0.0.1/{port}")
        probe = subprocess.run([*pinned[:-1], script], capture_output=True, text=True, timeout=10)
        slurmctld.shutdown()
    assert (probe.returncode, probe.stdout) == (status, said), probe.stderr
    container.stop()


def test_says_when_there_is_no_daemon(container):
    assert container.run("slurmd", PATH="/nonexistent").end() == 1
    assert "no program 'slurmd'" in container.said()
