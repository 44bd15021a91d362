"""What the Slinky projects' operator leaves in a namespace, release 1.2.1 or later (LATER), for tests of taking over.

    cluster = Former(kubectl, "slurm", release=LATER, images={"slurmctld": "...", ...})
    cluster.create(workers=2)      # custom resources, and every object as that operator writes it

`kubectl` is called with arguments, and `stdin`; it returns what it printed. Everything of that operator is written by the
field manager `manager`, with Update, as its client does. Custom resources and keys are the user's.
"""

import base64
import copy
import json

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


PATIENT = {"failureThreshold": 6, "periodSeconds": 10}


# For machines that do not offer cgroup v2 to containers.
WITHOUT_CGROUPS = ("ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none")


class Former:
    def __init__(self, kubectl, namespace, release, images, cgroups=True):
        self.cgroups = cgroups
        self.kubectl = kubectl
        self.namespace = namespace
        self.old = release == OLD
        self.images = images
        self.uids = {}

    # --- what the user wrote ------------------------------------------------------------------------------------------
    def create_resources(self, workers, controller=None, node_set=None):
        """`controller` and `node_set`: further members of their specs."""
        for name in ("slurm", "jwt"):
            data = {f"{name}.key": base64.b64encode(bytes(range(64))).decode()}
            self._write("helm", "v1", "Secret", f"main-auth-{name}", {"data": data})
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
    def create(self, workers, controller=None, node_set=None):
        self.create_resources(workers, controller, node_set)
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
            "#", "### ACCOUNTING ###", "AccountingStorageType=accounting_storage/none",
            "#", "### NODESET & PARTITION ###", "NodeSet=main-worker Feature=main-worker",
            "PartitionName=main-worker Nodes=main-worker State=UP Default=YES", *([] if self.cgroups else WITHOUT_CGROUPS), ""])

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
            "name": "slurmrestd", "image": self.images["slurmrestd"], "args": ["-s", "openapi/slurmctld", "0.0.0.0:6820"],
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
        name = "main-worker" if kind == "NodeSet" else "main"
        owner = {"apiVersion": GROUP, "kind": kind, "name": name, "uid": self.uids[kind], "blockOwnerDeletion": True}
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
