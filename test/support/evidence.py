"""What is left of a failed case, and failures that are final.

As a plugin of pytest (`-p evidence`, which dev/test says) it writes all that a failed case said into the folder failed/ below
CAPSTAN_REPORTS, and the logs of the local cluster, if that is what the case is about, into cluster/. At once: a run that is
killed has no report of its own.
"""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Harm(AssertionError):
    """A job was lost, something was deleted without proof, or something was left behind. Such a case is never run again:
    once is enough."""


def pytest_runtest_logreport(report):
    if not report.failed or "PYTEST_XDIST_WORKER" in os.environ:  # who runs the workers hears it from them
        return
    reports = pathlib.Path(os.environ["CAPSTAN_REPORTS"])
    folder = reports / "failed"
    folder.mkdir(parents=True, exist_ok=True)
    said = [report.longreprtext, *(f"--- {title}\n{text}" for title, text in report.sections)]
    name = report.nodeid.removesuffix(".py").replace(".py::", ".").replace("::", ".").replace("/", ".")
    (folder / re.sub(r"[^\w.-]+", "_", name)[:150]).write_text("\n\n".join([name, *said]) + "\n", encoding="utf-8")
    if report.nodeid.startswith(("e2e/", "cluster/")):
        subprocess.run([ROOT / "dev/cluster", "logs", reports / "cluster"], timeout=60, check=False)
