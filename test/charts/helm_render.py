"""Renders the charts with helm, without a cluster. What was rendered once with the same input is not rendered again."""
import functools
import json
import os
import pathlib
import subprocess
import tempfile

import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CHARTS = REPOSITORY / "charts"
HELM = REPOSITORY / "build" / "tools" / "helm"
CHART_NAMES = ("slurm", "slurm-bridge", "slurm-exporter", "slurm-operator", "slurm-operator-crds")


class RenderError(Exception):
    """helm refused; the text is what it printed."""


@functools.cache
def _home():
    return tempfile.TemporaryDirectory(prefix="capstan-helm-")


def environment():
    """No kubeconfig, proxy or helm setting of the caller reaches helm."""
    home = _home().name
    return {"PATH": os.environ["PATH"], "HOME": home, "KUBECONFIG": f"{home}/no-kubeconfig"}


@functools.cache
def _helm(arguments, values):
    if not HELM.exists():
        raise FileNotFoundError(f"{HELM} is missing: run dev/tools helm")
    command = [str(HELM), *arguments, "--values", "-"]
    done = subprocess.run(command, input=values, env=environment(), capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise RenderError(done.stderr)
    return done.stdout


def render(chart="slurm", values=None, release=None, namespace="ns", arguments=()):
    """The objects that helm would apply. Raises RenderError when the chart refuses the values."""
    command = ("template", release or chart, str(CHARTS / chart), "--namespace", namespace, *arguments)
    return [document for document in yaml.safe_load_all(_helm(command, json.dumps(values or {}))) if document]


def notes(chart="slurm", values=None, release=None, namespace="ns"):
    """What a user reads after the installation."""
    command = ("install", release or chart, str(CHARTS / chart), "--namespace", namespace, "--dry-run=client")
    return _helm(command, json.dumps(values or {})).split("\nNOTES:\n", 1)[1]


def pick(documents, kind, name=None):
    """The only object of that kind, and name if given."""
    found = pick_all(documents, kind, name)
    assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}"
    return found[0]


def pick_all(documents, kind, name=None):
    return [d for d in documents if d["kind"] == kind and name in (None, d["metadata"]["name"])]


def nested(path, value):
    """{"a": {"b": value}} from "a.b"."""
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def merged(*maps):
    """One map of several, nested maps merged."""
    out = {}
    for one in maps:
        for key, value in one.items():
            both = isinstance(value, dict) and isinstance(out.get(key), dict)
            out[key] = merged(out[key], value) if both else value
    return out
