"""What the chart writes into slurm.conf, slurmdbd.conf and the node lines."""
import pytest
from helm_render import RenderError, merged, pick, render


def controller_conf(**values):
    return pick(render(values=values), "Controller")["spec"].get("extraConf")


def partition_lines(partitions, nodesets=None):
    return controller_conf(partitions=partitions, nodesets=nodesets or {})


def nodeset(**fields):
    return pick(render(values={"nodesets": {"a": fields}}), "NodeSet")["spec"]


def test_no_configuration_means_no_extra_conf():
    assert controller_conf() is None


@pytest.mark.parametrize("value, text", [
    ("x", "x"),
    ("a;b", "a;b"),
    ("a=b,c", "a=b,c"),
    (0, "0"),
    (1000000, "1000000"),
    (0.5, "0.5"),
    (False, "false"),
    (True, "true"),
    (["a", "b;c", 0, False], "a,b;c,0,false"),
])
def test_map_value_is_written_as_given(value, text):
    assert controller_conf(controller={"extraConfMap": {"Key": value}}) == f"Key={text}"


@pytest.mark.parametrize("value", [None, "", []])
def test_void_map_value_leaves_the_key_out(value):
    assert controller_conf(controller={"extraConfMap": {"Key": value, "Other": 1}}) == "Other=1"


@pytest.mark.parametrize("value, sentence", [
    ("a\nb", "must be one line"),
    (["a\nb"], "must be one line"),
    ({"a": "b"}, "extraConfMap"),
    ([["a"]], "extraConfMap"),
])
def test_map_value_that_slurm_could_not_read_is_refused(value, sentence):
    with pytest.raises(RenderError, match=sentence):
        controller_conf(controller={"extraConfMap": {"Key": value}})


def test_map_is_written_in_the_order_of_its_keys():
    assert controller_conf(controller={"extraConfMap": {"b": 1, "a": 2, "C": 3}}) == "C=3\na=2\nb=1"


def test_text_wins_over_the_map():
    assert controller_conf(controller={"extraConf": "A=1\nB=2\n", "extraConfMap": {"C": 3}}) == "A=1\nB=2"


def test_accounting_takes_text_or_map():
    both = [{"extraConfMap": {"ArchiveJobs": False}}, {"extraConf": "X=1", "extraConfMap": {"Y": 1}}]
    found = [pick(render(values={"accounting": merged({"enabled": True}, given)}), "Accounting")["spec"]["extraConf"] for given in both]
    assert found == ["ArchiveJobs=false", "X=1"]


@pytest.mark.parametrize("given, line", [
    ({"extraConfMap": {"Weight": 0, "Features": ["a", "b"], "Gres": "gpu:2"}}, "Features=a,b Gres=gpu:2 Weight=0"),
    ({"extraConf": "Weight=1\n  Gres=gpu:2\n", "extraConfMap": {"X": 1}}, "Weight=1 Gres=gpu:2"),
    ({}, None),
])
def test_node_options_are_one_line(given, line):
    assert nodeset(**given).get("extraConf") == line


@pytest.mark.parametrize("given, expected", [
    ({}, {"enabled": False}),
    ({"enabled": True}, {"enabled": True}),
    ({"enabled": True, "configMap": {"MaxTime": "1:00", "OverSubscribe": False}}, {"enabled": True, "config": "MaxTime=1:00 OverSubscribe=false"}),
    ({"enabled": True, "config": "State=UP", "configMap": {"MaxTime": 1}}, {"enabled": True, "config": "State=UP"}),
    (None, None),
])
def test_partition_of_a_node_set(given, expected):
    assert nodeset(partition=given).get("partition") == expected


def test_shipped_partition_all_needs_only_to_be_enabled():
    assert partition_lines({"all": {"enabled": True}}) == "PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED"


def test_partitions_follow_the_users_lines_sorted_by_name():
    partitions = {"z": {"enabled": True, "nodesets": ["ALL"]}, "b": {"enabled": True, "nodesets": ["ALL"], "config": "MaxTime=1"}, "c": {"enabled": False, "nodesets": ["ALL"]}}
    assert controller_conf(controller={"extraConf": "A=1"}, partitions=partitions) == "A=1\nPartitionName=b Nodes=ALL MaxTime=1\nPartitionName=z Nodes=ALL"


def test_partition_names_its_node_sets_sorted_and_once():
    lines = partition_lines({"p": {"enabled": True, "nodesets": ["b", "a", "b"]}}, {"a": {}, "b": {}})
    assert lines == "PartitionName=p Nodes=a,b"


def test_partition_uses_the_name_that_slurm_knows_a_node_set_by():
    lines = partition_lines({"p": {"enabled": True, "nodesets": ["a"]}}, {"a": {"podSpec": {"hostname": "gpu-"}}})
    assert lines == "PartitionName=p Nodes=gpu"


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("nodesets", [[], None])
def test_partition_without_node_sets_is_refused_even_when_disabled(enabled, nodesets):
    with pytest.raises(RenderError, match="partition p must contain at least one NodeSet"):
        partition_lines({"p": {"enabled": enabled, "nodesets": nodesets}})


@pytest.mark.parametrize("nodesets", [{}, {"a": {"enabled": False}}])
def test_enabled_partition_with_an_unknown_or_disabled_node_set_is_refused(nodesets):
    with pytest.raises(RenderError, match="partition p is referencing nodeset a that does not exist or is disabled"):
        partition_lines({"p": {"enabled": True, "nodesets": ["a"]}}, nodesets)


def test_disabled_partition_may_name_an_unknown_node_set():
    assert partition_lines({"p": {"enabled": False, "nodesets": ["a"]}}) is None


# name of the value, its ConfigMap, the prefix of its files, the field of the Controller, whether the chart's own stands first
SCRIPTS = [
    ("prologScripts", "slurm-prolog-scripts", "prolog-", "prologScriptRefs", True),
    ("epilogScripts", "slurm-epilog-scripts", "epilog-", "epilogScriptRefs", False),
    ("prologSlurmctldScripts", "slurm-prolog-slurmctld-scripts", "prolog-slurmctld-", "prologSlurmctldScriptRefs", False),
    ("epilogSlurmctldScripts", "slurm-epilog-slurmctld-scripts", "epilog-slurmctld-", "epilogSlurmctldScriptRefs", False),
]


@pytest.mark.parametrize("value, name, prefix, field, own_first", SCRIPTS)
def test_scripts_become_a_config_map_that_the_controller_names(value, name, prefix, field, own_first):
    text = "#!/bin/sh\n\tprintf '%s\\n' \"{{ not a template }}\"\n"
    documents = render(values={value: {"90-x.sh": text}, field: [{"name": "mine"}, {"name": "yours"}]})
    assert pick(documents, "ConfigMap", name)["data"] == {f"{prefix}90-x.sh": text}
    names = [ref["name"] for ref in pick(documents, "Controller")["spec"][field]]
    assert names == ([name, "mine", "yours"] if own_first else ["mine", "yours", name])


@pytest.mark.parametrize("field", [row[3] for row in SCRIPTS])
def test_script_references_work_alone(field):
    documents = render(values={field: [{"name": "mine"}]})
    assert pick(documents, "Controller")["spec"][field] == [{"name": "mine"}]
    assert not [d for d in documents if d["kind"] == "ConfigMap"]


def test_files_become_the_config_map_of_extra_files():
    documents = render(values={"configFiles": {"gres.conf": "AutoDetect=nvml\n", "plugstack.conf": ""}})
    assert pick(documents, "ConfigMap", "slurm-config-extra")["data"] == {"gres.conf": "AutoDetect=nvml\n", "plugstack.conf": ""}
    assert pick(documents, "Controller")["spec"]["configFileRefs"] == [{"name": "slurm-config-extra"}]


def test_without_files_nothing_is_referenced():
    assert not [field for field in pick(render(), "Controller")["spec"] if field.endswith("Refs")]
