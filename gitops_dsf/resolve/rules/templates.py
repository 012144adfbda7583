"""The templates of applications and ApplicationSets: what they are given, what Argo CD could not run, what
stays as it is, and what could take the memory of its controller.

A decision names clusters and says nothing about them. So what an application's templates read of labels and
claims is rendered, for each cluster that it may run on (docs/contributing/behaviour.md#templates).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitops_dsf.argocd.gotemplate import Read, TemplateMistake, Trouble, check, unresolved
from gitops_dsf.argocd.gotemplate.check import Parameters
from gitops_dsf.argocd.gotemplate.plain import Value
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
_NOUNS: Final = {"claims": "claim", "labels": "label"}
_FAST_TAG: Final = re.compile(r"\{\{\s*[A-Za-z]")
"""A tag that is a parameter's name. In a Go template it would be a function or a keyword."""
_OTHERS: Final = frozenset({"helm", "kustomize", "plugin", "templatePatch"})
"""Fields whose text may hold templates that are for another program."""
_CODES: Final = {
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
    for item in context.declared.applications:
        for text in texts_of(item):
            yield from _go(text, GIVEN)


@rule(needs=("ManagedCluster", "ManagedClusterSet"))
def clusters_have_what_templates_read(context: Context) -> Iterator[Diagnostic]:
    """A label or claim that a cluster lacks is an empty text in the template."""
    for item in context.declared.applications:
        ranking = context.ranking_of(item)
        clusters = frozenset[str]() if ranking is None else eligible(context, ranking)
        if ranking is None or (context.inventory.clusters and not clusters):
            continue  # another rule tells
        for text, read in read_of_clusters(item):
            yield from _lacking(context, item.name, clusters, text, read)


def _lacking(
    context: Context, app: str, clusters: frozenset[str], text: Text, read: Mapping[Read, int]
) -> Iterator[Diagnostic]:
    """Reports what a text of an application reads, at offsets, and clusters on which it may run lack."""
    described = context.inventory.described_by
    having = {(kind, key): described(kind).carrying_any(key) for kind, key in read}
    together: dict[tuple[Read, ...], list[str]] = {}
    for name in sorted(clusters - frozenset.intersection(*having.values())):
        together.setdefault(tuple(each for each in read if name not in having[each]), []).append(
            name
        )
    found: dict[tuple[int, Read], list[str]] = {}
    for lacking, names in together.items():
        for finding in check(text.value, GIVEN, lacking):
            if finding.lacks is not None:
                found.setdefault((finding.offset, finding.lacks), []).extend(names)
    nowhere = {each for each in read if clusters.isdisjoint(having[each])}
    for (offset, each), names in found.items():
        if each not in nowhere:
            first = min(names)
            file = next(
                item.position.file for item in context.declared.clusters if item.name == first
            )
            who = (
                f"{first} ({file}) and {len(names) - 1} more have"
                if names[1:]
                else f"{first} ({file}) has"
            )
            message = f"{who} no {_NOUNS[each[0]]} {each[1]}, and {app} may run there"
            hint = f'add it, or write {{{{ {_written(each)} | default "VALUE" }}}}'
            yield codes.CLUSTER_LACKS.at(_at(text, offset), message, hint)
    for kind, key in sorted(nowhere):
        is_written = not clusters or any((kind, key) == told for _, told in found)
        message = f"no cluster on which {app} may run has the {_NOUNS[kind]} {key}"
        known = sorted({each for name in clusters for each in described(kind).labels[name]})
        hint = did_you_mean(key, known) or (
            f"there are {names_text(known)}" if known else "add it to them"
        )
        if not clusters:
            message = f"clusters/ holds no ManagedCluster, so nobody knows the {_NOUNS[kind]} {key}"
            hint = "run gitops-dsf import --context HUB, or write clusters/*.yaml"
        severity = Severity.ERROR if is_written else Severity.WARNING
        yield codes.CLUSTER_LACKS.at(_at(text, read[kind, key]), message, hint, severity=severity)


def _written(read: Read) -> str:
    """How a template reads a label or a claim."""
    kind, key = read
    return f".{kind}.{key}" if key.isidentifier() else f'index .{kind} "{key}"'


@rule()
def templates_of_application_sets_work(context: Context) -> Iterator[Diagnostic]:
    """Checks the templates of raw ApplicationSets, in either language."""
    for item in context.declared.application_sets:
        document, spec = item.document, item.value.spec
        parameters = _given(spec.get("generators"))
        places = list(_templates(spec))
        if spec.get("goTemplate") is True:
            yield from _options(document, spec)
            for place in places:
                for text in texts(document, place):
                    yield from _go(text, parameters)
            for place in _interpolated(spec.get("generators"), ("spec", "generators")):
                for text in texts(document, place):
                    yield from _go(text, None)
        elif parameters is not None:
            # With goTemplate every tag is one of Go's, so the switch would break tags such as {{name}}.
            is_go = not any(
                _FAST_TAG.search(text.value) for place in places for text in texts(document, place)
            )
            for place in places:
                yield from _fast(document, place, parameters, is_go=is_go)


def _templates(spec: Mapping[str, Any]) -> Iterator[FieldPath]:
    yield ("spec", "template")
    yield ("spec", "templatePatch")
    for index, generator in enumerate(_items(spec.get("generators"))):
        for kind, content in generator.items():
            if isinstance(content, dict) and "template" in content:
                yield ("spec", "generators", index, kind, "template")


def _interpolated(generators: object, place: FieldPath) -> Iterator[FieldPath]:
    """Generators of a matrix: the parameters of one are put into the next."""
    for index, generator in enumerate(_items(generators)):
        for kind in ("matrix", "merge"):
            content = generator.get(kind)
            if isinstance(content, dict):
                inside = (*place, index, kind, "generators")
                if kind == "matrix":
                    yield inside
                else:
                    yield from _interpolated(content.get("generators"), inside)


def _given(generators: object) -> Parameters | None:
    """The parameters that every generator gives; None if others than clusterDecisionResource are there."""
    found: list[Mapping[str, Any]] = []
    for generator in _items(generators):
        content = generator.get(GENERATOR)
        if set(generator) - {"selector"} != {GENERATOR} or not isinstance(content, dict):
            return None
        values = content.get("values")
        found.append(values if isinstance(values, dict) else {})
    if not found or not all(found):
        return DECIDED if found else None
    shared = {key: text for key, text in found[0].items() if all(key in values for values in found)}
    return {
        **DECIDED,
        "values": {str(key): Value("text", len(str(text))) for key, text in shared.items()},
    }


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _at(text: Text, offset: int) -> Position:
    return (
        text.document.key_at(text.path) if text.is_key else text.document.inside(text.path, offset)
    )


def _go(text: Text, parameters: Parameters | None) -> Iterator[Diagnostic]:
    for finding in check(text.value, parameters):
        yield _told(finding, _at(text, finding.offset))


def _told(finding: TemplateMistake, position: Position) -> Diagnostic:
    if finding.trouble is not Trouble.PARAMETER:
        severity = Severity.WARNING if finding.trouble is Trouble.UNSURE else None
        return _CODES[finding.trouble].at(
            position, finding.message, finding.hint, severity=severity
        )
    if finding.name == ".score":
        every = "with a score every change of it would update the Application"
        message = f"OCM writes no score into a decision: Argo CD generates nothing, and {every}"
        return codes.SCORE_IN_TEMPLATE.at(position, message, "leave the score out of the template")
    hint = did_you_mean(finding.name, finding.known)
    if finding.name == ".metadata" and ".labels" in finding.known:
        hint = "labels of the cluster are below .labels"
    elif finding.name in _HELM:
        hint = f"for Helm, write {{{{`{{{{ {finding.name}... }}}}`}}}}"
    elif not hint:
        hint = f"there are {names_text(finding.known, most=6)}"
    message = f"{finding.message}: Argo CD generates no Application for this template"
    return codes.TEMPLATE_PARAMETER.at(position, message, hint)


def _fast(
    document: Document, place: FieldPath, parameters: Parameters, *, is_go: bool
) -> Iterator[Diagnostic]:
    for text in texts(document, place):
        for offset, tag in unresolved(text.value, parameters):
            position, written = _at(text, offset), f"{{{{{tag}}}}}"
            others = bool(_OTHERS & set(text.path))
            if tag.startswith(".") and (not others or tag[1:].split(".")[0] in parameters):
                message = f"{written} is a Go template, and goTemplate is not set: Argo CD leaves it as it is"
                hint = "write spec.goTemplate: true"
                edits = (Edit(("spec", "goTemplate"), value=True),) if is_go else ()
                yield codes.TEMPLATE_LANGUAGE.at(position, message, hint, edits=edits)
            elif not others:
                message = f"there is no parameter {tag}: Argo CD leaves {written} as it is"
                hint = (
                    did_you_mean(tag, parameters) or f"there are {names_text(sorted(parameters))}"
                )
                yield codes.TEMPLATE_PARAMETER.at(position, message, hint)


def _options(document: Document, spec: Mapping[str, Any]) -> Iterator[Diagnostic]:
    options = spec.get("goTemplateOptions")
    for index, option in enumerate(options if isinstance(options, list) else ()):
        if isinstance(option, str) and option not in OPTIONS:
            position = document.at(("spec", "goTemplateOptions", index))
            message = f"{option} is no option of Go's templates"
            message = f"{message}: Argo CD's controller fails at this ApplicationSet"
            hint = did_you_mean(option, OPTIONS) or "write missingkey=error"
            yield codes.GO_TEMPLATE.at(position, message, hint)
