"""The environment of tests: no setting of the person who runs them reaches them."""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

GIT_CONFIGURATION: Final = str(Path(__file__).parents[1] / "data" / "gitconfig")
"""The only configuration of git besides that of a repository."""

_SETTINGS: Final = (
    "GIT_",
    "GITHUB_",
    "KUBE",
    "HUB_",
    "CLUSTER_NAME",
    "INSTALL_NAMESPACE",
    "COLUMNS",
)


def clean(environment: MutableMapping[str, str]) -> None:
    """Removes settings of git, forges and Kubernetes, and makes A Developer the author of
    commits.
    """
    for name in list(environment):
        if name.startswith(_SETTINGS):
            del environment[name]
    environment.update({"GIT_CONFIG_GLOBAL": GIT_CONFIGURATION, "GIT_CONFIG_NOSYSTEM": "1"})
    for role in ("AUTHOR", "COMMITTER"):
        environment[f"GIT_{role}_NAME"] = "A Developer"
        environment[f"GIT_{role}_EMAIL"] = "developer@example.com"
