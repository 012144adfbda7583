"""Argo CD's older template language, fasttemplate, which only puts in parameters.

An ApplicationSet without `goTemplate: true` uses it. A tag that is no parameter stays in the text.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

_TAG: Final = re.compile(r"\{\{(?P<tag>.*?)\}\}", re.DOTALL)


def unresolved(
    text: str, parameters: Mapping[str, object | Mapping[str, object]]
) -> Iterator[tuple[int, str]]:
    """The tags of a text that Argo CD leaves as they are, with their offsets."""
    names = _names(parameters)
    for match in _TAG.finditer(text):
        tag = match["tag"].strip()
        if tag not in names:
            yield match.start(), tag


def _names(parameters: Mapping[str, object | Mapping[str, object]]) -> Collection[str]:
    """The parameters as tags name them: those of a map are flat, such as `values.tier`."""
    names: set[str] = set()
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            names.update(f"{name}.{inner}" for inner in value)
        else:
            names.add(name)
    return names
