"""Updates one lock in the text of a lock file. Comments and other documents stay. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.yamledit import YamlFile, appended, mirror, owned, written

HEADER: Final = """\
# yaml-language-server: $schema=../.schemas/gitops-dsf.json
# What the /config page of the scorer with this name said when it was last accepted. `gitops-dsf sync` writes it; review its changes.
"""  # noqa: E501


def updated(text: str, *, scorer: str, config_url: str, config: Config) -> str:
    """Returns the text with the scorer's lock updated, or added at the end.

    `text` must be valid YAML, or empty for a new file.
    """
    spec = {"config": config, "configURL": config_url}
    file = YamlFile(text)
    document = file.find("ScorerLock", scorer)
    if document is None:
        new = _new(scorer, spec)
        return appended(text, new) if text.strip() else HEADER + new
    if not isinstance(document.get("spec"), CommentedMap):
        document["spec"] = CommentedMap()
    list(mirror(document["spec"], spec))
    return file.text


def _new(scorer: str, spec: Mapping[str, Any]) -> str:
    document = CommentedMap(apiVersion="gitops-dsf.io/v1alpha1", kind="ScorerLock")
    document["metadata"] = CommentedMap(name=owned(scorer))
    document["spec"] = CommentedMap()
    list(mirror(document["spec"], spec))
    return written(document)
