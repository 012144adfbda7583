"""Updates one lock in the text of a lock file. Comments and other documents stay. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.load.scalar import resolve_plain
from gitops_dsf.repository.yamledit import YamlFile, appended, written

HEADER: Final = """\
# yaml-language-server: $schema=../.schemas/json/scorerlock_v1alpha1.json
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
    _merge(document["spec"], spec)
    return file.text


def _merge(node: CommentedMap, values: Mapping[str, Any]) -> None:
    """Changes only what differs. New keys are inserted in sorted order."""
    for key in [key for key in node if key not in values]:
        del node[key]
    for key, value in values.items():
        if isinstance(value, Mapping):
            if not isinstance(node.get(key), CommentedMap):
                _put(node, key, CommentedMap())
            _merge(node[key], value)
        elif key not in node or node[key] != value:
            _put(node, key, _scalar(value))


def _put(node: CommentedMap, key: str, value: Any) -> None:  # noqa: ANN401 - any plain value
    if key in node:
        node[key] = value
    else:
        node.insert(sum(other < key for other in node), key, value)


def _new(scorer: str, spec: Mapping[str, Any]) -> str:
    document = CommentedMap(apiVersion="gitops-dsf.io/v1alpha1", kind="ScorerLock")
    document["metadata"] = CommentedMap(name=_scalar(scorer))
    document["spec"] = CommentedMap()
    _merge(document["spec"], spec)
    return written(document)


def _scalar(value: Any) -> Any:  # noqa: ANN401 - any plain value
    """A plain scalar if every parser reads it as a string, a literal block for several lines, else a quoted
    string.
    """
    if not isinstance(value, str):
        return value
    if (
        "\n" in value
        and "\t" not in value
        and value == value.strip()
        and all(line == line.rstrip() for line in value.split("\n"))
    ):
        return LiteralScalarString(value)
    if "\n" in value or "\t" in value or resolve_plain(value) != value or not value.isprintable():
        return DoubleQuotedScalarString(value)
    return value
