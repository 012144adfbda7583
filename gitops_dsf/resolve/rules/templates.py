"""Checks the templates of applications and ApplicationSets.

It finds texts that Argo CD could not run, texts that it would leave as they are, and templates that
could take the memory of its controller.

Not guaranteed: that a template without findings gives the intended text. It is not run, and the
parameters of other generators than a decision are unknown.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitops_dsf.argocd.fasttemplate import unresolved
from gitops_dsf.argocd.gotemplate import (
    Parameters,
    TemplateMistake,
    TextRead,
    Trouble,
    Value,
    check,
)
from gitops_dsf.diagnostics import Diagnostic, Edit, Position, Severity, codes
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import eligible
from gitops_dsf.resolve.generators import GENERATOR
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.template_parameters import (
    DECIDED,
    GIVEN,
    Text,
    read_of_clusters,
    texts,
    texts_of,
)
from gitops_dsf.wording import did_you_mean, names_text

OPTIONS: Final = ("missingkey=default", "missingkey=error", "missingkey=invalid", "missingkey=zero")
_HELM: Final = frozenset({".Capabilities", ".Chart", ".Files", ".Release", ".Template", ".Values"})
"""Parameters of Helm's templates."""
_NOUNS: Final[Mapping[str, str]] = {"claims": "claim", "labels": "label"}
_FAST_TAG: Final = re.compile(r"\{\{\s*[A-Za-z]")
"""A tag that is a parameter's name. In a Go template it would be a function or a keyword."""
_FOR_OTHERS: Final = frozenset({"helm", "kustomize", "plugin", "templatePatch"})
"""Fields whose text may hold templates that are for another program."""
_CODES: Final[Mapping[Trouble, codes.FindingCode]] = {
    Trouble.COST: codes.TEMPLATE_COST,
    Trouble.DIFFERS: codes.UNSTABLE_TEMPLATE,
    Trouble.FAILS: codes.GO_TEMPLATE,
    Trouble.PARAMETER: codes.TEMPLATE_PARAMETER,
    Trouble.UNSURE: codes.TEMPLATE_COST,
    Trouble.WHOLE: codes.TEXTS_AS_A_WHOLE,
}


@rule()
def templates_work(context: Context) -> Iterator[Diagnostic]:
    """Checks every text of an application that becomes part of its ApplicationSet's template."""
    for application in context.declared.applications:
        for text in texts_of(application):
            yield from _go(text, GIVEN)


@rule(needs=("ManagedCluster", "ManagedClusterSet"))
def clusters_have_what_templates_read(context: Context) -> Iterator[Diagnostic]:
    """A label or claim that a cluster lacks is an empty text in the template."""
    for application in context.declared.applications:
        ranking = context.ranking_of(application)
        if ranking is None:
            continue  # another rule reports the reference
        clusters = eligible(context, ranking)
        if context.inventory.clusters and not clusters:
            continue  # another rule reports that no cluster is eligible
        for text, offsets in read_of_clusters(application):
            yield from _lacking(context, application.name, clusters, text, offsets)


@rule()
def templates_of_application_sets_work(context: Context) -> Iterator[Diagnostic]:
    """Checks the templates of raw ApplicationSets, in either language."""
    for application_set in context.declared.application_sets:
        document = application_set.document
        spec = application_set.value.spec
        parameters = _parameters(spec.get("generators"))
        # Argo CD has two languages of templates. This field chooses one for the whole
        # ApplicationSet.
        if spec.get("goTemplate") is True:
            yield from _options(document, spec)
            yield from _go_templates(document, spec, parameters)
        elif parameters is not None:
            yield from _fast_templates(document, spec, parameters)


def _lacking(
    context: Context,
    application: str,
    clusters: frozenset[str],
    text: Text,
    offsets: Mapping[TextRead, int],
) -> Iterator[Diagnostic]:
    """Reports what a text reads, at offsets, and clusters lack on which the application may run."""
    described = context.inventory.described_by
    having = {(kind, key): described(kind).carrying_any(key) for kind, key in offsets}
    nowhere = {read for read in offsets if clusters.isdisjoint(having[read])}
    lacking_clusters = _clusters_by_place(text, clusters, having)
    for (offset, read), names in lacking_clusters.items():
        if read not in nowhere:
            yield _lacks(context, application, _at(text, offset), read, names)
    # One finding for all clusters: the label is more likely misspelt than missing everywhere.
    for read in sorted(nowhere):
        # Where another text stands in for an empty one, the template does not need the label.
        is_needed = not clusters or any(read == lacking for _, lacking in lacking_clusters)
        yield _nowhere(
            context,
            application,
            clusters,
            _at(text, offsets[read]),
            read,
            severity=Severity.ERROR if is_needed else Severity.WARNING,
        )


def _clusters_by_place(
    text: Text, clusters: frozenset[str], having: Mapping[TextRead, frozenset[str]]
) -> Mapping[tuple[int, TextRead], list[str]]:
    """The clusters for which a text would be without a label or claim, by its offset and name.

    The template is checked once for all clusters that lack the same.
    """
    by_lacking: dict[tuple[TextRead, ...], list[str]] = {}
    for name in sorted(clusters - frozenset.intersection(*having.values())):
        # Thousands of clusters lack only a few combinations of labels.
        lacking = tuple(read for read, names in having.items() if name not in names)
        by_lacking.setdefault(lacking, []).append(name)
    by_place: dict[tuple[int, TextRead], list[str]] = {}
    for lacking, names in by_lacking.items():
        for mistake in check(text.value, GIVEN, lacking):
            if mistake.lacks is not None:
                by_place.setdefault((mistake.offset, mistake.lacks), []).extend(names)
    return by_place


def _lacks(
    context: Context, application: str, position: Position, read: TextRead, names: list[str]
) -> Diagnostic:
    """The finding about a label or claim that some clusters lack."""
    kind, key = read
    first = min(names)
    files = {cluster.name: cluster.position.file for cluster in context.declared.clusters}
    others = len(names) - 1
    file = files[first]
    subject = f"{first} ({file}) and {others} more have" if others else f"{first} ({file}) has"
    return codes.CLUSTER_LACKS.at(
        position,
        f"{subject} no {_NOUNS[kind]} {key}, and {application} may run there",
        f'add it, or write {{{{ {_as_written(read)} | default "VALUE" }}}}',
    )


def _nowhere(
    context: Context,
    application: str,
    clusters: frozenset[str],
    position: Position,
    read: TextRead,
    *,
    severity: Severity,
) -> Diagnostic:
    """The finding about a label or claim that no cluster has."""
    kind, key = read
    noun = _NOUNS[kind]
    if not clusters:
        return codes.CLUSTER_LACKS.at(
            position,
            f"clusters/ holds no ManagedCluster, so the {noun} {key} is not known",
            "run gitops-dsf import --context HUB, or write clusters/*.yaml",
            severity=severity,
        )
    keys: set[str] = set()
    for name in clusters:
        keys.update(context.inventory.described_by(kind).labels[name])
    hint = did_you_mean(key, keys)
    if not hint:
        hint = f"there are {names_text(sorted(keys))}" if keys else "add it to them"
    return codes.CLUSTER_LACKS.at(
        position,
        f"no cluster on which {application} may run has the {noun} {key}",
        hint,
        severity=severity,
    )


def _as_written(read: TextRead) -> str:
    """The text by which a template reads a label or a claim."""
    kind, key = read
    return f".{kind}.{key}" if key.isidentifier() else f'index .{kind} "{key}"'


def _go_templates(
    document: Document, spec: Mapping[str, Any], parameters: Parameters | None
) -> Iterator[Diagnostic]:
    for path in _templates(spec):
        for text in texts(document, path):
            yield from _go(text, parameters)
    for path in _interpolated(spec.get("generators"), ("spec", "generators")):
        for text in texts(document, path):
            # The parameters of the other generators are unknown.
            yield from _go(text, None)


def _fast_templates(
    document: Document, spec: Mapping[str, Any], parameters: Parameters
) -> Iterator[Diagnostic]:
    """Templates of Argo CD's older language, fasttemplate, which knows parameters only."""
    every_text: list[Text] = []
    for path in _templates(spec):
        every_text += texts(document, path)
    # With goTemplate every tag is one of Go's, so the switch would break tags such as {{name}}.
    can_be_go = not any(_FAST_TAG.search(text.value) for text in every_text)
    for text in every_text:
        for offset, tag in unresolved(text.value, parameters):
            yield from _unresolved_tag(text, offset, tag, parameters, can_be_go=can_be_go)


def _unresolved_tag(
    text: Text, offset: int, tag: str, parameters: Parameters, *, can_be_go: bool
) -> Iterator[Diagnostic]:
    may_be_for_others = bool(_FOR_OTHERS & set(text.path))
    is_parameter = tag.startswith(".") and tag[1:].split(".", maxsplit=1)[0] in parameters
    if is_parameter or (tag.startswith(".") and not may_be_for_others):
        yield codes.TEMPLATE_LANGUAGE.at(
            _at(text, offset),
            f"{{{{{tag}}}}} is a Go template, and goTemplate is not set: Argo CD leaves it as it"
            " is",
            "write spec.goTemplate: true",
            edits=(Edit(("spec", "goTemplate"), value=True),) if can_be_go else (),
        )
    elif not may_be_for_others:
        names = names_text(sorted(parameters))
        yield codes.TEMPLATE_PARAMETER.at(
            _at(text, offset),
            f"there is no parameter {tag}: Argo CD leaves {{{{{tag}}}}} as it is",
            did_you_mean(tag, parameters) or f"there are {names}",
        )


def _templates(spec: Mapping[str, Any]) -> Iterator[FieldPath]:
    """The paths of all templates of an ApplicationSet."""
    yield ("spec", "template")
    yield ("spec", "templatePatch")
    for index, generator in enumerate(_objects(spec.get("generators"))):
        for kind, content in generator.items():
            if isinstance(content, dict) and "template" in content:
                yield ("spec", "generators", index, kind, "template")


def _interpolated(generators: object, path: FieldPath) -> Iterator[FieldPath]:
    """Generators of a matrix: the parameters of one are put into the next."""
    for index, generator in enumerate(_objects(generators)):
        if isinstance(generator.get("matrix"), dict):
            yield (*path, index, "matrix", "generators")
        merge = generator.get("merge")
        if isinstance(merge, dict):
            inside = (*path, index, "merge", "generators")
            yield from _interpolated(merge.get("generators"), inside)


def _parameters(generators: object) -> Parameters | None:
    """The parameters that every generator gives.

    None if there are others than clusterDecisionResource, whose parameters are not known.
    """
    values: list[Mapping[str, Any]] = []
    for generator in _objects(generators):
        content = generator.get(GENERATOR)
        if set(generator) - {"selector"} != {GENERATOR} or not isinstance(content, dict):
            return None
        own_values = content.get("values")
        values.append(own_values if isinstance(own_values, dict) else {})
    if not values:
        return None
    # One template serves all generators, so it can rely only on what each of them gives.
    if not all(values):
        return DECIDED
    shared = set.intersection(*(map(set, values)))
    sizes: dict[str, Value] = {}
    for key, value in values[0].items():
        if key in shared:
            sizes[str(key)] = Value("text", len(str(value)))
    return {**DECIDED, "values": sizes}


def _objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; empty if it is none."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _at(text: Text, offset: int) -> Position:
    if text.is_key:
        return text.document.key_at(text.path)
    return text.document.inside(text.path, offset)


def _go(text: Text, parameters: Parameters | None) -> Iterator[Diagnostic]:
    for mistake in check(text.value, parameters):
        yield _reported(mistake, _at(text, mistake.offset))


def _reported(mistake: TemplateMistake, position: Position) -> Diagnostic:
    if mistake.trouble is not Trouble.PARAMETER:
        severity = Severity.WARNING if mistake.trouble is Trouble.UNSURE else None
        code = _CODES[mistake.trouble]
        return code.at(position, mistake.message, mistake.hint, severity=severity)
    if mistake.name == ".score":
        return codes.SCORE_IN_TEMPLATE.at(
            position,
            "OCM writes no score into a decision, so Argo CD generates nothing; if it did, every"
            " change of a score would update the Application",
            "leave the score out of the template",
        )
    return codes.TEMPLATE_PARAMETER.at(
        position,
        f"{mistake.message}: Argo CD generates no Application for this template",
        _hint(mistake),
    )


def _hint(mistake: TemplateMistake) -> str:
    """The hint for a parameter that does not exist."""
    if mistake.name == ".metadata" and ".labels" in mistake.known:
        return "labels of the cluster are below .labels"
    if mistake.name in _HELM:
        return f"for Helm, write {{{{`{{{{ {mistake.name}... }}}}`}}}}"
    similar = did_you_mean(mistake.name, mistake.known)
    return similar or f"there are {names_text(mistake.known, max_names=6)}"


def _options(document: Document, spec: Mapping[str, Any]) -> Iterator[Diagnostic]:
    options = spec.get("goTemplateOptions")
    for index, option in enumerate(options if isinstance(options, list) else ()):
        # Go's text/template panics for it (docs/contributing/behaviour.md#templates).
        if isinstance(option, str) and option not in OPTIONS:
            yield codes.GO_TEMPLATE.at(
                document.at(("spec", "goTemplateOptions", index)),
                f"{option} is not an option of Go's templates: Argo CD's controller fails at this"
                " ApplicationSet",
                did_you_mean(option, OPTIONS) or "write missingkey=error",
            )
