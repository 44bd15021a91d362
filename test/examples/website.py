"""The example operator, built as a stranger would build it, and running."""

import http.client
import json
import pathlib
import shutil
import signal
import subprocess
import time

from apiserver import clean_environment, free_ports

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "release"
FOLDER = REPOSITORY / "build" / "examples"
SECONDS = 20  # until what has been asked for is seen, at most


def stranger():
    """An environment that knows nothing of this repository."""
    leading = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "CMAKE_PREFIX_PATH", "CXXFLAGS", "LDFLAGS", "CXX", "CC")
    return {key: value for key, value in clean_environment().items() if key not in leading}


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), text=True, capture_output=True, env=stranger(), **options)
    assert done.returncode == 0, f"{' '.join(map(str, words))}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def install():
    """The runtime in a prefix that has been moved since it was installed."""
    first, prefix = FOLDER / "installed", FOLDER / "prefix"
    for folder in (first, prefix):
        shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "--install", BUILD, "--prefix", first, "--component", "runtime")
    first.rename(prefix)
    return prefix


def configure(prefix, compiler="clang++-19"):
    """Copies the example to where nothing else of the tree is, and configures it there."""
    source, build = FOLDER / "source", FOLDER / "build"
    for folder in (source, build):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(REPOSITORY / "examples" / "website", source)
    cache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    words = ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *cache]
    done = subprocess.run(list(map(str, words)), text=True, capture_output=True, env=stranger())
    return build, done


def kubeconfig_of_its_account(server, path):
    """The server, as the service account of examples/website/rbac.yaml."""
    server.kubectl("apply", "-f", REPOSITORY / "examples" / "website" / "rbac.yaml")
    account = "/api/v1/namespaces/default/serviceaccounts/website-operator"
    status, answer = server.request("POST", f"{account}/token", {"apiVersion": "authentication.k8s.io/v1",
                                                                "kind": "TokenRequest", "spec": {}})
    assert status == 201, answer
    config = json.loads(server.kubeconfig.read_text())
    config["users"] = [{"name": "admin", "user": {"token": answer["status"]["token"]}}]
    path.write_text(json.dumps(config))
    return path


class Operator:
    """website-operator, from the beginning of `with` to its end."""

    def __init__(self, program, kubeconfig, log, *flags):
        self._program, self._kubeconfig, self._log, self._flags = program, kubeconfig, log, flags

    def __enter__(self):
        self._health, = free_ports(1)
        log = open(self._log, "ab")
        self._process = subprocess.Popen([self._program, "--kubeconfig", self._kubeconfig, "--health-address",
                                          f"127.0.0.1:{self._health}", "--metrics-address", "0", *self._flags],
                                         stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment())
        log.close()
        try:
            until(self._ready, "the operator is ready")
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        """As a kubelet ends it, unless it was killed."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                assert self._process.wait(10) == 0, self._log.read_text()[-2000:]
            finally:
                self.kill()

    def kill(self):
        self._process.kill()
        self._process.wait()

    def _ready(self):
        assert self._process.poll() is None, self._log.read_text()[-2000:]
        connection = http.client.HTTPConnection("127.0.0.1", self._health, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def until(condition, what):
    """What `condition` gives, as soon as it gives something."""
    deadline = time.monotonic() + SECONDS
    while True:
        seen = condition()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"within {SECONDS} s it was not seen that {what}"
        time.sleep(0.02)


def writes(server):
    """(verb, resource, subresource, name) of each write of the operator to anything but its Lease, as audited."""
    found = []
    for line in server.audit.read_text().splitlines() if server.audit.exists() else []:
        entry = json.loads(line)
        reference = entry.get("objectRef", {})
        if entry["userAgent"].startswith("website-operator capstan/") and reference["resource"] != "leases":
            found.append((entry["verb"], reference["resource"], reference.get("subresource", ""), reference.get("name", "")))
    return found
