"""What vendors' machines ask of node sets: values of GKE's A3 machines, and the scripts for dcgm-exporter."""
import json
import os
import subprocess

import pytest
import yaml
from helm_render import RenderError, merged, pick, pick_all, render

NETWORKS = [f"net-{number}" for number in range(9)]
GPU = {"slurmd": {"resources": {"limits": {"nvidia.com/gpu": 2}}}}
DIRECTORY = "/var/lib/dcgm-exporter/job-mapping"
DCGM = {"vendor": {"nvidia": {"dcgm": {"enabled": True}}}}


def google(machine, nodeset=None, **more):
    config = {"targetNodeSet": "a", "nodePool": "pool", "networks": NETWORKS}
    return render(values=merged({"vendor": {"google": {machine: [config]}}, "nodesets": {"a": nodeset or {}, "b": {}}}, more))


def workers(documents, key="a"):
    return pick(documents, "NodeSet", f"slurm-worker-{key}")["spec"]


def by_name(items, name):
    return next(item for item in items if item["name"] == name)


@pytest.mark.parametrize("machine, gres, interfaces", [
    ("a3mega", "gpu:nvidia_h100_80gb_hbm3:8", [0, 1, 2, 3, 4, 5, 6, 7, 8]),
    ("a3ultra", "gpu:nvidia_h200:8", [0, 2, 3, 4, 5, 6, 7, 8, 9]),
])
def test_google_machine_has_its_gpus_networks_and_node_pool(machine, gres, interfaces):
    documents = google(machine)
    spec = workers(documents)
    assert spec["slurmd"]["resources"] == {"limits": {"nvidia.com/gpu": 8}, "requests": {"nvidia.com/gpu": 8}}
    assert spec["extraConf"] == f"Gres={gres}"
    assert spec["template"]["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux", "cloud.google.com/gke-nodepool": "pool"}
    annotations = spec["template"]["metadata"]["annotations"]
    assert annotations["networking.gke.io/default-interface"] == "eth0"
    assert json.loads(annotations["networking.gke.io/interfaces"]) == [
        {"interfaceName": f"eth{number}", "network": network} for number, network in zip(interfaces, NETWORKS)]
    assert workers(documents, "b") == workers(render(values={"nodesets": {"b": {}}}), "b")
    assert pick(documents, "ConfigMap", f"slurm-config-{machine}")["data"] == {"gres.conf": "AutoDetect=nvidia\n"}
    assert pick(documents, "Controller")["spec"]["configFileRefs"] == [{"name": f"slurm-config-{machine}"}]


def test_a3mega_has_googles_daemon_beside_slurmd_and_its_devices():
    spec = workers(google("a3mega"))
    devices = yaml.safe_load(spec["template"]["metadata"]["annotations"]["devices.gke.io/container.tcpxo-daemon"])
    assert [device["path"] for device in devices] == [f"/dev/{name}" for name in (
        *(f"nvidia{number}" for number in range(8)), "nvidiactl", "nvidia-uvm", "dmabuf_import_helper")]
    daemon, = spec["template"]["spec"]["containers"]
    assert daemon["name"] == "tcpxo-daemon" and daemon["securityContext"]["capabilities"]["add"] == ["NET_ADMIN", "NET_BIND_SERVICE"]
    volumes = {volume["name"]: volume["hostPath"]["path"] for volume in spec["template"]["spec"]["volumes"]}
    assert volumes == {"libraries": "/home/kubernetes/bin/nvidia/lib64", "sys": "/sys", "proc-sys": "/proc/sys",
                       "aperture-devices": "/dev/aperture_devices"}
    assert {mount["name"] for mount in daemon["volumeMounts"] + spec["slurmd"]["volumeMounts"]} == set(volumes)
    assert by_name(spec["slurmd"]["env"], "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY")["value"] == "/dev/aperture_devices"


def test_a3ultra_has_googles_libraries():
    spec = workers(google("a3ultra"))
    mounts = {mount["name"]: mount["mountPath"] for mount in spec["slurmd"]["volumeMounts"]}
    assert mounts == {"library-dir-host": "/usr/local/nvidia", "gib": "/usr/local/gib"}
    assert by_name(spec["slurmd"]["env"], "PATH")["value"].startswith("/usr/local/nvidia/bin:")
    volumes = [volume["name"] for volume in spec["template"]["spec"]["volumes"]]
    assert volumes == ["library-dir-host", "gib", "sys", "proc-sys"]


def test_items_of_lists_merge_by_their_name_and_others_stay():
    own = {"slurmd": {"env": [{"name": "MINE", "value": "1"}, {"name": "LD_LIBRARY_PATH", "value": "/mine"}]},
           "podSpec": {"containers": [{"name": "tcpxo-daemon", "tty": True}, {"name": "mine"}]}}
    spec = workers(google("a3mega", own))
    assert [variable["name"] for variable in spec["slurmd"]["env"]] == ["MINE", "LD_LIBRARY_PATH", "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY"]
    assert by_name(spec["slurmd"]["env"], "LD_LIBRARY_PATH")["value"] == "/usr/local/nvidia/lib64"
    daemon, mine = spec["template"]["spec"]["containers"]
    assert daemon["tty"] is True and daemon["image"] and mine == {"name": "mine"}


@pytest.mark.parametrize("networks", [None, [], NETWORKS[:2], NETWORKS * 2])
def test_google_machine_with_another_number_of_networks_is_refused(networks):
    config = {"targetNodeSet": "a", "nodePool": "pool", "networks": networks}
    with pytest.raises(RenderError, match=f"requires exactly 9 networks, but {len(networks or [])} were specified"):
        render(values={"vendor": {"google": {"a3ultra": [config]}}, "nodesets": {"a": {}}})


def test_gres_conf_of_the_user_stays_the_only_one():
    documents = google("a3mega", configFiles={"gres.conf": "AutoDetect=off\n"})
    assert [found["metadata"]["name"] for found in pick_all(documents, "ConfigMap")] == ["slurm-config-extra"]
    both = google("a3mega", vendor={"google": {"a3ultra": [{"targetNodeSet": "b", "nodePool": "p", "networks": NETWORKS}]}})
    assert len(pick_all(both, "ConfigMap")) == 1


@pytest.mark.parametrize("nodeset, mounted", [
    ({}, False), (GPU, True), ({"slurmd": {"resources": {"requests": {"nvidia.com/gpu": "1"}}}}, True),
    ({"podSpec": {"resources": {"limits": {"nvidia.com/gpu": 1}}}}, True), ({"slurmd": {"resources": {"limits": {"cpu": 1}}}}, False)])
def test_dcgm_folder_is_mounted_where_there_are_gpus(nodeset, mounted):
    spec = workers(render(values=merged(DCGM, {"nodesets": {"a": nodeset}})))
    mount = {"name": "dcgm-job-mapping", "mountPath": DIRECTORY}
    volume = {"name": "dcgm-job-mapping", "hostPath": {"path": DIRECTORY, "type": "DirectoryOrCreate"}}
    assert spec["slurmd"].get("volumeMounts", []) == [mount] * mounted
    assert spec["template"]["spec"].get("volumes", []) == [volume] * mounted


def test_dcgm_folder_is_mounted_for_gpus_that_another_vendor_adds():
    assert by_name(workers(google("a3mega", **DCGM))["slurmd"]["volumeMounts"], "dcgm-job-mapping")


def test_dcgm_scripts_follow_those_of_the_user():
    values = merged(DCGM, {"vendor": {"nvidia": {"dcgm": {"scriptPriority": "05"}}}, "prologScripts": {"x": "y"},
                           "prologScriptRefs": [{"name": "mine"}], "epilogScriptRefs": [{"name": "mine"}]})
    documents = render(values=values)
    assert list(pick(documents, "ConfigMap", "slurm-prolog-dcgm")["data"]) == ["prolog-05-dcgm.sh"]
    assert list(pick(documents, "ConfigMap", "slurm-epilog-dcgm")["data"]) == ["epilog-05-dcgm.sh"]
    refs = pick(documents, "Controller")["spec"]
    assert [ref["name"] for ref in refs["prologScriptRefs"]] == ["slurm-prolog-scripts", "mine", "slurm-prolog-dcgm"]
    assert [ref["name"] for ref in refs["epilogScriptRefs"]] == ["mine", "slurm-epilog-dcgm"]


@pytest.fixture
def hooks(tmp_path):
    """Runs the rendered prolog or epilog as slurmd does; the folder is `hooks.folder`."""
    folder = tmp_path / "mapping"
    documents = render(values=merged(DCGM, {"vendor": {"nvidia": {"dcgm": {"jobMappingDir": str(folder)}}}}))

    def run(which, job, gpus=None):
        text, = pick(documents, "ConfigMap", f"slurm-{which}-dcgm")["data"].values()
        script = tmp_path / which
        script.write_text(text)
        script.chmod(0o755)
        environment = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": str(job)} | ({"SLURM_JOB_GPUS": gpus} if gpus else {})
        done = subprocess.run([script], env=environment, capture_output=True, text=True, timeout=10, check=False)
        return done.returncode
    run.folder = folder
    run.said = lambda: {file.name: file.read_text() for file in folder.iterdir()} if folder.exists() else {}
    return run


def test_dcgm_scripts_write_and_remove_the_job_of_each_gpu(hooks):
    assert hooks("prolog", 7, "0,3") == 0 and hooks("prolog", 17, "1") == 0
    assert hooks.said() == {"0": "7\n", "3": "7\n", "1": "17\n"}
    assert hooks("epilog", 7) == 0
    assert hooks.said() == {"1": "17\n"}
    # What a job left whose machine broke down does not stay on the GPU's next one.
    assert hooks("prolog", 18, "1") == 0
    assert hooks.said() == {"1": "18\n"}


def test_dcgm_scripts_leave_jobs_without_gpus_alone(hooks):
    assert (hooks("epilog", 7), hooks("prolog", 7), hooks("epilog", 7)) == (0, 0, 0)
    assert hooks.said() == {}


def test_dcgm_scripts_never_fail(hooks):
    """slurmd takes a node out of service when its prolog or epilog fails."""
    hooks.folder.write_text("no folder")
    assert (hooks("prolog", 7, "0"), hooks("epilog", 7)) == (0, 0)
