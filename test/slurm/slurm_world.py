"""Inside run-slurm's namespaces: the machines, their network, the Slurm daemons, and the command under test.

One bridge, 192.0.2.0/24 (a range reserved for documentation, which nobody routes): the controller's machine ("ctl",
192.0.2.1) shares this process's network namespace, every node (w-0 is 192.0.2.10) has a network, mount and UTS
namespace of its own. Each machine's root is an overlay over the one read-only root file system, in memory.
"""
import os
import secrets
import signal
import socket
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))  # also without pytest

from patience import patient  # noqa: E402
from processes import Failed, Processes  # noqa: E402

CONTROLLER = "192.0.2.1"
OUTSIDE = ("198.51.100.1", "2001:db8::1")
HOLDER_ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

CONF = """\
ClusterName=test
SlurmctldHost=ctl(192.0.2.1)
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
SlurmctldParameters=enable_configless,reconfig_on_restart
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
MaxNodeCount=1024
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
NodeSet=workers Feature=workers
PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED State=UP
Licenses=matlab:5
"""


class Machine:
    """A host name, an address, a root file system, and how a command is run there."""

    def __init__(self, world, name, address):
        self.world, self.name, self.address = world, name, address
        self.root = f"{world.dir}/machines/{name}"
        self.enter = []            # command prefix that enters its namespaces

    def mount_root(self):
        world = self.world
        upper, work = f"{world.memory}/{self.name}/upper", f"{world.memory}/{self.name}/work"
        for path in (upper, work, self.root):
            os.makedirs(path, exist_ok=True)
        must = world.processes.must
        must("mount", "-t", "overlay", "-o", f"lowerdir={world.options.root},upperdir={upper},workdir={work}",
             "overlay", self.root)
        must("mount", "-t", "proc", "proc", self.root + "/proc")
        must("mount", "--rbind", "/dev", self.root + "/dev")
        must("mount", "--rbind", "/sys", self.root + "/sys")
        os.makedirs(self.root + "/shared", exist_ok=True)
        must("mount", "--bind", world.shared, self.root + "/shared")
        self.write("/etc/hosts", world.hosts())
        self.write("/etc/hostname", self.name + "\n")
        for path, owner in (("/etc/slurm", 401), ("/run/slurm", 0), ("/run/slurmctld", 401),
                            ("/var/spool/slurmctld", 401), ("/var/spool/slurmd", 0), ("/home/ann", 1000)):
            os.makedirs(self.root + path, exist_ok=True)
            os.chown(self.root + path, owner, owner)
        for path, line in (("/etc/passwd", "ann:x:1000:1000::/home/ann:/bin/sh\n"), ("/etc/group", "ann:x:1000:\n")):
            with open(self.root + path, "a") as file:
                file.write(line)

    def write(self, path, data, mode=0o644, owner=0):
        data = data.encode() if isinstance(data, str) else data
        with open(self.root + path, "wb") as file:
            file.write(data)
        os.chmod(self.root + path, mode)
        os.chown(self.root + path, owner, owner)

    def command(self, argv, user="0:0"):
        return [*self.enter, "chroot", "--userspec", user, "--groups", user.split(":")[1], self.root, *argv]


class Daemon:
    """One Slurm daemon on one machine: its argv, and its process while it runs."""

    def __init__(self, name, machine, argv, user="0:0", env=None):
        self.name, self.machine, self.argv, self.user = name, machine, argv, user
        self.env = {**HOLDER_ENV, **(env or {})}
        self.log = f"{machine.world.dir}/log/{name}.log"
        self.pid = None

    def start(self):
        processes = self.machine.world.processes
        if self.pid and processes.poll(self.pid) is None:
            return
        self.pid = processes.spawn(self.machine.command(self.argv, self.user), log=self.log, env=self.env)

    def stop(self, number=signal.SIGTERM):
        if self.pid:
            self.machine.world.processes.end(self.pid, number)
            self.pid = None


class World:
    def __init__(self, options):
        self.options, self.dir = options, options.dir
        self.processes = Processes()
        self.memory, self.shared = self.dir + "/memory", self.dir + "/shared"
        self.controller = Machine(self, "ctl", CONTROLLER)
        self.nodes = [Machine(self, f"w-{i}", f"192.0.2.{10 + i}") for i in range(options.nodes)]
        self.daemons = {}

    def hosts(self):
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        return "".join(line + "\n" for line in lines + [f"{m.address} {m.name}" for m in [self.controller, *self.nodes]])

    # -- making it ---------------------------------------------------------------------------------------------
    def build(self):
        self._file_systems()
        self._controller_network()
        for node in self.nodes:
            self._node_namespaces(node)
        self._refuse_routes()
        self.controller.mount_root()
        for node in self.nodes:
            node.mount_root()
        self._configuration()
        self._programs()

    def _file_systems(self):
        must = self.processes.must
        must("mount", "--make-rprivate", "/")
        must("mount", "-t", "proc", "proc", "/proc")
        must("mount", "-t", "sysfs", "-o", "ro", "sysfs", "/sys")
        for name in ("memory", "shared", "log", "bin", "keys", "machines"):
            os.makedirs(f"{self.dir}/{name}", exist_ok=True)
        os.chmod(self.shared, 0o1777)
        must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.memory)
        # The command under test resolves names as the machines do, and asks no resolver of the machine's.
        for path, text in (("/etc/hosts", self.hosts()), ("/etc/resolv.conf", "")):
            copy = self.memory + "/" + os.path.basename(path)
            with open(copy, "w") as file:
                file.write(text)
            if os.path.exists(path):
                must("mount", "--bind", copy, path)

    def _controller_network(self):
        socket.sethostname("ctl")
        must = self.processes.must
        must("ip", "link", "set", "lo", "up")
        must("ip", "link", "add", "br0", "type", "bridge")
        must("ip", "addr", "add", CONTROLLER + "/24", "dev", "br0")
        must("ip", "link", "set", "br0", "up")

    def _node_namespaces(self, node):
        holder = self.processes.spawn(["unshare", "--net", "--uts", "sh", "-c", f"hostname {node.name}; exec sleep infinity"],
                                      env=HOLDER_ENV)
        self.await_that(lambda: _comm(holder) == "sleep", 10, f"the namespaces of {node.name} were not made")
        node.enter = ["nsenter", "-t", str(holder), "-n", "-u", "--"]
        index = self.nodes.index(node)
        must = self.processes.must
        must("ip", "link", "add", f"v{index}", "type", "veth", "peer", "name", "eth0", "netns", str(holder))
        must("ip", "link", "set", f"v{index}", "master", "br0", "up")
        for command in ("ip link set lo up", f"ip addr add {node.address}/24 dev eth0", "ip link set eth0 up"):
            must(*node.enter, *command.split())

    def _refuse_routes(self):
        for machine in [self.controller, *self.nodes]:
            for address in OUTSIDE:
                if self.processes.run([*machine.enter, "ip", "route", "get", address], log="/dev/null") == 0:
                    raise Failed(f"{machine.name} has a route to {address}, which leads out of this machine; not starting")

    def _configuration(self):
        keys = {name: secrets.token_bytes(size) for name, size in (("slurm.key", 1024), ("jwt.key", 32))}
        for name, data in keys.items():
            self.controller.write("/etc/slurm/" + name, data, 0o600, 401)
            with open(os.open(f"{self.dir}/keys/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
        self.controller.write("/etc/slurm/slurm.conf", CONF + "".join(line + "\n" for line in self.options.conf))
        self.controller.write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")
        for node in self.nodes:
            node.write("/etc/slurm/slurm.key", keys["slurm.key"], 0o600, 401)

    def _programs(self):
        control = os.path.join(os.path.dirname(os.path.realpath(__file__)), "control.py")
        machines = {m.name: " ".join(m.command([])) for m in [self.controller, *self.nodes]}
        cases = "".join(f"  {name}) shift; exec {command} \"$@\" ;;\n" for name, command in machines.items())
        self._script("slurm-exec", f'exec {machines["ctl"]} "$@"\n')
        self._script("slurm-exec-on", f'case $1 in\n{cases}esac\necho "no machine called $1" >&2\nexit 2\n')
        self._script("slurm-control", f'exec python3 -B {control} {self.dir}/control "$@"\n')

    def _script(self, name, text):
        path = f"{self.dir}/bin/{name}"
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    # -- daemons -----------------------------------------------------------------------------------------------
    def start(self):
        deadline = time.monotonic() + patient(self.options.timeout)
        self._describe_daemons()
        self.daemons["slurmctld"].start()
        self._await_up("slurmctld", deadline, lambda: self.answers("scontrol", "ping"))
        for daemon in self.daemons.values():
            daemon.start()
        self._await_up("slurmrestd", deadline, lambda: _connects(CONTROLLER, 6820))
        for node in self.nodes:
            self._await_up(node.name, deadline, lambda: self.node_state(node.name) == "idle")

    def _describe_daemons(self):
        entry = self._entry_prefix
        self._add(Daemon("slurmctld", self.controller, entry("slurmctld", "-D"), "401:401"))
        self._add(Daemon("slurmrestd", self.controller, entry("slurmrestd", "-s", "openapi/slurmctld", "0.0.0.0:6820"),
                         "65534:65534", {"SLURM_JWT": "daemon",
                                         "SLURMRESTD_SECURITY": "disable_unshare_files,disable_unshare_sysv"}))
        items = " ".join(["Features=workers", *self.options.node_conf])
        environment = dict(variable.split("=", 1) for variable in self.options.node_env)
        for node in self.nodes:
            self._add(Daemon(node.name, node, entry("slurmd", "-D", "-Z", "--conf-server", "ctl:6817", "--conf", items),
                             env=environment))

    def _entry_prefix(self, role, *arguments):
        """The command of a daemon: itself in the foreground, or capstan-entry, which adds what it needs itself."""
        if not self.options.entry:
            return ["/usr/sbin/" + role, *arguments]
        return ["/usr/local/bin/capstan-entry", role, *(a for a in arguments if a != "-D")]

    def _add(self, daemon):
        if self.options.entry:
            with open(self.options.entry, "rb") as file:
                daemon.machine.write("/usr/local/bin/capstan-entry", file.read(), 0o755)
        self.daemons[daemon.name] = daemon

    def answers(self, *argv):
        return self.processes.run(self.controller.command(list(argv)), log=self.dir + "/log/answers.log",
                                  env=HOLDER_ENV) == 0

    def node_state(self, name):
        """sinfo's compact state of a node; "" when there is none."""
        output = f"{self.dir}/log/sinfo.out"
        if os.path.exists(output):
            os.unlink(output)
        self.processes.run(self.controller.command(["sinfo", "-h", "-n", name, "-o", "%T"]), log=output, env=HOLDER_ENV)
        with open(output) as file:
            return file.read().strip()

    def _await_up(self, name, deadline, is_up):
        daemon = self.daemons[name]

        def alive_and_up():
            if self.processes.poll(daemon.pid) is not None:
                raise Failed(f"{name} ended with status {self.processes.poll(daemon.pid)}:\n{_tail(daemon.log)}")
            return is_up()
        self.await_that(alive_and_up, deadline - time.monotonic(), f"{name} is not up after {self.options.timeout} s",
                        daemon.log)

    @staticmethod
    def await_that(condition, seconds, complaint, log=None):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise Failed(complaint + (":\n" + _tail(log) if log else ""))
            time.sleep(0.02)

    # -- the outside's view ------------------------------------------------------------------------------------
    def environment(self):
        return {"SLURMRESTD_URL": f"http://{CONTROLLER}:6820", "SLURM_JWT_KEY_FILE": self.dir + "/keys/jwt.key",
                "SLURM_CONF_FILE": self.controller.root + "/etc/slurm/slurm.conf", "SLURM_ROOT": self.controller.root,
                "SLURM_SHARED": self.shared, "SLURM_EXEC": self.dir + "/bin/slurm-exec",
                "SLURM_EXEC_ON": self.dir + "/bin/slurm-exec-on", "SLURM_CONTROL": self.dir + "/bin/slurm-control",
                "SLURM_NODES": " ".join(node.name for node in self.nodes)}

    def serve_control(self):
        """Obeys $SLURM_CONTROL: one line in, one line out, a connection each."""
        path = self.dir + "/control"
        if os.path.exists(path):
            os.unlink(path)
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen()

        def serve():
            while True:
                connection, _ = server.accept()
                with connection, connection.makefile("rw") as stream:
                    stream.write(self.obey(stream.readline().split()) + "\n")
        threading.Thread(target=serve, daemon=True).start()

    def obey(self, words):
        try:
            if words == ["reconfigure"]:
                return "ok" if self.answers("scontrol", "reconfigure") else "error scontrol reconfigure failed"
            if len(words) != 2 or words[1] not in self.daemons:
                return "error usage: stop|kill|start|restart|pid NAME, or reconfigure; names: " + " ".join(self.daemons)
            verb, daemon = words[0], self.daemons[words[1]]
            if verb == "pid":
                return f"ok {daemon.pid or 0}"
            if verb not in ("stop", "kill", "start", "restart"):
                return f"error no such verb: {verb}"
            if verb != "start":
                daemon.stop(signal.SIGKILL if verb == "kill" else signal.SIGTERM)
            if verb in ("start", "restart"):
                daemon.start()
            return "ok"
        except Failed as error:
            return f"error {error}"


def _comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def _connects(address, port):
    try:
        socket.create_connection((address, port), 1).close()
        return True
    except OSError:
        return False


def _tail(path):
    try:
        with open(path) as file:
            return "".join(file.readlines()[-15:])
    except OSError:
        return "(no log)"


def _await_stdin_or_term(terminated):
    def watch():
        while sys.stdin.buffer.read(4096):
            pass
        terminated.set()
    threading.Thread(target=watch, daemon=True).start()
    terminated.wait()


def run_as_init(options):
    """PID 1. Returns the exit status: the command's, 0 after a plain end, 3 when Slurm did not come up."""
    terminated = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    world = World(options)
    try:
        world.build()
        world.start()
        world.serve_control()
        # Nothing is stopped: with this process the kernel ends all others, without waiting for each other.
        return _serve(world, options, terminated)
    except Failed as error:
        print(f"run-slurm: {error}", file=sys.stderr)
        return 3


def _serve(world, options, terminated):
    if not options.command:
        for key, value in world.environment().items():
            print(f"{key}={value}")
        print(f"READY {world.dir}", flush=True)
        _await_stdin_or_term(terminated)
        return 0
    pid = world.processes.spawn(options.command, env={**os.environ, **world.environment()}, stdin=True)
    while (status := world.processes.wait(pid, 0.2)) is None:
        if terminated.is_set():
            return 128 - world.processes.end(pid)
    return status if status >= 0 else 128 - status
