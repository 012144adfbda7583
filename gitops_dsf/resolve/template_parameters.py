"""What templates of applications are given: the entry of the decision, and labels and claims of the cluster.

A decision names clusters and says nothing about them. So what an application's templates read of labels and
claims is rendered, for each cluster that it may run on (docs/contributing/behaviour.md#templates).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.argocd.gotemplate import Read, check, reads
from gitops_dsf.argocd.gotemplate.check import Parameters
from gitops_dsf.argocd.gotemplate.plain import Value
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.target_clusters import eligible
from gitops_dsf.resolve.types import ClusterParameters

DECIDED: Final[Parameters] = {
    "clusterName": Value("text", 253),
    "name": Value("text", 253),
    "reason": Value("text", 1024),
    "server": Value("text", 1024),
}
"""What the generator gives of a decision, and how long it may be."""
GIVEN: Final[Parameters] = {**DECIDED, "labels": Value("texts", 63), "claims": Value("texts", 1024)}
"""What the templates of a ScoredApplication are given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text, or a key, with actions in it."""

    document: Document
    path: Path
    value: str
    is_key: bool


def texts(document: Document, place: Path) -> Iterator[Text]:
    """Every text and key with braces at or below a place."""
    stack: list[tuple[Path, Any]] = [(place, value_at(document.data, place))]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str) and "{{" in value:
            yield Text(document=document, path=path, value=value, is_key=False)
        elif isinstance(value, list):
            stack += [((*path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            stack += [((*path, name), inside) for name, inside in value.items()]
            for name in value:
                if isinstance(name, str) and "{{" in name:
                    yield Text(document=document, path=(*path, name), value=name, is_key=True)


def texts_of(item: Item[ScoredApplication]) -> Iterator[Text]:
    """Every text of an application that becomes part of its ApplicationSet's template."""
    for place, _ in item.value.spec.application.placed_sources:
        yield from texts(item.document, place)
    yield from texts(item.document, ("spec", "application", "syncPolicy"))


def read_of_clusters(item: Item[ScoredApplication]) -> Iterator[tuple[Text, Mapping[Read, int]]]:
    """The texts without findings that read labels or claims, with the offset of each."""
    for text in texts_of(item):
        if ("labels" in text.value or "claims" in text.value) and not check(text.value, GIVEN):
            found = reads(text.value, GIVEN)
            if found:
                yield text, found


def cluster_parameters(context: Context, item: Item[ScoredApplication]) -> tuple[ClusterParameters, ...]:
    """What the templates of an application read of each cluster that it may run on, sorted by name; empty if
    they read nothing. A text is empty where a cluster lacks it.
    """
    ranking = context.ranking_of(item)
    read = sorted({each for _, found in read_of_clusters(item) for each in found})
    if ranking is None or not read:
        return ()
    found = []
    for name in sorted(eligible(context, ranking)):
        given: dict[str, Any] = {"name": name}
        for kind, key in read:
            value = context.inventory.described_by(kind).labels[name].get(key, "")
            given.setdefault(kind, {})[key] = value
        found.append(given)
    return tuple(found)
