"""Dimension formats such as ``${node};${pod}``, which turn the labels of a result into the name of a score
item.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LABELS: Final = ("node", "device", "namespace", "app", "pod", "container", "meta")
"""Result labels that a placeholder can name, and that dynamic_score exports as ``ds_<label>``."""

PLACEHOLDERS: Final = ("cluster", *LABELS, "scoreName")
DEFAULT_FORMAT: Final = "${scoreName}"

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True, kw_only=True)
class Placeholder:
    """One ``${name}`` and its 0-based character offset in the format."""

    name: str
    offset: int


def placeholders(template: str) -> list[Placeholder]:
    """Every ``${...}`` of a format, known or not, in order."""
    return [Placeholder(name=match[1], offset=match.start()) for match in _PLACEHOLDER.finditer(template)]


def label_placeholders(template: str) -> list[Placeholder]:
    """The placeholders that stand for labels of a result, in order."""
    return [item for item in placeholders(template) if item.name in LABELS]


def fill(template: str, *, cluster: str, score_name: str, labels: Mapping[str, str]) -> str:
    """The item name of a result. Absent labels are empty, and unknown placeholders stay as they are (as
    upstream does).
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name == "cluster":
            return cluster
        if name == "scoreName":
            return score_name
        if name in LABELS:
            return labels.get(name, "")
        return match[0]

    return _PLACEHOLDER.sub(value, template or DEFAULT_FORMAT)


def fixed_name(template: str, *, score_name: str) -> str | None:
    """The only item name that a format yields on every cluster; None if it depends on labels or
    the cluster.
    """
    template = template or DEFAULT_FORMAT
    if any(item.name != "scoreName" and item.name in PLACEHOLDERS for item in placeholders(template)):
        return None
    return fill(template, cluster="", score_name=score_name, labels={})


def can_yield(template: str, dimension: str, *, score_name: str) -> bool:
    """Whether some labels could yield exactly this item name. Linear in both, without backtracking."""
    fixed = _fixed_parts(template or DEFAULT_FORMAT, score_name=score_name)
    first, last = fixed[0], fixed[-1]
    if len(fixed) == 1:
        return dimension == first
    if len(dimension) < len(first) + len(last) or not (
        dimension.startswith(first) and dimension.endswith(last)
    ):
        return False
    position, end = len(first), len(dimension) - len(last)
    for part in fixed[1:-1]:
        found = dimension.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _fixed_parts(template: str, *, score_name: str) -> list[str]:
    """The literal text before, between and after the placeholders of labels and the cluster."""
    parts = [""]
    position = 0
    for match in _PLACEHOLDER.finditer(template):
        parts[-1] += template[position : match.start()]
        if match[1] == "scoreName":
            parts[-1] += score_name
        elif match[1] in PLACEHOLDERS:
            parts.append("")
        else:
            parts[-1] += match[0]
        position = match.end()
    parts[-1] += template[position:]
    return parts
