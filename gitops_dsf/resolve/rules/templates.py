"""Checks the templates of applications and ApplicationSets: what Argo CD could not run, what stays as it is,
and what could take the memory of its controller (docs/contributing/behaviour.md#templates).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitops_dsf.argocd.gotemplate import Finding, Trouble, check, unresolved
from gitops_dsf.argocd.gotemplate.check import Parameters
from gitops_dsf.argocd.gotemplate.plain import Value
from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.resolve.context import Context
from gitops_dsf.wording import did_you_mean, names_text

GENERATOR: Final = "clusterDecisionResource"
DECIDED: Final[Parameters] = {
    "clusterName": Value("text", 253),
    "name": Value("text", 253),
    "reason": Value("text", 1024),
    "server": Value("text", 1024),
}
"""What the generator gives of a decision, and how long it may be."""
OPTIONS: Final = ("missingkey=default", "missingkey=error", "missingkey=invalid", "missingkey=zero")
_HELM: Final = frozenset({".Capabilities", ".Chart", ".Files", ".Release", ".Template", ".Values"})
_OTHERS: Final = frozenset({"helm", "kustomize", "plugin", "templatePatch"})
"""Fields whose text may hold templates that are for another program."""
_CODES: Final = {
    Trouble.COST: codes.TEMPLATE_COST,
    Trouble.FAILS: codes.GO_TEMPLATE,
    Trouble.PARAMETER: codes.TEMPLATE_PARAMETER,
}


def templates_work(context: Context) -> Iterator[Diagnostic]:
    """Checks every text of an application that becomes part of its ApplicationSet's template."""
    for item in context.declared.applications:
        places = [
            *(place for place, _ in item.value.spec.application.placed_sources),
            ("spec", "application", "syncPolicy"),
        ]
        for place in places:
            yield from _go(item.document, place, DECIDED)


def templates_of_application_sets_work(context: Context) -> Iterator[Diagnostic]:
    """Checks the templates of raw ApplicationSets, in either language."""
    for item in context.declared.application_sets:
        document, spec = item.document, item.value.spec
        parameters = _given(spec.get("generators"))
        places = list(_templates(spec))
        if spec.get("goTemplate") is True:
            yield from _options(document, spec)
            for place in places:
                yield from _go(document, place, parameters)
            for place in _interpolated(spec.get("generators"), ("spec", "generators")):
                yield from _go(document, place, None)
        elif parameters is not None:
            for place in places:
                yield from _fast(document, place, parameters)


def _templates(spec: Mapping[str, Any]) -> Iterator[Path]:
    yield ("spec", "template")
    yield ("spec", "templatePatch")
    for index, generator in enumerate(_items(spec.get("generators"))):
        for kind, content in generator.items():
            if isinstance(content, dict) and "template" in content:
                yield ("spec", "generators", index, kind, "template")


def _interpolated(generators: object, place: Path) -> Iterator[Path]:
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
    return {**DECIDED, "values": {str(key): Value("text", len(str(text))) for key, text in shared.items()}}


def _items(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _texts(document: Document, place: Path) -> Iterator[tuple[Path, str, bool]]:
    """Every text and key with braces at or below a place; the last part is whether it is a key."""
    stack: list[tuple[Path, Any]] = [(place, value_at(document.data, place))]
    while stack:
        path, value = stack.pop()
        if isinstance(value, str) and "{{" in value:
            yield path, value, False
        elif isinstance(value, list):
            stack += [((*path, index), item) for index, item in enumerate(value)]
        elif isinstance(value, dict):
            stack += [((*path, name), inside) for name, inside in value.items()]
            yield from (
                ((*path, name), name, True) for name in value if isinstance(name, str) and "{{" in name
            )


def _at(document: Document, path: Path, offset: int, *, key: bool) -> Position:
    return document.key_at(path) if key else document.inside(path, offset)


def _go(document: Document, place: Path, parameters: Parameters | None) -> Iterator[Diagnostic]:
    for path, text, key in _texts(document, place):
        for finding in check(text, parameters):
            yield _told(finding, _at(document, path, finding.offset, key=key))


def _told(finding: Finding, position: Position) -> Diagnostic:
    if finding.trouble is not Trouble.PARAMETER:
        return _CODES[finding.trouble].at(position, finding.message, finding.hint)
    if finding.name == ".score":
        message = (
            "OCM writes no score into a decision: Argo CD generates nothing, and with a score every change"
        )
        return codes.SCORE_IN_TEMPLATE.at(
            position, f"{message} of it would update the Application", "leave the score out of the template"
        )
    hint = did_you_mean(finding.name, finding.known)
    if finding.name in _HELM:
        hint = f"for Helm, write {{{{`{{{{ {finding.name}... }}}}`}}}}"
    elif not hint:
        hint = f"there are {names_text(finding.known)}"
    return codes.TEMPLATE_PARAMETER.at(
        position, f"{finding.message}: Argo CD generates no Application for this template", hint
    )


def _fast(document: Document, place: Path, parameters: Parameters) -> Iterator[Diagnostic]:
    for path, text, key in _texts(document, place):
        for offset, tag in unresolved(text, parameters):
            position, written = _at(document, path, offset, key=key), f"{{{{{tag}}}}}"
            others = bool(_OTHERS & set(path))
            if tag.startswith(".") and (not others or tag[1:].split(".")[0] in parameters):
                message = f"{written} is a Go template, and goTemplate is not set: Argo CD leaves it as it is"
                yield codes.TEMPLATE_LANGUAGE.at(position, message, "write spec.goTemplate: true")
            elif not others:
                message = f"there is no parameter {tag}: Argo CD leaves {written} as it is"
                hint = did_you_mean(tag, parameters) or f"there are {names_text(sorted(parameters))}"
                yield codes.TEMPLATE_PARAMETER.at(position, message, hint)


def _options(document: Document, spec: Mapping[str, Any]) -> Iterator[Diagnostic]:
    options = spec.get("goTemplateOptions")
    for index, option in enumerate(options if isinstance(options, list) else ()):
        if isinstance(option, str) and option not in OPTIONS:
            yield codes.GO_TEMPLATE.at(
                document.at(("spec", "goTemplateOptions", index)),
                f"{option} is no option of Go's templates: Argo CD's controller fails at this ApplicationSet",
                did_you_mean(option, OPTIONS) or "write missingkey=error",
            )
