"""Where the custom resource definitions are, in the clone and on an API server."""

import pathlib

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DEFINITIONS = sorted((REPOSITORY / "charts" / "slurm-operator-crds" / "templates").glob("slinky.slurm.net_*.yaml"))
OWN_DEFINITIONS = sorted((REPOSITORY / "charts" / "slurm-operator-crds" / "templates").glob("capstan.dev_*.yaml"))
API = "/apis/slinky.slurm.net/v1beta1/namespaces/default"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
