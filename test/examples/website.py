"""The example operator, built as a stranger would build it, and running."""

import base64
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
WEBSITE = REPOSITORY / "examples" / "website"
KITS = REPOSITORY / "test" / "examples" / "kits"  # a program that includes and links every test kit
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


def configure(prefix, project=WEBSITE, compiler="clang++-19"):
    """Copies the project to where nothing else of the tree is, and configures it there."""
    source, build = FOLDER / project.name / "source", FOLDER / project.name / "build"
    for folder in (source, build):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(project, source)
    cache = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={REPOSITORY}/dev/lib/ccache"] if shutil.which("ccache") else []
    words = ["cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
             f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *cache]
    done = subprocess.run(list(map(str, words)), text=True, capture_output=True, env=stranger())
    return build, done


def kubeconfig_of_its_account(server, path):
    """The server, as the service account of examples/website/rbac.yaml; each of the contexts "first", which is the
    current one, and "second" has a token of its own."""
    server.kubectl("apply", "-f", WEBSITE / "rbac.yaml")
    account = "/api/v1/namespaces/default/serviceaccounts/website-operator"
    config = json.loads(server.kubeconfig.read_text()) | {"current-context": "first", "users": [], "contexts": []}
    for name in ("first", "second"):
        status, answer = server.request("POST", f"{account}/token", {"apiVersion": "authentication.k8s.io/v1",
                                                                    "kind": "TokenRequest", "spec": {}})
        assert status == 201, answer
        config["users"].append({"name": name, "user": {"token": answer["status"]["token"]}})
        config["contexts"].append({"name": name, "context": {"cluster": "test", "user": name}})
    path.write_text(json.dumps(config))
    return path


def credential_of(kubeconfig, name):
    """By what the audit log knows the token of that user of the kubeconfig."""
    users = json.loads(kubeconfig.read_text())["users"]
    claims, = (each["user"]["token"].split(".")[1] for each in users if each["name"] == name)
    return "JTI=" + json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["jti"]


class Operator:
    """website-operator, from the beginning of `with` to its end."""

    def __init__(self, program, kubeconfig, log, *flags):
        self._program, self._kubeconfig, self._log, self._flags = program, kubeconfig, log, flags

    def __enter__(self):
        self._health, self._metrics = free_ports(2)
        log = open(self._log, "ab")
        self._process = subprocess.Popen([self._program, "--kubeconfig", self._kubeconfig, "--health-address",
                                          f"127.0.0.1:{self._health}", "--metrics-address",
                                          f"127.0.0.1:{self._metrics}", *self._flags],
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
            self.stop()

    def stop(self):
        self.signal(signal.SIGTERM)
        try:
            assert self._process.wait(10) == 0, self._log.read_text()[-2000:]
        finally:
            self.kill()

    def kill(self):
        self._process.kill()
        self._process.wait()

    def signal(self, number):
        self._process.send_signal(number)

    def status(self):
        """How it ended by itself."""
        return self._process.wait(SECONDS)

    def healthz(self):
        return get(self._health, "/healthz")

    def readyz(self):
        return get(self._health, "/readyz")

    def figures(self):
        """What /metrics says: {name and labels: number}."""
        status, text = get(self._metrics, "/metrics")
        assert status == 200
        samples = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in samples}

    def _ready(self):
        assert self._process.poll() is None, self._log.read_text()[-2000:]
        try:
            return self.readyz()[0] == 200
        except OSError:
            return False


def get(port, path):
    """(status, text)"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def until(condition, what, seconds=SECONDS):
    """What `condition` gives, as soon as it gives something."""
    deadline = time.monotonic() + seconds
    while True:
        seen = condition()
        if seen:
            return seen
        assert time.monotonic() < deadline, f"within {seconds} s it was not seen that {what}"
        time.sleep(0.02)


def audited(server):
    """Each write of an operator, as the API server has logged it."""
    lines = server.audit.read_text().splitlines() if server.audit.exists() else []
    return [entry for entry in map(json.loads, lines) if entry["userAgent"].startswith("website-operator capstan/")]


def writes(server):
    """(verb, resource, subresource, name) of each write of the operator to anything but its Lease, as audited."""
    references = [(entry["verb"], entry.get("objectRef", {})) for entry in audited(server)]
    return [(verb, reference["resource"], reference.get("subresource", ""), reference.get("name", ""))
            for verb, reference in references if reference["resource"] != "leases"]


def moments_of_writes(server, credential):
    """When the writes with that credential reached the API server, those to the Lease included; comparable texts."""
    key = "authentication.kubernetes.io/credential-id"
    return [entry["requestReceivedTimestamp"] for entry in audited(server) if entry["user"]["extra"][key] == [credential]]
