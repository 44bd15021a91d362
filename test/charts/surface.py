"""What pods may do, where they write, which Secrets they have and which ports, and what programs may do to Kubernetes: one line each, for a review."""
import json

import yaml

from helm_render import REPOSITORY, pick_all, render

OPERATOR = REPOSITORY / "src" / "operator"
# As the operator's unit tests pin them.
PODS = {
    "slurmctld": "controller/testdata/default-StatefulSet-main-controller.json",
    "slurmrestd": "restapi/testdata/default-Deployment.json",
    "slurmdbd": "accounting/testdata/default-StatefulSet.json",
    "database for trials": "accounting/testdata/database-StatefulSet.json",
    "login": "loginset/testdata/default-Deployment.json",
    "slurmd": "nodeset/testdata/worker-default.json",
    "slurmd with ssh": "nodeset/testdata/worker-ssh.json",
    "shared root: fill": "sharedroot/testdata/fill.json",
    "shared root: files": "sharedroot/testdata/files.json",
    "shared root: switch": "sharedroot/testdata/switch.json",
    "shared root: remove": "sharedroot/testdata/remove.json",
}
# What a SlurmCluster with a shared root lays over them.
PARTS = {
    "login with a shared root, beside what a login has": ("slurmcluster/testdata/root-LoginSet.json", "login"),
    "slurmd with a shared root, beside what slurmd has": ("slurmcluster/testdata/root-NodeSet.json", "slurmd"),
}
PROGRAMS = {
    "slurm-operator": {},
    "slurm-operator in namespaces, with secure metrics": {"operator": {"namespaces": "slurm", "metricsSecure": True}},
    "slurm-bridge": {},
    "slurm-exporter": {},
    "slurm-exporter with secure metrics": {"exporter": {"metricsSecure": True}},
}


def spec_of(workload):
    return workload["spec"] if workload["kind"] == "Pod" else workload["spec"]["template"]["spec"]


def spec_of_part(part, daemon):
    return part["spec"].get("template", {}).get("spec", {}) | {"containers": [part["spec"][daemon] | {"name": daemon}], "automountServiceAccountToken": False}


def rights_of(container, pod):
    own, shared = container.get("securityContext", {}), pod.get("securityContext", {})
    context = shared | own
    words = [f"user {context.get('runAsUser', 'of the image')}"]
    capabilities = own.get("capabilities", {})
    if own.get("privileged"):
        words.append("privileged")
    elif capabilities.get("drop") == ["ALL"]:
        words.append("capabilities " + (" ".join(capabilities.get("add", [])) or "none"))
    else:
        words.append(" ".join(["capabilities of the runtime", *capabilities.get("add", [])]))
    for field, word in (("appArmorProfile", "AppArmor"), ("seccompProfile", "seccomp")):
        if context.get(field):
            words.append(f"{word} {context[field]['type']}")
    if own.get("readOnlyRootFilesystem"):
        words.append("image read-only")
    if own.get("allowPrivilegeEscalation") is False:
        words.append("no more by setuid")
    return ", ".join(words)


def source_of(volume):
    kind = next(key for key in volume if key != "name")
    return volume[kind].get("medium", "disk").lower() + " of the pod" if kind == "emptyDir" else kind


def secrets_of(volume):
    """Each as "NAME" or "NAME: KEY KEY"."""
    parts = volume.get("projected", {}).get("sources", [])
    for secret in [volume.get("secret", {}), *(part.get("secret", {}) for part in parts)]:
        name = secret.get("secretName", secret.get("name"))
        if name:
            keys = " ".join(sorted(item["key"] for item in secret.get("items", [])))
            yield f"{name}: {keys}" if keys else name


def lines_of_pod(name, pod):
    yield name
    flags = [flag for flag in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace") if pod.get(flag)]
    token = pod.get("automountServiceAccountToken", True) is not False
    yield "  pod: " + ", ".join([*flags, "service account's token" if token else "no token"])
    sources = {volume["name"]: source_of(volume) for volume in pod.get("volumes", [])}
    secrets = {volume["name"]: sorted(secrets_of(volume)) for volume in pod.get("volumes", [])}
    for container in pod.get("initContainers", []) + pod["containers"]:
        yield f"  {container['name']}: {rights_of(container, pod)}"
        for port in container.get("ports", []):
            yield f"    port {port['containerPort']}/{port.get('protocol', 'TCP')}" + (f", {port['hostPort']} of the machine" if port.get("hostPort") else "")
        for mount in sorted(container.get("volumeMounts", []), key=lambda each: each["mountPath"]):
            if mount.get("readOnly") and sources.get(mount["name"]) == "hostPath":
                yield f"    reads {mount['mountPath']} of the machine"
            if not mount.get("readOnly") and sources.get(mount["name"], "claim") not in ("secret", "configMap", "projected", "downwardAPI"):
                yield f"    writes {mount['mountPath']} ({sources.get(mount['name'], 'claim')})"
            for secret in secrets.get(mount["name"], []):
                yield f"    has Secret {secret}"
        for variable in container.get("env", []):
            secret = variable.get("valueFrom", {}).get("secretKeyRef")
            if secret:
                yield f"    has Secret {secret['name']}: {secret['key']}"
        for source in container.get("envFrom", []):
            if "secretRef" in source:
                yield f"    has Secret {source['secretRef']['name']}"


def lines_of_rules(name, kind, rules):
    yield f"{name}, {kind}"
    for rule in rules:
        groups = "" if rule.get("apiGroups") in (None, [""]) else f" of {' '.join(rule['apiGroups'])}"
        only = f", only {' '.join(rule['resourceNames'])}" if rule.get("resourceNames") else ""
        yield f"  may {' '.join(rule['verbs'])}: {' '.join(rule.get('resources', rule.get('nonResourceURLs', [])))}{groups}{only}"


def surface():
    lines = []
    for name, path in PODS.items():
        lines += lines_of_pod(name, spec_of(json.loads((OPERATOR / path).read_text())))
    for name, (path, daemon) in PARTS.items():
        lines += lines_of_pod(name, spec_of_part(json.loads((OPERATOR / path).read_text()), daemon))
    for workload in pick_all(yaml.safe_load_all((REPOSITORY / "examples/demo/ldap.yaml").read_text()), "Deployment"):
        lines += lines_of_pod("directory for trials", spec_of(workload))
    for name, values in PROGRAMS.items():
        documents = render(name.split(" ")[0], values)
        lines.append(f"--- {name}")
        for workload in pick_all(documents, "Deployment"):
            lines += lines_of_pod(workload["metadata"]["name"], spec_of(workload))
        for kind in ("ClusterRole", "Role"):
            for role in pick_all(documents, kind):
                lines += lines_of_rules(role["metadata"]["name"], kind, role["rules"])
    return "".join(f"{line}\n" for line in lines)
