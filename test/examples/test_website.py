"""The example operator: it builds from an installed prefix, and does against a real API server what it promises."""

import re
import signal
import subprocess

import pytest
import yaml

from website import (FOLDER, KITS, REPOSITORY, Operator, configure, credential_of, kubeconfig_of_its_account,
                     moments_of_writes, run, until, writes)

API = "/apis/web.example.com/v1/namespaces/default/websites"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/website-operator"
LEASE_RUNS_OUT = 40  # seconds until one that says nothing any more has lost its Lease; 15, on an idle machine
LEASE_IS_GIVEN_UP = 10  # one that is given up is taken within a second; one that must run out is not within these
MERGE = "application/merge-patch+json"
CHILDREN = {"configmaps": "/api/v1/namespaces/default/configmaps",
            "deployments": "/apis/apps/v1/namespaces/default/deployments",
            "services": "/api/v1/namespaces/default/services"}


@pytest.fixture(scope="session")
def built(prefix):
    build, done = configure(prefix)
    assert done.returncode == 0, done.stderr
    run("cmake", "--build", build)
    return build


def served(server):
    try:
        return server.request("GET", API)[0] == 200
    except ValueError:  # text: the group is not known yet
        return False


@pytest.fixture(scope="session")
def server(apiserver, built):
    """With the definition that the operator prints."""
    definition = yaml.safe_load(run(built / "website-operator", "crds"))
    status, answer = apiserver.request("POST", CRDS, definition)
    assert status == 201, answer
    until(lambda: served(apiserver), "Websites are served")
    return apiserver


@pytest.fixture(scope="session")
def kubeconfig(server, tmp_path_factory):
    return kubeconfig_of_its_account(server, tmp_path_factory.mktemp("account") / "kubeconfig")


@pytest.fixture
def operator(built, kubeconfig, tmp_path):
    """Starts operators, with the rights that the example asks for and the flags that are given."""
    return lambda *flags: Operator(built / "website-operator", kubeconfig, tmp_path / "log", *flags)


def create(server, name, **spec):
    made = {"apiVersion": "web.example.com/v1", "kind": "Website", "metadata": {"name": name},
            "spec": {"html": "<h1>Hello</h1>"} | spec}
    status, answer = server.request("POST", API, made)
    assert status == 201, answer
    return answer


def change(server, name, **spec):
    status, answer = server.request("PATCH", f"{API}/{name}", {"spec": spec}, MERGE)
    assert status == 200, answer


def child(server, plural, name):
    """None: there is none."""
    status, answer = server.request("GET", f"{CHILDREN[plural]}/{name}")
    return answer if status == 200 else None


def site(server, name):
    return server.request("GET", f"{API}/{name}")[1]


def settled(server, name, generation):
    """The status speaks of that generation, of the page that is published, and of servers that nobody starts here."""
    status = site(server, name).get("status", {})
    page = (child(server, "configmaps", name) or {}).get("metadata", {}).get("annotations", {}).get("web.example.com/page")
    return (status.get("observedGeneration"), status.get("page"), ready(server, name).get("reason")) == (
        generation, page, "Starting")


def ready(server, name):
    conditions = {each["type"]: each for each in site(server, name).get("status", {}).get("conditions", [])}
    return conditions.get("Ready", {})


def versions(server, name):
    objects = [site(server, name), *(child(server, plural, name) for plural in CHILDREN)]
    return [each["metadata"]["resourceVersion"] for each in objects]


def holder(server):
    """"": nobody."""
    return server.request("GET", LEASE)[1].get("spec", {}).get("holderIdentity", "")


def another_leads(server, than, seconds):
    """Who leads, as soon as that is somebody else than `than`."""
    def other():
        now = holder(server)
        return now if now != than else ""
    return until(other, f"another one than {than} leads", seconds)


def events(server, name):
    items = server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")[1]["items"]
    return [(each["type"], each["reason"]) for each in items if each["regarding"]["name"] == name]


# --- Installed, and built --------------------------------------------------------------------------------------------

def test_the_package_names_no_place_of_its_build(prefix):
    for path in prefix.rglob("*"):
        if path.suffix in (".h", ".cmake", ".txt"):
            text = path.read_text()
            assert str(REPOSITORY) not in text and str(FOLDER) not in text, path


def test_another_compiler_is_told_which_one_is_needed(prefix, tmp_path):
    script = tmp_path / "find.cmake"
    script.write_text(f"""set(CMAKE_CXX_COMPILER_ID GNU)
set(CMAKE_CXX_COMPILER_VERSION 12.2)
include({prefix}/lib/cmake/Capstan/CapstanConfig.cmake)
message(FATAL_ERROR "${{Capstan_FOUND}}: ${{Capstan_NOT_FOUND_MESSAGE}}")
""")
    done = subprocess.run(["cmake", "-P", script], text=True, capture_output=True)
    assert "FALSE: Capstan needs clang 19 or newer, and this is GNU 12.2;" in " ".join(done.stderr.split())


def test_nothing_of_the_tree_is_on_the_include_path(built):
    commands = (built / "compile_commands.json").read_text().replace(str(FOLDER), "")
    assert str(REPOSITORY) not in commands
    assert "include/capstan" in commands


def test_its_own_tests_pass(built):
    assert "100% tests passed" in run("ctest", "--test-dir", built, "--no-tests=error")


def test_every_test_kit_builds_from_the_prefix(prefix):
    headers = prefix / "include" / "capstan"
    installed = {str(path.relative_to(headers)) for path in headers.glob("*/testing/*.h")}
    included = set(re.findall(r'^#include "(.+)"', (KITS / "kits.cc").read_text(), re.M))
    assert installed and included == installed, "what is installed is what is tried"
    build, done = configure(prefix, KITS)
    assert done.returncode == 0, done.stderr
    run("cmake", "--build", build)
    run(build / "kits")


# --- Running ---------------------------------------------------------------------------------------------------------

def test_the_api_server_checks_what_the_table_says(server):
    made = {"apiVersion": "web.example.com/v1", "kind": "Website", "metadata": {"name": "wrong"}, "spec": {"replicas": -1}}
    status, answer = server.request("POST", f"{API}?dryRun=All", made)
    assert status == 422
    assert "spec.html: Required value" in answer["message"] and "spec.replicas" in answer["message"]


def test_children_follow_their_website(server, operator):
    with operator("--leader-elect"):
        uid = create(server, "main", port=80, replicas=2)["metadata"]["uid"]
        until(lambda: settled(server, "main", 1), "the children are there")
        assert site(server, "main")["status"]["readyReplicas"] == 0
        for plural in CHILDREN:
            owner, = child(server, plural, "main")["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["uid"], owner["controller"]) == ("Website", uid, True)
        assert child(server, "deployments", "main")["spec"]["replicas"] == 2

        assert server.request("PATCH", f"{CHILDREN['deployments']}/main", {"spec": {"replicas": 7}}, MERGE)[0] == 200
        until(lambda: child(server, "deployments", "main")["spec"]["replicas"] == 2, "another's change is put back")

        generation = child(server, "deployments", "main")["metadata"]["generation"]
        status = {"status": {"observedGeneration": generation, "replicas": 2, "readyReplicas": 2}}
        assert server.request("PATCH", f"{CHILDREN['deployments']}/main/status", status, MERGE)[0] == 200
        until(lambda: ready(server, "main").get("reason") == "Serving", "the servers are ready")
        assert site(server, "main")["status"]["readyReplicas"] == 2

        change(server, "main", replicas=0)
        until(lambda: ready(server, "main").get("reason") == "NoReplicas", "none is wanted")
        assert child(server, "deployments", "main")["spec"]["replicas"] == 0

        change(server, "main", port=None)
        until(lambda: child(server, "services", "main") is None, "the Service goes with the field")
        assert child(server, "configmaps", "main") and child(server, "deployments", "main")


def test_a_changed_page_is_one_write(server, operator):
    with operator():
        create(server, "paged", port=80)
        until(lambda: settled(server, "paged", 1), "the children are there")
        before = len(writes(server))
        change(server, "paged", html="<h1>Changed</h1>")
        until(lambda: settled(server, "paged", 2), "the new page is out")
        assert child(server, "configmaps", "paged")["data"] == {"index.html": "<h1>Changed</h1>"}
        done = [each[:3] for each in writes(server)[before:] if each[1] != "events"]
        assert done[0] == ("patch", "configmaps", "")
        assert set(done[1:]) == {("patch", "websites", "status")}, "nothing else than to say so"
        until(lambda: events(server, "paged") == [("Normal", "Published")] * 2, "each page was told of")


def test_a_restart_changes_nothing(server, operator):
    with operator() as first:
        create(server, "again", port=80)
        until(lambda: settled(server, "again", 1), "the children are there")
        until(lambda: events(server, "again"), "the page was told of")
        before = versions(server, "again")
        first.kill()
    applied = len(writes(server))
    with operator():
        names = lambda: {each[1] for each in writes(server)[applied:] if each[3] == "again"}  # noqa: E731
        until(lambda: names() >= {*CHILDREN, "websites"}, "it has applied everything once more")
        # A further object is decided from beginning to end: what was to come of the others has come.
        create(server, "later")
        until(lambda: settled(server, "later", 1), "the children of the later one are there")
    assert versions(server, "again") == before
    assert events(server, "again") == [("Normal", "Published")]


def test_what_belongs_to_others_is_left_alone(server, operator):
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken"}, "data": {"a": "b"}}
    made = server.request("POST", CHILDREN["configmaps"], theirs)[1]
    with operator():
        create(server, "taken")
        until(lambda: ready(server, "taken").get("reason") == "NameConflict", "the conflict is said")
        assert "ConfigMap default/taken" in ready(server, "taken")["message"]
        until(lambda: ("Warning", "NameConflict") in events(server, "taken"), "it is told as an Event")
        until(lambda: child(server, "deployments", "taken"), "the rest goes on")
    assert child(server, "configmaps", "taken") == made


def test_a_footer_is_asked_for(server, operator):
    with operator():
        create(server, "footed", footerFrom="legal")
        until(lambda: ready(server, "footed").get("reason") == "FooterMissing", "the missing one is said")
        assert child(server, "configmaps", "footed") is None
        legal = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "legal"}, "data": {"footer.html": "<p>L</p>"}}
        assert server.request("POST", CHILDREN["configmaps"], legal)[0] == 201
        made = until(lambda: child(server, "configmaps", "footed"), "the page is made when it is there")
        assert made["data"] == {"index.html": "<h1>Hello</h1><p>L</p>"}


def test_what_the_process_shows(server, operator):
    with operator("--leader-elect") as shown:
        create(server, "shown")
        until(lambda: settled(server, "shown", 1), "the children are there")
        assert shown.healthz() == (200, "ok") and shown.readyz() == (200, "ok")
        figures = shown.figures()
    assert figures['leader_election_master_status{name="website-operator"}'] == 1
    assert figures['controller_runtime_reconcile_total{controller="website",result="success"}'] > 0
    assert figures['workqueue_adds_total{name="website",controller="website"}'] > 0
    assert figures["process_resident_memory_bytes"] > 1 << 20 and figures["process_cpu_seconds_total"] > 0
    answered = sum(value for name, value in figures.items()
                   if name.startswith("rest_client_requests_total{") and 'code="200"' in name)
    assert answered > 0


# --- Of two processes one leads --------------------------------------------------------------------------------------

@pytest.fixture
def one_of_two(operator):
    """Starts one of the two, each with the token of its context."""
    return lambda name: operator("--leader-elect", "--context", name)


@pytest.fixture
def took_turns(server, kubeconfig):
    """Whether the second one began to write after all that the first one wrote, since the test began."""
    begun = {name: len(moments_of_writes(server, credential_of(kubeconfig, name))) for name in ("first", "second")}

    def judge():
        first, second = (moments_of_writes(server, credential_of(kubeconfig, name))[begun[name]:]
                         for name in ("first", "second"))
        assert first and second
        return max(first) < min(second)

    return judge


def test_the_next_one_leads_when_the_leader_stops(server, one_of_two, took_turns):
    before = holder(server)
    with one_of_two("first") as first:
        leader = another_leads(server, before, LEASE_RUNS_OUT)
        with one_of_two("second"):
            create(server, "handed-on")
            until(lambda: settled(server, "handed-on", 1), "the children are there")
            assert holder(server) == leader
            first.stop()
            another_leads(server, leader, LEASE_IS_GIVEN_UP)
            change(server, "handed-on", html="<h1>Changed</h1>")
            until(lambda: settled(server, "handed-on", 2), "the second one acts")
    assert child(server, "configmaps", "handed-on")["data"] == {"index.html": "<h1>Changed</h1>"}
    assert took_turns()


@pytest.mark.long
def test_one_that_was_frozen_writes_nothing_and_ends(server, one_of_two, took_turns):
    before = holder(server)
    with one_of_two("first") as frozen:
        leader = another_leads(server, before, LEASE_RUNS_OUT)
        with one_of_two("second"):
            create(server, "taken-over")
            until(lambda: settled(server, "taken-over", 1), "the children are there")
            frozen.signal(signal.SIGSTOP)
            another_leads(server, leader, LEASE_RUNS_OUT)
            change(server, "taken-over", html="<h1>Changed</h1>")
            until(lambda: settled(server, "taken-over", 2), "the second one acts")
            frozen.signal(signal.SIGCONT)
            assert frozen.status() == 1
            change(server, "taken-over", html="<h1>Again</h1>")
            until(lambda: settled(server, "taken-over", 3), "the second one still leads")
    assert took_turns()
