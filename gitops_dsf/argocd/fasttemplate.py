"""Argo CD's older template language, fasttemplate, which only puts in parameters.

An ApplicationSet without `goTemplate: true` uses it. A tag that is not a parameter stays in the
text.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

_TAG: Final = re.compile(r"\{\{(?P<tag>.*?)\}\}", re.DOTALL)
_TAG_ON_ONE_LINE: Final = re.compile(r"\{\{.*\}\}")


def unresolved(
    text: str, parameters: Mapping[str, object | Mapping[str, object]]
) -> Iterator[tuple[int, str]]:
    """The tags of a text that Argo CD leaves as they are, with their offsets."""
    names = _names(parameters)
    for match in _TAG.finditer(text):
        tag = match["tag"].strip()
        if tag not in names:
            yield match.start(), tag


def as_go(text: str, parameters: Collection[str]) -> str:
    """The Go template that gives what a text in this language gives.

    Tags of parameters become actions, and everything else stays as it is written.
    """
    # Argo CD 3.6.1 leaves a text alone if no line of it has a whole tag (utils.go, Replace).
    if not _TAG_ON_ONE_LINE.search(text):
        return _quoted(text)
    parts = []
    end = 0
    for match in _TAG.finditer(text):
        tag = match["tag"].strip()
        if tag in parameters:
            parts.append(_quoted(text[end : match.start()]))
            parts.append(f"{{{{.{tag}}}}}")
        else:
            parts.append(_quoted(text[end : match.end()]))
        end = match.end()
    parts.append(_quoted(text[end:]))
    return "".join(parts)


def _quoted(text: str) -> str:
    """The Go template that gives a text as it is."""
    return text.replace("{{", '{{"{{"}}')


def _names(parameters: Mapping[str, object | Mapping[str, object]]) -> Collection[str]:
    """The parameters as tags name them: those of a map are flat, such as `values.tier`."""
    names: set[str] = set()
    for name, value in parameters.items():
        # A tag of this language is looked up as a whole: its dots lead nowhere.
        if isinstance(value, Mapping):
            names.update(f"{name}.{inner}" for inner in value)
        else:
            names.add(name)
    return names
