"""The file of a scorer's lock: its path, and its text with a new configuration."""

from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.yamledit import YamlFile, appended, mirror, owned, written

HEADER: Final = (
    "# yaml-language-server: $schema=../.schemas/gitops-dsf.json\n"
    "# What the /config page of the scorer with this name said when it was last accepted."
    " `gitops-dsf sync` writes it; review its changes.\n"
)
"""The beginning of a new file."""


def lock_file(name: str, locks: Mapping[str, Item[ScorerLock]]) -> str:
    """The path of a scorer's lock, which may not exist yet."""
    return locks[name].document.file if name in locks else f"locks/{name}.yaml"


def updated(text: str, *, scorer: str, config_url: str, config: Config) -> str:
    """The text of a lock file (YAML, or empty) with the scorer's lock.

    Comments and other documents stay.
    """
    file = YamlFile(text)
    document: Any = file.find("ScorerLock", scorer)
    is_new = document is None
    if is_new:
        document = CommentedMap(apiVersion="gitops-dsf.io/v1alpha1", kind="ScorerLock")
        document["metadata"] = CommentedMap(name=owned(scorer))
    if not isinstance(document.get("spec"), CommentedMap):
        document["spec"] = CommentedMap()
    # mirror edits while it is iterated. Its changes are not needed here.
    list(mirror(document["spec"], {"config": config, "configURL": config_url}))
    if not is_new:
        return file.text
    if text.strip():
        return appended(text, written(document))
    return HEADER + written(document)
