"""Dimension formats such as ``${node};${pod}``: from labels to the name of an item."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import escape
from typing import Final

# Upstream's placeholders, in its order.
LABELS: Final = ("node", "device", "namespace", "app", "pod", "container", "meta")
"""Result labels that a placeholder can name, and that dynamic_score exports as ``ds_<label>``."""

PLACEHOLDERS: Final = ("cluster", *LABELS, "scoreName")
DEFAULT_FORMAT: Final = "${scoreName}"

PLACEHOLDER: Final = re.compile(r"\$\{([^}]*)\}")
"""A placeholder. Its group is the name."""


@dataclass(frozen=True, kw_only=True)
class Placeholder:
    """One ``${name}`` and its 0-based character offset in the format."""

    name: str
    offset: int


def placeholders(template: str) -> list[Placeholder]:
    """Every ``${...}`` of a format, known or not, in order."""
    return [
        Placeholder(name=match[1], offset=match.start()) for match in PLACEHOLDER.finditer(template)
    ]


def label_placeholders(template: str) -> list[Placeholder]:
    """The placeholders that stand for labels of a result, in order."""
    return [placeholder for placeholder in placeholders(template) if placeholder.name in LABELS]


def fill(template: str, *, cluster: str, score_name: str, labels: Mapping[str, str]) -> str:
    """The item name of a result.

    Absent labels are empty; unknown placeholders stay, as upstream.
    """
    values = {label: labels.get(label, "") for label in LABELS}
    values |= {"cluster": cluster, "scoreName": score_name}
    return PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template or DEFAULT_FORMAT)


def fixed_name(template: str, *, score_name: str) -> str | None:
    """The only item name of a format; None if it depends on labels or the cluster."""
    # An absent format is empty on the wire, as all of upstream's fields.
    template = template or DEFAULT_FORMAT
    for placeholder in placeholders(template):
        if placeholder.name != "scoreName" and placeholder.name in PLACEHOLDERS:
            return None
    return fill(template, cluster="", score_name=score_name, labels={})


def can_yield(template: str, dimension: str, *, score_name: str) -> bool:
    """Whether some labels could yield exactly this item name. Takes no longer for hostile texts."""
    values: dict[str, str | None] = {"scoreName": score_name, "cluster": None} | dict.fromkeys(
        LABELS
    )
    # fnmatch (since Python 3.9) matches several stars without exponential backtracking, which a
    # regular expression with .* in the place of labels would not.
    pattern = ""
    for index, part in enumerate(PLACEHOLDER.split(template or DEFAULT_FORMAT)):
        if index % 2 == 0:
            pattern += escape(part)
        else:  # the name of a placeholder
            value = values.get(part, f"${{{part}}}")
            pattern += "*" if value is None else escape(value)
    return fnmatchcase(dimension, pattern)
