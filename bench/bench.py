"""Measures, and writes a table on standard output and build/bench.json.

  dev/bench [GROUP...]           all groups without names, but for those that say otherwise below
  ROUNDS=1 dev/bench [GROUP...]  one run instead of five: to see whether it works

Groups: image, install, rest       the operator on the local cluster (cluster.py)
        people, people-rest        the same with accounting, a login and people (people.py)
        changes, large, clusters   what a changed configuration takes, and large and many clusters (configuration.py)
        slurmcluster(s)            a Slurm cluster that is one object, and twenty of them (one_object.py)
        root-fill, root            a shared root: filling it, and what sessions and steps pay for it (shared_root.py)
        takeover                   two slurmctld, of which one is lost (takeover.py)
        workers, many              how soon workers go, are renewed and told of; a thousand of them (workers.py)
        slurm                      the Slurm library and the exporter beside Slinky's Go client and curl (slurm_library.py)
        bridge                     the bridge, a thousand machines and ten thousand pods (bridge.py)
        start, watch, writes       the runtime beside controller-runtime (against_go.py)
        scale                      a large scale-out beside a modelled API server (scale_out.py)
        texts                      the worst texts that a Controller may have (scale_out.py)
        build                      what compiling takes; an hour, so only when it is named (builds.py)

build/bench.json holds for each key: value, unit, asked, runs (every single measurement), command, and what the Go
program needed (peer), where there is one. A group that is measured alone leaves the others' entries in the file as they
are. What a group needs is built just before it; a group whose needs are not to be had here (Go 1.26, for those beside
controller-runtime) is left out, and named at the end. Figures from a machine that does something else meanwhile are worth
nothing.
"""
import importlib
import sys

from figures import CannotMeasure, Figures

GROUPS = {"image": "cluster", "install": "cluster", "rest": "cluster", "people": "people", "people-rest": "people",
          "changes": "configuration", "large": "configuration", "clusters": "configuration",
          "slurmcluster": "one_object", "slurmclusters": "one_object", "power": "one_object",
          "root-fill": "shared_root", "root": "shared_root",
          "takeover": "takeover", "workers": "workers", "many": "workers",
          "slurm": "slurm_library", "bridge": "bridge",
          "start": "against_go", "watch": "against_go", "writes": "against_go",
          "scale": "scale_out", "texts": "scale_out", "build": "builds"}


def main():
    names = sys.argv[1:] or [name for name in GROUPS if name != "build"]
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        sys.exit(f"bench: no group is called {unknown[0]}; there are {', '.join(GROUPS)}")
    modules = {name: importlib.import_module(GROUPS[name]) for name in names}
    figures = Figures()
    lacks = {}  # what each module lacks of what it needs
    left_out = {}  # the groups that were, by the reason
    for name, module in modules.items():
        if module not in lacks:
            lacks[module] = prepare(module)
        if lacks[module]:
            left_out.setdefault(lacks[module], []).append(name)
            continue
        print(f"== {name}", flush=True)
        module.GROUPS[name](figures)
    print(figures.table())
    if left_out:
        sys.exit("\n".join(f"bench: {', '.join(groups)} not measured: {reason}" for reason, groups in left_out.items()))


def prepare(module):
    try:
        module.prepare()
    except CannotMeasure as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main()
