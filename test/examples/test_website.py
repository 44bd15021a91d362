"""The example operator: it builds from an installed prefix, and does against a real API server what it promises."""

import subprocess

import pytest
import yaml

from website import FOLDER, REPOSITORY, Operator, configure, install, kubeconfig_of_its_account, run, until, writes

API = "/apis/web.example.com/v1/namespaces/default/websites"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
CHILDREN = {"configmaps": "/api/v1/namespaces/default/configmaps",
            "deployments": "/apis/apps/v1/namespaces/default/deployments",
            "services": "/api/v1/namespaces/default/services"}


@pytest.fixture(scope="session")
def prefix():
    return install()


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
