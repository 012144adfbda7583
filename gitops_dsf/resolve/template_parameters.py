"""Parameters of applications' templates, and the labels and claims that templates read.

A decision names clusters and has nothing else about them. So the labels and claims that an
application's templates read are rendered, for each cluster that it may run on
(docs/contributing/behaviour.md#templates).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.argocd.gotemplate import Parameters, TextRead, Trouble, Value, check, reads
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scored_application import ScoredApplication
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import eligible

ClusterParameters = Mapping[str, Any]
"""The name of a cluster, and what templates read of its labels and claims."""
DECIDED: Final[Parameters] = {
    "clusterName": Value("text", 253),
    "name": Value("text", 253),
    "reason": Value("text", 1024),
    "server": Value("text", 1024),
}
"""The parameters that the generator gives for a decision, each with its maximum of characters."""
GIVEN: Final[Parameters] = {**DECIDED, "labels": Value("texts", 63), "claims": Value("texts", 1024)}
"""The parameters of a ScoredApplication's templates."""
_TEMPLATED: Final = ("syncPolicy", "ignoreDifferences", "info", "template")
"""Fields of an application beside its sources that Argo CD reads as templates."""
_RUNS: Final = frozenset({Trouble.DIFFERS, Trouble.UNSURE})
"""Troubles of templates that Argo CD runs all the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text, or a key, with actions in it."""

    document: Document
    path: FieldPath
    value: str
    is_key: bool


def texts(document: Document, place: FieldPath) -> Iterator[Text]:
    """Every text and key with braces at or below a path."""
    stack: list[tuple[FieldPath, Any]] = [(place, value_at(document.data, place))]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str) and "{{" in value:
            yield Text(document=document, path=path, value=value, is_key=False)
        elif isinstance(value, list):
            stack += [((*path, index), inside) for index, inside in enumerate(value)]
        elif isinstance(value, dict):
            stack += [((*path, name), inside) for name, inside in value.items()]
            for name in value:
                if isinstance(name, str) and "{{" in name:
                    yield Text(document=document, path=(*path, name), value=name, is_key=True)


def texts_of(application: Item[ScoredApplication]) -> Iterator[Text]:
    """Every text of an application that becomes part of its ApplicationSet's template."""
    for path, _ in application.value.spec.application.placed_sources:
        yield from texts(application.document, path)
    for field in _TEMPLATED:
        yield from texts(application.document, ("spec", "application", field))


def read_of_clusters(
    application: Item[ScoredApplication],
) -> Iterator[tuple[Text, Mapping[TextRead, int]]]:
    """The texts that Argo CD can run and that read labels or claims, with the offset of each."""
    for text in texts_of(application):
        # Most templates read neither, and to parse one is slow.
        if not ("labels" in text.value or "claims" in text.value):
            continue
        # Argo CD would refuse the whole set, so nothing needs to be rendered for this text.
        if any(mistake.trouble not in _RUNS for mistake in check(text.value, GIVEN)):
            continue
        if offsets := reads(text.value, GIVEN):
            yield text, offsets


def cluster_parameters(
    context: Context, application: Item[ScoredApplication]
) -> tuple[ClusterParameters, ...]:
    """The labels and claims that an application's templates read of each cluster, sorted by name.

    It is empty if they read nothing. A text is empty where a cluster lacks it.
    """
    ranking = context.ranking_of(application)
    read: set[TextRead] = set()
    for _, offsets in read_of_clusters(application):
        read.update(offsets)
    if ranking is None or not read:
        return ()
    parameters = []
    for name in sorted(eligible(context, ranking)):
        of_cluster: dict[str, Any] = {"name": name}
        for kind, key in sorted(read):
            # A missing key would be an error with missingkey=error, which the set is rendered with.
            value = context.inventory.described_by(kind).labels[name].get(key, "")
            of_cluster.setdefault(kind, {})[key] = value
        parameters.append(of_cluster)
    return tuple(parameters)
