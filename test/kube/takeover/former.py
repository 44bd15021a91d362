"""What the Slinky projects' operator leaves in a namespace, release 1.2.1 or later (LATER), for tests of taking over.

    cluster = Former(kubectl, "slurm", release=LATER, images={"slurmctld": "...", ...})
    cluster.create(workers=2)      # custom resources, and every object as that operator writes it
    cluster.create(workers=2, people=True)      # with an Accounting, a LoginSet and a Token, too

`kubectl` is called with arguments, and `stdin`; it returns what it printed. Everything of that operator is written by the
field manager `manager`, with Update, as its client does. Custom resources and keys are the user's.
"""

import base64
import copy
import hashlib
import hmac
import json
import subprocess
import tempfile
import time

OLD = "1.2.1"
LATER = "later"
MANAGER = "manager"
GROUP = "slinky.slurm.net/v1beta1"
HASH = "6b8fbd5c4f"  # of the workers, computed in that operator's way
PREFIX = "nodeset.slinky.slurm.net/"
NOTHING_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
LOGFILE = """#!/usr/bin/env sh
trap 'exit 0' TERM
mkdir -p "$(dirname "$SOCKET")"
if ! [ -p "$SOCKET" ]; then rm -f "$SOCKET"; mkfifo -m 777 "$SOCKET"; fi
while true; do cat "$SOCKET"; sleep 1; done
"""


def selector(app, instance):
    return {"app.kubernetes.io/name": app, "app.kubernetes.io/instance": instance}


def secret_file(name, key, path):
    return {"secret": {"name": name, "items": [{"key": key, "path": path}]}}


def http_probe(path, port, **more):
    return {"httpGet": {"path": path, "port": port}, **more}


KEY = bytes(range(64))  # Slurm's, and the one that signs tokens
SSSD_CONF = "[sssd]\nservices = nss, pam\ndomains = DEFAULT\n\n[domain/DEFAULT]\nid_provider = ldap\n"


def encoded(data):
    """The data of a Secret."""
    return {"data": {key: base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()
                     for key, text in data.items()}}


def ssh_host_keys():
    """As that operator makes them: OpenSSH's form, without a passphrase."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("rsa", "ecdsa", "ed25519"):
            name = f"ssh_host_{kind}_key"
            subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", f"{folder}/{name}"], check=True)
            for file in (name, name + ".pub"):
                with open(f"{folder}/{file}", encoding="ascii") as text:
                    files[file] = text.read()
    return files


def token(user, lifetime):
    """A JWT as that operator signs it."""
    now = int(time.time())
    parts = ({"alg": "HS256", "typ": "JWT"}, {"jti": "00000000-0000-4000-8000-000000000000", "iss": "slurm-operator", "iat": now,
                                              "nbf": now, "exp": now + lifetime, "sun": user})
    urlsafe = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
    said = b".".join(urlsafe(json.dumps(part).encode()) for part in parts)
    return (said + b"." + urlsafe(hmac.new(KEY, said, hashlib.sha256).digest())).decode()


PATIENT = {"failureThreshold": 6, "periodSeconds": 10}


# For machines that do not offer cgroup v2 to containers.
WITHOUT_CGROUPS = ("ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none")


class Former:
    def __init__(self, kubectl, namespace, release, images, cgroups=True):
        self.cgroups = cgroups
        self.kubectl = kubectl
        self.namespace = namespace
        self.old = release == OLD
        self.people = False
        self.images = images
        self.uids = {}

    # --- what the user wrote ------------------------------------------------------------------------------------------
    def create_resources(self, workers, controller=None, node_set=None):
        """`controller` and `node_set`: further members of their specs."""
        for name in ("slurm", "jwt"):
            made = self._write("helm", "v1", "Secret", f"main-auth-{name}", encoded({f"{name}.key": KEY}))
            self.uids["Secret"] = made["metadata"]["uid"]  # the one that signs tokens, at last
        image = {name: {"image": text} for name, text in self.images.items()}
        if not self.cgroups:
            self._write("helm", "v1", "ConfigMap", "main-files", {"data": {"cgroup.conf": "CgroupPlugin=disabled\n"}})
            controller = {"extraConf": "\n".join(WITHOUT_CGROUPS), "configFileRefs": [{"name": "main-files"}],
                          **(controller or {})}
        self._user("Controller", "main", {
            "clusterName": "former",
            "slurmKeyRef": {"name": "main-auth-slurm", "key": "slurm.key"},
            "jwtKeyRef": {"name": "main-auth-jwt", "key": "jwt.key"}, "slurmctld": image["slurmctld"],
            "logfile": image["slurmctld"],
            "persistence": {"enabled": True, "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "4Gi"}}}} | (controller or {}))
        self._user("RestApi", "main", {"controllerRef": {"name": "main"}, "replicas": 1,
                                       "slurmrestd": image["slurmrestd"]})
        self._user("NodeSet", "main-worker", {"controllerRef": {"name": "main"}, "replicas": workers,
                                              "slurmd": image["slurmd"], "logfile": image["slurmd"],
                                              "partition": {"enabled": True, "config": "State=UP Default=YES"}} | (node_set or {}))

    def _user(self, kind, name, spec):
        self.uids[kind] = self._write("helm", GROUP, kind, name, {"spec": spec})["metadata"]["uid"]

    # --- what the operator made of it ---------------------------------------------------------------------------------
    def create(self, workers, controller=None, node_set=None, people=False):
        self.people = people
        if people:
            controller = {"accountingRef": {"name": "main"}} | (controller or {})
        self.create_resources(workers, controller, node_set)
        if people:
            self.create_accounting()
            self.create_logins()
            self.create_token()
        self.create_shared()
        self.create_config()
        self.create_slurmctld()
        self.create_slurmrestd()
        for ordinal in range(workers):
            self._own("v1", "Pod", f"main-worker-{ordinal}", "NodeSet", **self.worker(ordinal))
        self.create_revision()

    def create_shared(self):
        """Owned by all NodeSets, controlled by nobody, labelled with nothing."""
        owner = self._owner("NodeSet", controller=False)
        workers = {"app.kubernetes.io/name": "slurmd", "slinky.slurm.net/cluster": "main"}
        self._write(MANAGER, "v1", "Service", "slurm-workers-main", {"spec": {
            "clusterIP": "None", "publishNotReadyAddresses": True, "selector": workers,
            "ports": [{"name": "slurmd", "port": 6818, "protocol": "TCP", "targetPort": "slurmd"}]}}, owner)
        protected = {"nodeset.slinky.slurm.net/pod-protect": "true", "slinky.slurm.net/cluster": "main"}
        self._write(MANAGER, "policy/v1", "PodDisruptionBudget", "slurm-workers-pdb-main",
                    {"spec": {"maxUnavailable": 0, "selector": {"matchLabels": protected}}}, owner)

    def create_config(self):
        self._own("v1", "ConfigMap", "main-config", "Controller", labels=self._labels("slurmctld", "controller", "main"),
                  data={"slurm.conf": self.slurm_conf(), "cgroup.conf":
                        "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n" if self.cgroups else "CgroupPlugin=disabled\n"})

    def slurm_conf(self):
        pod = "main-controller" if self.old else "main-controller-0.main-controller-internal"
        address = [] if self.old else [f"SlurmctldAddr=main-controller.{self.namespace}"]
        return "\n".join([
            "#", "### GENERAL ###", f"ClusterName=former", "SlurmUser=slurm",
            f"SlurmctldHost=main-controller-0({pod}.{self.namespace})", "SlurmctldPort=6817", *address,
            f"StateSaveLocation=/var/spool/slurmctld/former", "SlurmdUser=root", "SlurmdPort=6818",
            "SlurmdSpoolDir=/var/spool/slurmd", "MaxNodeCount=1024",
            "#", "### LOGGING ###", "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
            "SlurmSchedLogFile=/var/log/slurm/slurmctld.log", "SlurmdLogFile=/var/log/slurm/slurmd.log",
            "#", "### PLUGINS & PARAMETERS ###", "AuthType=auth/slurm", "CredType=cred/slurm", "AuthAltTypes=auth/jwt",
            "AuthAltParameters=jwt_key=/etc/slurm/jwt.key", "AuthInfo=use_client_ids",
            "SlurmctldParameters=enable_configless,reconfig_on_restart",
            "#", "### ACCOUNTING ###", *self._accounting_lines(),
            "#", "### NODESET & PARTITION ###", "NodeSet=main-worker Feature=main-worker",
            "PartitionName=main-worker Nodes=main-worker State=UP Default=YES", *([] if self.cgroups else WITHOUT_CGROUPS), ""])

    def _accounting_lines(self):
        if not self.people:
            return ["AccountingStorageType=accounting_storage/none"]
        return ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=main-accounting",
                "AccountingStoragePort=6819"]

    def create_accounting(self):
        """slurmdbd, which the user gave a password with a character of its own."""
        keys = {"slurmKeyRef": {"name": "main-auth-slurm", "key": "slurm.key"},
                "jwtKeyRef": {"name": "main-auth-jwt", "key": "jwt.key"}}
        self._write("helm", "v1", "Secret", "mariadb", encoded({"password": "pa$s'word"}))
        self._user("Accounting", "main", keys | {
            "slurmdbd": {"image": self.images["slurmdbd"]},
            "storageConfig": {"host": "mariadb", "username": "slurm",
                              "passwordKeyRef": {"name": "mariadb", "key": "password"}}})
        labels, app = self._labels("slurmdbd", "accounting", "main"), selector("slurmdbd", "main")
        conf = "\n".join([
            "#", "### GENERAL ###", "DbdHost=main-accounting-0", "DbdPort=6819", "SlurmUser=slurm",
            "#", "### PLUGINS & PARAMETERS ###", "AuthType=auth/slurm", "AuthAltTypes=auth/jwt",
            "AuthAltParameters=jwt_key=/etc/slurm/jwt.key", "AuthInfo=use_client_ids",
            "#", "### STORAGE ###", "StorageType=accounting_storage/mysql", "StorageHost=mariadb", "StoragePort=3306",
            "StorageUser=slurm", "StorageLoc=slurm_acct_db", "StoragePass=pa$s'word",
            "#", "### LOGGING ###", "LogFile=/dev/null", ""])
        self._own("v1", "Secret", "main-accounting", "Accounting", labels=labels, **encoded({"slurmdbd.conf": conf}))
        port = {"name": "slurmdbd", "port": 6819, "protocol": "TCP", "targetPort": "slurmdbd"}
        self._own("v1", "Service", "main-accounting", "Accounting", labels=labels, spec={"selector": app, "ports": [port]})
        user = {"runAsNonRoot": True, "runAsUser": 401, "runAsGroup": 401}
        container = {"name": "slurmdbd", "image": self.images["slurmdbd"],
                     "ports": [{"name": "slurmdbd", "containerPort": 6819, "protocol": "TCP"}],
                     "readinessProbe": {"tcpSocket": {"port": 6819}}, "securityContext": user,
                     "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
                                      {"name": "run", "mountPath": "/run"}]}
        sources = [secret_file("main-accounting", "slurmdbd.conf", "slurmdbd.conf"),
                   secret_file("main-auth-slurm", "slurm.key", "slurm.key"),
                   secret_file("main-auth-jwt", "jwt.key", "jwt.key")]
        spec = {"automountServiceAccountToken": False, "containers": [container],
                "securityContext": user | {"fsGroup": 401},
                "volumes": [{"name": "slurm-etc", "projected": {"defaultMode": 0o600, "sources": sources}},
                            {"name": "run", "emptyDir": {"medium": "Memory"}}]}
        annotations = {"kubectl.kubernetes.io/default-container": "slurmdbd",
                       **{f"slinky.slurm.net/{what}-hash": "a" * 64 for what in ("slurm-key", "jwt-key", "slurmdbd-conf")}}
        self._own("apps/v1", "StatefulSet", "main-accounting", "Accounting", labels=labels, spec={
            "replicas": 1, "revisionHistoryLimit": 0, "serviceName": "main-accounting", "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": app}, "template": self._template("main-accounting", labels, annotations, spec)})

    def create_logins(self):
        self._write("helm", "v1", "Secret", "sssd-conf", encoded({"sssd.conf": SSSD_CONF}))
        self._user("LoginSet", "login", {
            "controllerRef": {"name": "main"}, "replicas": 1, "login": {"image": self.images["login"]},
            "initconf": {"image": self.images["login"]}, "rootSshAuthorizedKeys": "ssh-ed25519 AAAA root",
            "sssdConfRef": {"name": "sssd-conf", "key": "sssd.conf"}})
        labels, app = self._labels("login", "login", "login"), selector("login", "login")
        files = ssh_host_keys()
        self._own("v1", "Secret", "login-ssh-host-keys", "LoginSet", labels=labels, immutable=True, **encoded(files))
        self._own("v1", "ConfigMap", "login-ssh-config", "LoginSet", labels=labels, data={
            "authorized_keys": "#\n### SLINKY ###\nssh-ed25519 AAAA root\n",
            "sshd_config": "#\n### GENERAL ###\nInclude /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nX11Forwarding yes\n"
                           "Subsystem sftp internal-sftp\n#\n### EXTRA CONFIG ###\n\n"})
        port = {"name": "login", "port": 22, "protocol": "TCP", "targetPort": "login"}
        self._own("v1", "Service", "login", "LoginSet", labels=labels, spec={"selector": app, "ports": [port]})
        file_mounts = [("ssh-host-keys", f"/etc/ssh/{name}", name) for name in files]
        file_mounts += [("ssh-config", "/etc/ssh/sshd_config", "sshd_config"),
                        ("ssh-config", "/root/.ssh/authorized_keys", "authorized_keys"),
                        ("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf")]
        container = {
            "name": "login", "image": self.images["login"], "ports": [{"name": "login", "containerPort": 22, "protocol": "TCP"}],
            "env": [{"name": "SACKD_OPTIONS", "value": f"--conf-server main-controller.{self.namespace}:6817"}],
            "readinessProbe": {"exec": {"command": ["test", "-S", "/run/slurm/sack.socket"]}},
            "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
                             {"name": "sackd-dir", "mountPath": "/run/slurm"},
                             *({"name": volume, "mountPath": path, "subPath": name, "readOnly": True}
                               for volume, path, name in file_mounts)]}
        initconf = {"name": "initconf", "image": self.images["login"], "env": [{"name": "SLURM_USER", "value": "slurm"}],
                    "command": ["sh", "-c", "true"],
                    "volumeMounts": [{"name": "slurm-etc", "mountPath": "/mnt/etc/slurm"},
                                     {"name": "slurm-config", "mountPath": "/mnt/slurm", "readOnly": True}]}
        items = [{"key": name, "path": name, "mode": 0o644 if name.endswith(".pub") else 0o600} for name in files]
        config = [{"key": name, "path": name, "mode": 0o600} for name in ("sshd_config", "authorized_keys")]
        projected = {
            "slurm-config": [secret_file("main-auth-slurm", "slurm.key", "slurm.key")],
            "ssh-host-keys": [{"secret": {"name": "login-ssh-host-keys", "items": items}}],
            "ssh-config": [{"configMap": {"name": "login-ssh-config", "items": config}}],
            "sssd-conf": [{"secret": {"name": "sssd-conf", "items": [
                {"key": "sssd.conf", "path": "sssd.conf", "mode": 0o600}]}}]}
        volumes = [{"name": name, "emptyDir": {"medium": "Memory"}} for name in ("slurm-etc", "sackd-dir")]
        volumes += [{"name": name, "projected": {"defaultMode": 0o600, "sources": sources}}
                    for name, sources in projected.items()]
        spec = {"automountServiceAccountToken": False, "enableServiceLinks": False, "initContainers": [initconf],
                "containers": [container], "volumes": volumes,
                "dnsConfig": {"searches": [f"slurm-workers-main.{self.namespace}.svc.cluster.local"]}}
        annotations = {"kubectl.kubernetes.io/default-container": "login",
                       **{f"slinky.slurm.net/{what}-hash": "a" * 64 for what in ("ssh-host-keys", "sshd-conf", "sssd-conf")}}
        self._own("apps/v1", "Deployment", "login", "LoginSet", labels=labels, spec={
            "replicas": 1, "revisionHistoryLimit": 0, "selector": {"matchLabels": app},
            "template": self._template("login", labels, annotations, spec)})

    def create_token(self):
        """Its Secret is the signing key's, not the Token's."""
        self._user("Token", "alice", {"jwtKeyRef": {"name": "main-auth-jwt", "key": "jwt.key"}, "username": "alice",
                                      "lifetime": "24h"})
        self._own("v1", "Secret", "alice-jwt-alice", "Secret", **encoded({"SLURM_JWT": token("alice", 24 * 3600)}))
        self.patch_status("token", "alice", {"issuedAt": "2026-01-01T00:00:00Z"})

    def create_slurmctld(self):
        app = selector("slurmctld", "main")
        port = {"name": "slurmctld", "port": 6817, "protocol": "TCP", "targetPort": "slurmctld"}
        labels = self._labels("slurmctld", "controller", "main")
        if not self.old:
            self._own("v1", "Service", "main-controller-internal", "Controller", labels=labels, spec={
                "clusterIP": "None", "publishNotReadyAddresses": True, "selector": app, "ports": [port]})
        active = {} if self.old else {"controller.slinky.slurm.net/active": "true"}
        self._own("v1", "Service", "main-controller", "Controller", labels=labels,
                  spec={"selector": app | active, "ports": [port]})
        pod = self.slurmctld()
        claim = {"metadata": {"name": "statesave", "namespace": self.namespace},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}}
        spec = {"replicas": 1, "revisionHistoryLimit": 0, "selector": {"matchLabels": app}, "template": pod,
                "serviceName": "main-controller-internal", "volumeClaimTemplates": [claim]}
        if self.old:
            spec |= {"serviceName": "main-controller", "podManagementPolicy": "Parallel"}
        made = self._own("apps/v1", "StatefulSet", "main-controller", "Controller", labels=labels, spec=spec)
        self.uids["StatefulSet"] = made["metadata"]["uid"]

    def slurmctld(self):
        """The pod template."""
        image = self.images["slurmctld"]
        container = {
            "name": "slurmctld", "image": image, "ports": [{"name": "slurmctld", "containerPort": 6817, "protocol": "TCP"}],
            "startupProbe": http_probe("/livez", "slurmctld", **PATIENT),
            "livenessProbe": http_probe("/livez", "slurmctld", **PATIENT),
            "readinessProbe": http_probe("/readyz", "slurmctld"),
            "securityContext": {"runAsNonRoot": True, "runAsUser": 401, "runAsGroup": 401},
            "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
                             {"name": "run", "mountPath": "/run"},
                             {"name": "statesave", "mountPath": f"/var/spool/slurmctld/former"},
                             {"name": "slurm-authsocket", "mountPath": "/run/slurmctld"},
                             {"name": "slurm-logfile", "mountPath": "/var/log/slurm"}]}
        spec = {
            "automountServiceAccountToken": False, "containers": [container],
            "initContainers": [self._logfile(image, "slurmctld")],
            "securityContext": {"runAsNonRoot": True, "runAsUser": 401, "runAsGroup": 401, "fsGroup": 401},
            "volumes": [
                {"name": "slurm-etc", "projected": {"defaultMode": 0o610, "sources": [
                    {"configMap": {"name": "main-config"}}, secret_file("main-auth-slurm", "slurm.key", "slurm.key"),
                    secret_file("main-auth-jwt", "jwt.key", "jwt.key")]}},
                {"name": "slurm-logfile", "emptyDir": {"medium": "Memory"}},
                {"name": "run", "emptyDir": {"medium": "Memory"}}, {"name": "slurm-authsocket", "emptyDir": {}}]}
        if not self.old:
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": {"matchLabels": selector("slurmctld", "main")},
                "topologyKey": "kubernetes.io/hostname"}]}}
        annotations = {"kubectl.kubernetes.io/default-container": "slurmctld",
                       "slinky.slurm.net/slurm-key-hash": "a" * 64, "slinky.slurm.net/jwt-key-hash": "b" * 64,
                       "slinky.slurm.net/slurm-config-hash": "c" * 64}
        return self._template("main-controller", self._labels("slurmctld", "controller", "main"), annotations, spec)

    def create_slurmrestd(self):
        labels = self._labels("slurmrestd", "restapi", "main")
        app = selector("slurmrestd", "main")
        self._own("v1", "Service", "main-restapi", "RestApi", labels=labels, spec={
            "selector": app,
            "ports": [{"name": "slurmrestd", "port": 6820, "protocol": "TCP", "targetPort": "slurmrestd"}]})
        probe = {"tcpSocket": {"port": 6820}}
        nobody = {"runAsNonRoot": True, "runAsUser": 65534, "runAsGroup": 65534}
        container = {
            "name": "slurmrestd", "image": self.images["slurmrestd"], "args": [*([] if self.people else ["-s", "openapi/slurmctld"]), "0.0.0.0:6820"],
            "env": [{"name": "SLURM_JWT", "value": "daemon"},
                    {"name": "SLURMRESTD_SECURITY", "value": "disable_unshare_files,disable_unshare_sysv"}],
            "ports": [{"name": "slurmrestd", "containerPort": 6820, "protocol": "TCP"}],
            "startupProbe": probe | PATIENT, "livenessProbe": probe | PATIENT, "readinessProbe": probe,
            "securityContext": nobody, "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True}]}
        config = {"configMap": {"name": "main-config", "items": [{"key": "slurm.conf", "path": "slurm.conf"}]}}
        sources = [config, secret_file("main-auth-slurm", "slurm.key", "slurm.key")]
        spec = {"automountServiceAccountToken": False, "containers": [container],
                "securityContext": nobody | {"fsGroup": 65534},
                "volumes": [{"name": "slurm-etc", "projected": {"defaultMode": 0o600, "sources": sources}}]}
        template = self._template("main-restapi", labels, {"kubectl.kubernetes.io/default-container": "slurmrestd"}, spec)
        self._own("apps/v1", "Deployment", "main-restapi", "RestApi", labels=labels, spec={
            "replicas": 1, "revisionHistoryLimit": 0, "selector": {"matchLabels": app}, "template": template})

    def worker(self, ordinal):
        """Metadata and spec of a worker."""
        name = f"main-worker-{ordinal}"
        image = self.images["slurmd"]
        topology = "metadata.annotations['topology.slinky.slurm.net/spec']"
        items = "Features=main-worker" if self.old else "Features=main-worker Topology='\"$SLINKY_TOPOLOGY\"'"
        stop = "scontrol update nodename=$(hostname) state=down reason='slurm-operator: Pod is terminating';"
        container = {
            "name": "slurmd", "image": image, "ports": [{"name": "slurmd", "containerPort": 6818, "protocol": "TCP"}],
            "args": ["-Z", "--conf-server", f"main-controller.{self.namespace}:6817", "--conf", f"'{items}'"],
            "env": [{"name": "POD_TOPOLOGY" if self.old else "SLINKY_TOPOLOGY",
                     "valueFrom": {"fieldRef": {"fieldPath": topology}}},
                    {"name": "POD_CPUS", "value": "0"}, {"name": "POD_MEMORY", "value": "0"}],
            "startupProbe": http_probe("/livez", "slurmd", **PATIENT),
            "livenessProbe": http_probe("/livez", "slurmd", **PATIENT), "readinessProbe": http_probe("/readyz", "slurmd"),
            "securityContext": {"privileged": True,
                                "capabilities": {"add": ["BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"]}},
            "lifecycle": {"preStop": {"exec": {"command": ["/usr/bin/sh", "-c", stop]}}},
            "volumeMounts": [{"name": "slurm-etc", "mountPath": "/etc/slurm", "readOnly": True},
                             {"name": "slurm-logfile", "mountPath": "/var/log/slurm"}]}
        apart = {"labelSelector": {"matchExpressions": [
            {"key": "app.kubernetes.io/name", "operator": "In", "values": ["slurmd"]}]},
            "topologyKey": "kubernetes.io/hostname"}
        spec = {
            "automountServiceAccountToken": False, "enableServiceLinks": False, "hostname": name,
            "subdomain": "slurm-workers-main", "containers": [container],
            "initContainers": [self._logfile(image, "slurmd")],
            "dnsConfig": {"searches": [f"slurm-workers-main.{self.namespace}.svc.cluster.local"]},
            "tolerations": [{"key": "nodeset.slinky.slurm.net/worker", "operator": "Equal", "effect": "NoExecute"}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
            "volumes": [{"name": "slurm-etc", "projected": {"defaultMode": 0o600, "sources": [
                secret_file("main-auth-slurm", "slurm.key", "slurm.key")]}},
                {"name": "slurm-logfile", "emptyDir": {"medium": "Memory"}}]}
        labels = self._labels("slurmd", "worker", "main-worker") | {
            "slinky.slurm.net/cluster": "main", PREFIX + "pod-name": name, PREFIX + "pod-index": str(ordinal),
            PREFIX + "pod-hostname": name, PREFIX + "scaling-mode": "StatefulSet", "controller.kubernetes.io/hash": HASH}
        annotations = {"kubectl.kubernetes.io/default-container": "slurmd", "topology.slinky.slurm.net/spec": "",
                       "slinky.slurm.net/sshd-conf-hash": NOTHING_SHA256, "slinky.slurm.net/sssd-conf-hash": NOTHING_SHA256}
        return {"labels": labels, "annotations": annotations, "spec": spec}

    def create_revision(self):
        data = {"spec": {"logfile": {"$patch": "replace"}, "slurmd": {"$patch": "replace", "name": "", "resources": {}},
                         "template": {"$patch": "replace", "spec": {"containers": None}}}}
        self._own("apps/v1", "ControllerRevision", f"main-worker-{HASH}", "NodeSet",
                  labels={"controller.kubernetes.io/hash": HASH}, data=data, revision=1)

    def say_status(self, workers):
        """The NodeSet's, with all that this operator does not have."""
        node_set = json.loads(self.kubectl("-n", self.namespace, "get", "nodeset", "main-worker", "-o", "json"))
        condition = {"type": "ReservationCreated", "status": "False", "reason": "NotExists", "observedGeneration": 1,
                     "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        self.patch_status("nodeset", "main-worker", {
            "replicas": workers, "updatedReplicas": workers, "readyReplicas": workers, "availableReplicas": workers,
            "desired": workers, "slurmIdle": workers, "observedGeneration": node_set["metadata"]["generation"],
            "nodeSetHash": HASH, "collisionCount": 0, "ordinalToNode": {"0": "node1"}, "conditions": [condition],
            "selector": "app.kubernetes.io/instance=main-worker,app.kubernetes.io/name=slurmd"})

    # --- writing ------------------------------------------------------------------------------------------------------
    def patch(self, kind, name, patch, *flags, manager=MANAGER):
        self.kubectl("-n", self.namespace, "patch", kind, name, f"--field-manager={manager}", "--type=merge", *flags,
                     "--patch", json.dumps(patch))

    def patch_status(self, kind, name, status, manager=MANAGER):
        self.patch(kind, name, {"status": status}, "--subresource=status", manager=manager)

    def _labels(self, app, component, instance):
        return selector(app, instance) | {"app.kubernetes.io/component": component}

    def _template(self, name, labels, annotations, spec):
        """That operator names the template as well."""
        return {"metadata": {"name": name, "namespace": self.namespace, "labels": labels, "annotations": annotations},
                "spec": spec}

    @staticmethod
    def _logfile(image, daemon):
        return {"name": "logfile", "image": image, "restartPolicy": "Always", "command": ["sh", "-c", LOGFILE],
                "env": [{"name": "SOCKET", "value": f"/var/log/slurm/{daemon}.log"}],
                "volumeMounts": [{"name": "slurm-logfile", "mountPath": "/var/log/slurm"}]}

    def _owner(self, kind, controller=True):
        name = {"NodeSet": "main-worker", "LoginSet": "login", "Secret": "main-auth-jwt"}.get(kind, "main")
        version = "v1" if kind == "Secret" else GROUP
        owner = {"apiVersion": version, "kind": kind, "name": name, "uid": self.uids[kind], "blockOwnerDeletion": True}
        return {"ownerReferences": [owner | ({"controller": True} if controller else {})]}

    def _own(self, version, kind, name, owner, labels=None, annotations=None, **members):
        metadata = self._owner(owner) | {"labels": labels or {}, "annotations": annotations or {}}
        return self._write(MANAGER, version, kind, name, members, metadata)

    def _write(self, manager, version, kind, name, members, metadata=None):
        made = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": self.namespace}}
        made["metadata"] |= copy.deepcopy(metadata or {})
        made |= members
        return json.loads(self.kubectl("create", f"--field-manager={manager}", "-o", "json", "-f", "-",
                                       stdin=json.dumps(made)))
