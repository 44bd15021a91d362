"""A real etcd and kube-apiserver on loopback, for tests that need no kubelet.

    with ApiServer() as server:                      # in pytest: the fixture `apiserver` of conftest.py
        server.kubectl("get", "namespaces")
        status, body = server.request("GET", "/api/v1/namespaces")

    python3 test/kube/apiserver.py                   # prints the path of a kubeconfig, serves until standard input ends
    python3 test/kube/apiserver.py -- build/x_test   # runs that with KUBECONFIG set, and ends with its status

Everything lives in one temporary folder that is removed at the end. Ports are free ones; certificates are made here and
good for a day; the client is in system:masters. There is no controller-manager: nothing collects garbage, no namespace
goes away, no service account appears (its admission is off, so that pods can be created). The programs come from
build/tools, or from the folder CAPSTAN_TOOLS names. The servers die with the process that started them.
"""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))  # also without pytest

from patience import patient  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("CAPSTAN_TOOLS", REPOSITORY / "build" / "tools"))
IDLE_SECONDS = 20   # that a connection is kept for
START_SECONDS = 30  # at most; about 5 on an idle machine
PR_SET_PDEATHSIG = 1


def clean_environment():
    """The caller's, without what would lead somewhere else."""
    leading = ("KUBECONFIG", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    return {key: value for key, value in os.environ.items() if key.upper() not in leading}


def free_ports(count):
    """Ports that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class ApiServer:
    def __init__(self, flags=(), folder=None):
        """`flags` are further ones for kube-apiserver."""
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="capstan-apiserver-"))
        self.kubeconfig = self.folder / "kubeconfig"
        self._flags = list(flags)
        self._processes = []
        self._connection = None
        self._used = 0

    # --- Life ---------------------------------------------------------------------------------------------------------

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for tool in ("etcd", "kube-apiserver", "kubectl"):
            if not (TOOLS / tool).exists():
                raise RuntimeError(f"{TOOLS / tool} is not there; dev/tools builds it")
        self._make_certificates()
        self.port, client_port, peer_port = free_ports(3)
        self._start_etcd(client_port, peer_port)
        self._start_server(client_port)
        self._write_kubeconfig()
        self._wait_until_ready()

    def stop(self):
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes = []
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- Use ----------------------------------------------------------------------------------------------------------

    def kubectl(self, *arguments, stdin=None, check=True):
        """Its standard output; with check=False the CompletedProcess."""
        done = subprocess.run([TOOLS / "kubectl", "--kubeconfig", self.kubeconfig, *arguments], input=stdin, text=True,
                              capture_output=True, timeout=60, env=clean_environment() | {"HOME": str(self.folder)})
        if not check:
            return done
        if done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def await_definitions(self):
        """Until all custom resource definitions are served. kubectl fails at once on one that has no conditions yet."""
        deadline = time.monotonic() + patient(30)
        while True:
            done = self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s", check=False)
            if done.returncode == 0:
                return
            assert "accessor error" in done.stderr and time.monotonic() < deadline, done.stderr
            time.sleep(0.1)

    def pid(self, name):
        """Of "etcd" or "kube-apiserver"."""
        return next(process.pid for process in self._processes if pathlib.Path(process.args[0]).name == name)

    def request(self, method, path, body=None, content_type="application/json", user=None):
        """(status, decoded body) of one request, by the administrator or, in his place, another user."""
        if time.monotonic() - self._used > IDLE_SECONDS:
            self._close()  # the server may have closed its end
        self._used = time.monotonic()
        if self._connection is None:
            context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
            context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
            self._connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=30)
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        try:
            headers = {"Content-Type": content_type, "User-Agent": "capstan-test"}
            if user:
                headers |= {"Impersonate-User": user, "Impersonate-Group": "system:masters"}
            self._connection.request(method, path, text, headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        except BaseException:
            self._close()
            raise

    def _close(self):
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    # --- Parts --------------------------------------------------------------------------------------------------------

    def _openssl(self, *arguments):
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True, timeout=30)

    def _make_certificates(self):
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        self._openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "1", "-subj", "/CN=test-ca")
        names = "subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1"
        for name, subject in (("server", "/CN=kube-apiserver"), ("admin", "/O=system:masters/CN=admin")):
            self._openssl("req", "-x509", *key, "-CA", "ca.crt", "-CAkey", "ca.key", "-keyout", f"{name}.key",
                          "-out", f"{name}.crt", "-days", "1", "-subj", subject, "-addext", names,
                          "-addext", "basicConstraints=critical,CA:FALSE",
                          "-addext", "extendedKeyUsage=serverAuth,clientAuth")
        self._openssl("genrsa", "-out", "sa.key", "2048")
        self._openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")

    def _spawn(self, name, *arguments):
        log = open(self.folder / f"{name}.log", "wb")
        self._processes.append(subprocess.Popen([TOOLS / name, *arguments], stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL, cwd=self.folder, env=clean_environment(),
                                                preexec_fn=die_with_parent))
        log.close()

    def _start_etcd(self, client_port, peer_port):
        self._etcd = f"http://127.0.0.1:{client_port}"
        peer = f"http://127.0.0.1:{peer_port}"
        self._spawn("etcd", "--data-dir", "etcd", "--unsafe-no-fsync", "--log-level", "warn",
                    "--listen-client-urls", self._etcd, "--advertise-client-urls", self._etcd,
                    "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                    "--initial-cluster", f"default={peer}")

    def _start_server(self, etcd_port):
        self._spawn("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd_port}", "--bind-address=127.0.0.1",
                    "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", f"--secure-port={self.port}",
                    "--service-cluster-ip-range=10.96.0.0/16", "--tls-cert-file=server.crt",
                    "--tls-private-key-file=server.key", "--client-ca-file=ca.crt",
                    "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
                    "--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
                    "--allow-privileged=true", "--disable-admission-plugins=ServiceAccount", *self._flags)

    def _write_kubeconfig(self):
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                      "certificate-authority": str(self.folder / "ca.crt")}}],
            "users": [{"name": "admin", "user": {"client-certificate": str(self.folder / "admin.crt"),
                                                 "client-key": str(self.folder / "admin.key")}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }, indent=2))

    def _wait_until_ready(self):
        deadline = time.monotonic() + patient(START_SECONDS)
        while time.monotonic() < deadline:
            for process in self._processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{process.args[0]} ended: {self._tail(pathlib.Path(process.args[0]).name)}")
            try:
                # The namespace appears last; readyz is text, not JSON.
                if self.request("GET", "/api/v1/namespaces/default")[0] == 200:
                    return
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(0.1)
        raise RuntimeError(f"the API server was not ready within {START_SECONDS} s: {self._tail('kube-apiserver')}")

    def _tail(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]


def main(arguments):
    # A signal must end the servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ApiServer() as server:
        if arguments[:1] == ["--"]:
            environment = clean_environment() | {"KUBECONFIG": str(server.kubeconfig)}
            return subprocess.run(arguments[1:], env=environment).returncode
        print(server.kubeconfig, flush=True)
        sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
