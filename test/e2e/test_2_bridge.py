"""A pod of an ordinary Deployment waits in Slurm's queue behind a job, and runs where and when Slurm says so."""
import base64
import json

import pytest

import lab as labs

BRIDGED = "e2e-bridge-pods"


@pytest.fixture(scope="module")
def bridge(lab):
    lab.install_bridge(BRIDGED)
    yield lab
    lab.remove_bridge(BRIDGED)


def deployment(name, **annotations):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}, "annotations": annotations},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [{
                "name": "c", "image": f"{labs.IMAGES}/slurmd:26.05", "command": ["sleep", "3600"],
                "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}}}]}}}}


def pods():
    return labs.items("-n", BRIDGED, "pods")


def told(pod):
    """What its condition says of its job."""
    return next((one for one in pod["status"].get("conditions", []) if one["type"] == "capstan.dev/SlurmJob"),
                {"status": "", "reason": "", "message": ""})


def apply(*objects):
    labs.kubectl("-n", BRIDGED, "apply", "-f", "-", text_in=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def test_a_pod_waits_behind_a_job_runs_when_slurm_says_so_and_its_job_ends_with_it(bridge):
    lab = bridge
    job = lab.submit("-N3", "--exclusive", "--wrap", "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")
    lab.wait_for_job(job, "RUNNING", within=60)
    apply(deployment("web"))
    pod = lab.wait_for("the pod says why it waits", lambda: next(
        (one for one in pods() if told(one)["reason"] == "Pending" and "Resources" in told(one)["message"]), None), within=60)
    number = pod["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"]
    assert pod["spec"]["schedulingGates"] == [{"name": "capstan.dev/slurm"}] and not pod["spec"].get("nodeName")
    assert lab.job_fields(number)["JobState"] == "PENDING" and lab.job_fields(number)["JobName"].startswith(BRIDGED)

    lab.let_end(job, lab.script_worker(job))
    pod = lab.wait_for("the pod runs", lambda: next((one for one in pods() if one["status"]["phase"] == "Running"), None), within=90)
    fields = lab.job_fields(number)
    worker = f"{labs.NODESET}-{fields['NodeList'][-1]}"
    assert fields["JobState"] == "RUNNING"
    assert pod["spec"]["nodeName"] == lab.worker_pods()[worker]["spec"]["nodeName"], "it is where its job is"
    lab.wait_for("the pod says under which job", lambda: told(pods()[0])["status"] == "True", within=30)
    assert lab.job_state(job) == "COMPLETED"

    labs.kubectl("-n", BRIDGED, "delete", "deployment", "web")
    lab.wait_for("its job is over", lambda: lab.job_state(number) == "CANCELLED", within=60)
    shown = lab.in_controller_result("scontrol", "show", "job", number).stdout
    assert '"o":"' in shown and "MCS_label=kubernetes" in shown, "how it ended stands in the job"


def test_the_pods_of_a_job_start_together_on_a_node_each(bridge):
    lab = bridge
    template = deployment("x", **{"capstan.dev/gang": "job"})["spec"]["template"]
    template["spec"].update(restartPolicy="Never")
    template["spec"]["containers"][0]["command"] = ["sh", "-c", "until [ -e /tmp/end ]; do sleep 0.2; done"]
    del template["metadata"]["labels"]
    apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sim"}, "spec": {
        "completionMode": "Indexed", "parallelism": 3, "completions": 3, "template": template}})
    members = lab.wait_for("all three run", lambda: [
        one for one in pods() if one["status"]["phase"] == "Running"] if len(pods()) == 3 and all(
            one["status"]["phase"] == "Running" for one in pods()) else None, within=90)
    number, = {one["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"] for one in members}
    fields = lab.job_fields(number)
    assert (fields["NumNodes"], fields["JobName"]) == ("3", f"{BRIDGED}/sim")
    machines = {one["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]: one["spec"]["nodeName"] for one in members}
    workers = lab.worker_pods()
    assert machines == {str(i): workers[f"{labs.NODESET}-{i}"]["spec"]["nodeName"] for i in range(3)}, "by rank, where the job is"
    for one in members:
        labs.kubectl("-n", BRIDGED, "exec", one["metadata"]["name"], "--", "touch", "/tmp/end")
    lab.wait_for("its job is over", lambda: lab.job_state(number) == "CANCELLED", within=60)
    assert '"o":"Succeeded"' in lab.in_controller_result("scontrol", "show", "job", number).stdout
    labs.kubectl("-n", BRIDGED, "delete", "job", "sim")


def test_scancel_ends_the_pod_and_its_replacement_asks_anew(bridge):
    lab = bridge
    apply(deployment("again"))
    first = lab.wait_for("the pod runs", lambda: next((one for one in pods() if one["status"]["phase"] == "Running"), None), within=90)
    number = first["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"]
    lab.in_worker("scancel", number)
    second = lab.wait_for("another pod runs in its stead", lambda: next(
        (one for one in pods() if one["status"]["phase"] == "Running" and one["metadata"]["uid"] != first["metadata"]["uid"]), None), within=90)
    assert second["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"] != number
    labs.kubectl("-n", BRIDGED, "delete", "deployment", "again")


def test_a_machine_without_a_slurmd_is_a_node_of_slurm_by_its_label(bridge):
    lab = bridge
    machine = lab.worker_pods()[f"{labs.NODESET}-1"]["spec"]["nodeName"]

    def record():
        done = lab.in_controller_result("scontrol", "show", "node", "outside")
        return done.stdout if done.returncode == 0 else ""

    try:
        labs.kubectl("annotate", "node", machine, "scheduler.slinky.slurm.net/external-node-partitions=outside")
        labs.kubectl("label", "node", machine, "scheduler.slinky.slurm.net/external-node=true", "slinky.slurm.net/slurm-nodename=outside")
        lab.wait_for("Slurm knows it", lambda: "capstan-bridge" in record(), within=60)
        assert "+EXTERNAL" in record() and "AvailableFeatures=outside" in record()
        lab.wait_for("the node says so", lambda: any(
            one["type"] == "capstan.dev/SlurmNode" and one["reason"] == "Registered"
            for one in json.loads(labs.kubectl("get", "node", machine, "-o", "json"))["status"]["conditions"]), within=30)
        apply(deployment("outside", **{"slurmjob.slinky.slurm.net/constraints": "outside"}))
        pod = lab.wait_for("the pod runs", lambda: next((
            one for one in pods() if one["metadata"]["labels"]["app"] == "outside" and one["status"]["phase"] == "Running"), None), within=90)
        number = pod["metadata"]["labels"]["scheduler.slinky.slurm.net/slurm-jobid"]
        assert (pod["spec"]["nodeName"], lab.job_fields(number)["NodeList"]) == (machine, "outside")
        labs.kubectl("-n", BRIDGED, "delete", "deployment", "outside")
        lab.wait_for("its job is over", lambda: lab.job_state(number) == "CANCELLED", within=60)
    finally:
        labs.kubectl("label", "node", machine, "scheduler.slinky.slurm.net/external-node-", "slinky.slurm.net/slurm-nodename-")
        labs.kubectl("annotate", "node", machine, "scheduler.slinky.slurm.net/external-node-partitions-")


def test_a_job_and_a_pod_share_a_machine_and_the_next_of_either_waits(bridge):
    lab = bridge
    worker, node = f"{labs.NODESET}-2", "slinky-2"
    machine = lab.worker_pods()[worker]["spec"]["nodeName"]
    shared = {"slurmjob.slinky.slurm.net/exclusive": "false"}

    def pod_of(name):
        return next((one for one in pods() if one["metadata"]["labels"]["app"] == name), {"status": {}, "metadata": {"labels": {}}, "spec": {}})

    def on_it(name):
        one = deployment(name, **shared)
        spec = one["spec"]["template"]["spec"]
        spec["nodeSelector"] = {"kubernetes.io/hostname": machine}
        spec["containers"][0]["resources"]["requests"]["cpu"] = "1"
        return one

    def open_job():
        return lab.submit("-w", node, "-n1", f"-c{cpus - 1}", "--mem=50", "--wrap",
                          "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done")

    cpus = int(lab.in_controller_result("scontrol", "show", "node", node).stdout.split("CPUEfctv=")[1].split()[0])
    job = open_job()
    lab.wait_for_job(job, "RUNNING", within=60)
    apply(on_it("one"))
    lab.wait_for("the pod runs beside the job", lambda: pod_of("one")["status"].get("phase") == "Running", within=90)
    assert pod_of("one")["spec"]["nodeName"] == machine and lab.job_state(job) == "RUNNING"
    apply(on_it("two"))
    lab.wait_for("the next pod waits", lambda: told(pod_of("two"))["reason"] == "Pending" and "Resources" in told(pod_of("two"))["message"],
                 within=60)
    later = open_job()
    labs.kubectl("-n", BRIDGED, "delete", "deployment", "one")
    lab.wait_for("it runs in the place of the first", lambda: pod_of("two")["status"].get("phase") == "Running", within=90)
    assert (lab.job_state(job), lab.job_state(later)) == ("RUNNING", "PENDING"), "the machine's CPUs are gone again"
    lab.let_end(job, worker)
    lab.wait_for_job(later, "RUNNING", within=90)
    labs.kubectl("-n", BRIDGED, "delete", "deployment", "two")
    lab.let_end(later, worker)


def test_a_mistake_in_an_annotation_is_one_sentence_on_the_pod(bridge):
    apply(deployment("wrong", **{"slurmjob.slinky.slurm.net/timelimit": "1h"}))
    found = bridge.wait_for("the pod says what is wrong", lambda: next(
        (told(one) for one in pods() if told(one)["reason"] == "Refused"), None), within=30)
    assert found["message"] == ('annotation slurmjob.slinky.slurm.net/timelimit is "1h", and must be a whole number of minutes from 1 to '
                                "527040")
    labs.kubectl("-n", BRIDGED, "delete", "deployment", "wrong")


def submit_as_slinkys_bridge(lab, pod):
    """An external job that slinky-0 alone can run, for a pod of the lab's namespace, and its number."""
    token = base64.b64decode(lab.get("secrets", "bridge-token")["data"]["auth-token"]).decode()
    body = json.dumps({"job": {
        "flags": ["EXTERNAL_JOB"], "current_working_directory": "/tmp", "partition": "all", "nodes": "1", "required_nodes": ["slinky-0"],
        "shared": ["none"], "mcs_label": "kubernetes", "admin_comment": json.dumps({"pods": [f"{lab.namespace}/{pod}"]}, separators=(",", ":"))}})
    asked = (f"POST /slurm/v0.0.44/job/submit HTTP/1.0\r\nHost: slurm-restapi\r\nX-SLURM-USER-TOKEN: {token}\r\nConnection: close\r\n"
             f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
    said = lab.in_controller_result("bash", "-c", 'exec 3<>/dev/tcp/slurm-restapi/6820; printf %s "$0" >&3; timeout 20 cat <&3', asked).stdout
    return str(json.JSONDecoder().raw_decode(said, said.index("{"))[0]["job_id"])


def test_the_pods_that_slinkys_bridge_has_left_behind_go_on_and_keep_their_place(bridge):
    """In the bridge's own namespace, whose pods no webhook gates."""
    lab = bridge
    machine = lab.worker_pods()[f"{labs.NODESET}-0"]["spec"]["nodeName"]

    def leave(name, number, **spec):
        template = deployment(name)["spec"]["template"]["spec"]
        lab.kubectl("create", "-f", "-", text_in=json.dumps({
            "apiVersion": "v1", "kind": "Pod", "spec": {**template, "schedulerName": "slurm-bridge-scheduler", **spec}, "metadata": {
                "name": name, "labels": {"scheduler.slinky.slurm.net/slurm-jobid": number},
                "finalizers": ["scheduler.slinky.slurm.net/finalizer"]}}))

    first = submit_as_slinkys_bridge(lab, "left-running")
    lab.wait_for_job(first, "RUNNING", within=60)
    leave("left-running", first, nodeName=machine)
    second = submit_as_slinkys_bridge(lab, "left-waiting")
    leave("left-waiting", second)
    lab.wait_for("the first runs", lambda: lab.get("pod", "left-running")["status"]["phase"] == "Running", within=60)
    uid = lab.get("pod", "left-waiting")["metadata"]["uid"]
    lab.install_bridge(BRIDGED, "takeOver=true")
    for name in ("left-running", "left-waiting"):
        metadata = lab.wait_for(f"{name} is taken over", lambda name=name: (
            lambda seen: seen if "capstan.dev/bridged" in seen["labels"] else None)(lab.get("pod", name)["metadata"]), within=60)
        assert not metadata.get("finalizers")
    lab.wait_for("the second says why it waits", lambda: "Resources" in told(lab.get("pod", "left-waiting"))["message"], within=60)
    assert (lab.job_state(first), lab.job_state(second)) == ("RUNNING", "PENDING")
    assert lab.job_fields(second)["JobName"] == f"{lab.namespace}/left-waiting"

    lab.kubectl("delete", "pod", "left-running", "--wait=false")
    lab.wait_for("the second runs in its place", lambda: lab.get("pod", "left-waiting")["status"]["phase"] == "Running", within=90)
    waiting = lab.get("pod", "left-waiting")
    assert (waiting["metadata"]["uid"], waiting["spec"]["nodeName"]) == (uid, machine)
    assert lab.job_state(first) == "CANCELLED" and lab.job_state(second) == "RUNNING"
    lab.kubectl("delete", "pod", "left-waiting")
    lab.wait_for("its job is over", lambda: lab.job_state(second) == "CANCELLED", within=60)
