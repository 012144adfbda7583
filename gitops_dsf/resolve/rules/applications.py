"""Checks what OCM and Argo CD would do with ScoredApplications, and where Applications go."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.repository.load import Document, Path, texts_in, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.application_templates import (
    ACTION,
    TEMPLATE,
    Template,
    generators,
    places_of,
    sources,
    sources_of_a_template,
    templates,
)
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.rules.selectors import misfits
from gitops_dsf.wording import did_you_mean, names_text

_KINDS_OF_SOURCE: Final = ("helm", "kustomize", "directory", "plugin")
_DRIVE: Final = re.compile(r"^[A-Za-z]:/")
_REF: Final = re.compile(r"[a-zA-Z0-9_-]+")
MAX_NAME = 63
"""The name of a Placement becomes a label value (docs/decisions/scheduler.md#placements)."""


@rule()
def replace_is_not_excluding(context: Context) -> Iterator[Diagnostic]:
    """A score that is missing for a moment would delete the application at once."""
    for item in context.declared.applications:
        ranking = context.ranking_of(item)
        if ranking is None or item.value.spec.moves.strategy != "Replace":
            continue
        if ranking.value.spec.on_missing_score == "Exclude":
            whose = "" if ranking is item else f" of the ScoredPlacement {ranking.name}"
            deletes = "deletes the application as soon as a score is missing"
            message = f"Replace together with onMissingScore: Exclude{whose} {deletes}"
            hint = "write moves.strategy: MakeBeforeBreak, or onMissingScore: Neutral"
            yield codes.REPLACE_EXCLUDE.at(item.at("spec", "moves", "strategy"), message, hint)


@rule()
def sources_are_complete(context: Context) -> Iterator[Diagnostic]:
    """Without these fields, Argo CD reports the Application's spec as invalid on every cluster
    (util/argo/argo.go of 3.6.1, validateSourcePermissions).
    """
    for item in context.declared.applications:
        for place, _ in item.value.spec.application.placed_sources:
            template = Template(document=item.document, places=(place[:3],))
            yield from _complete(template, place[3:], is_one_of_many=bool(place[3:]))
    for carried in context.declared.application_sets:
        for template in templates(carried.document):
            yield from _sources_of(template)


def _sources_of(template: Template) -> Iterator[Diagnostic]:
    """Checks that a template of an ApplicationSet has a source, and that it is complete."""
    hydrated, listed = template.value("spec", "sourceHydrator"), template.value("spec", "sources")
    if (
        hydrated
        or template.may_be_patched("source")
        or not isinstance(template.value("spec"), dict)
    ):
        return
    if isinstance(listed, list) and listed:
        for index in range(len(listed)):
            yield from _complete(template, ("spec", "sources", index), is_one_of_many=True)
    elif template.value("spec", "source"):
        yield from _complete(template, ("spec", "source"), is_one_of_many=False)
    else:
        message = (
            "the template has neither source nor sources: Argo CD refuses every Application of it"
        )
        position = template.document.at(template.place("spec", "sources"))
        yield codes.MISSING_FIELD.at(position, message, "add source, with repoURL and path")


def _complete(template: Template, place: Path, *, is_one_of_many: bool) -> Iterator[Diagnostic]:
    path, chart, ref, revision = (
        template.value(*place, name) for name in ("path", "chart", "ref", "targetRevision")
    )
    where = template.place(*place)
    if not (path or chart or (ref and is_one_of_many)):
        message = f"{dotted(where)} has neither path nor chart: Argo CD refuses the Application"
        hint = "add path (. for the root of the repository), or chart"
        yield codes.MISSING_FIELD.at(template.document.at((*where, "path")), message, hint)
    elif chart and not revision:
        message = f"{dotted(where)}.targetRevision is missing: Argo CD wants the version of a chart"
        hint = "add targetRevision (the version of the chart)"
        yield codes.MISSING_FIELD.at(
            template.document.at((*where, "targetRevision")), message, hint
        )


@rule()
def paths_stay_inside(context: Context) -> Iterator[Diagnostic]:
    """Argo CD refuses absolute paths, and those that leave the repository (util/app/path/path.go, 3.6.1)."""
    repository = context.declared.repository
    placed = [(source.document, (*source.place, "path")) for source in sources(context.declared)]
    if repository is not None:
        placed.append((repository.document, ("spec", "git", "path")))
    for document, place in placed:
        path = value_at(document.data, place)
        if not isinstance(path, str):
            continue
        # An action may have a \ in a text of its own.
        plain = ACTION.sub(lambda action: re.sub(r"[^{}]", "x", action[0]), path)
        slashed = "".join(
            "/" if sign == "\\" else old for sign, old in zip(plain, path, strict=True)
        )
        relative = _DRIVE.sub("", slashed).lstrip("/")
        inside = posixpath.normpath(relative or ".")
        if slashed == path == relative and inside.split("/")[0] != "..":
            continue
        right = "/".join(part for part in inside.split("/") if part != "..") or "."
        message = f"{path} is not a path inside of the repository: Argo CD refuses it"
        hint = f"write path: {right}, relative to the root of the repository"
        # Where `..` leads out of the repository, the author may mean another repository.
        edits = () if ".." in slashed.split("/") else (Edit(place, value=right),)
        yield codes.SOURCE_PATH.at(document.at(place), message, hint, edits=edits)


@rule()
def argocd_takes_the_fields(context: Context) -> Iterator[Diagnostic]:
    """The API server refuses a field of the wrong shape, and unknown ones have no effect."""
    for item in context.declared.applications:
        application = item.value.spec.application
        for place, source in application.placed_sources:
            for name in (*_KINDS_OF_SOURCE, "ref"):
                if getattr(source, name) is not None:
                    schema = fields.part("template", "spec", "source", name)
                    yield from misfits(item.document, schema, *place, name)
        if application.sync_policy is not None:
            schema = fields.part("template", "spec", "syncPolicy")
            yield from misfits(item.document, schema, "spec", "application", "syncPolicy")


@rule()
def sources_say_one_thing(context: Context) -> Iterator[Diagnostic]:
    """What Argo CD's CRD does not say about sources, and Argo CD does."""
    for item in context.declared.applications:
        yield from _sources(item.document, places_of(item))
    for carried in context.declared.application_sets:
        document = carried.document
        own = ((*place, "template") for place in generators(document))
        for template in (TEMPLATE, *own):
            yield from _sources(document, sources_of_a_template(document, template))
            spec = (*template, "spec")
            if value_at(document.data, (*spec, "source")) and value_at(
                document.data, (*spec, "sources")
            ):
                message = "source and sources: Argo CD takes sources and does not read source"
                position = document.key_at((*spec, "source"))
                yield codes.AMBIGUOUS_SOURCE.at(
                    position, message, "remove source, or sources", severity=Severity.WARNING
                )


def _sources(document: Document, places: Sequence[Path]) -> Iterator[Diagnostic]:
    refs: set[str] = set()
    for place in places:
        source = value_at(document.data, place)
        if not isinstance(source, dict):
            continue
        if source.get("path") and source.get("chart"):
            position = document.key_at((*place, "path"))
            message = f"{dotted(place)} has path and chart: Argo CD takes the chart and does not read path"
            yield codes.AMBIGUOUS_SOURCE.at(position, message, "remove path, or chart")
        kinds = [name for name in _KINDS_OF_SOURCE if source.get(name) is not None]
        if len(kinds) > 1:
            position = document.key_at((*place, kinds[1]))
            message = (
                f"{dotted(place)} has {names_text(kinds)}: Argo CD refuses more than one of them"
            )
            yield codes.AMBIGUOUS_SOURCE.at(position, message, f"remove {names_text(kinds[1:])}")
        ref = source.get("ref")
        if isinstance(ref, str) and "{{" not in ref:
            if ref in refs:
                message = f"another source has the ref {ref}: Argo CD refuses the Application"
                yield codes.AMBIGUOUS_SOURCE.at(
                    document.at((*place, "ref")), message, "choose another name"
                )
            elif ref and not _REF.fullmatch(ref):
                where = (*place, "ref")
                message = (
                    f"{dotted(where)} must be letters, digits, '-' and '_': Argo CD refuses others"
                )
                yield codes.PLACEMENT_SHAPE.at(document.at(where), message, "choose another name")
            refs.add(ref)
    yield from _value_files(
        document, [place for place in places if isinstance(place[-1], int)], refs
    )


def _value_files(
    document: Document, places: Sequence[Path], refs: set[str]
) -> Iterator[Diagnostic]:
    """Value files of another source: $REF/path."""
    for place in places:
        files = value_at(document.data, (*place, "helm", "valueFiles"))
        for index, file in enumerate(files if isinstance(files, list) else ()):
            if (
                not isinstance(file, str)
                or not file.startswith("$")
                or "/" not in file
                or "{{" in file
            ):
                continue
            ref = file[1:].partition("/")[0]
            if ref not in refs:
                hint = did_you_mean(ref, refs) or f"write ref: {ref} into the source with the file"
                position = document.at((*place, "helm", "valueFiles", index))
                yield codes.UNKNOWN_REFERENCE.at(position, f"no source has the ref {ref}", hint)


@rule()
def names_fit_labels(context: Context) -> Iterator[Diagnostic]:
    """Names of applications and Placements become label values."""
    placements = (*context.declared.placements, *context.declared.scored_placements)
    for items, what in (
        (context.declared.applications, "the name becomes a label value, which"),
        (placements, "OCM labels its decisions with the name, and a label value"),
    ):
        for item in items:
            if len(item.name) > MAX_NAME:
                message = f"{len(item.name)} characters; {what} has at most {MAX_NAME}"
                yield codes.LONG_NAME.at(item.position, message, "choose a shorter name")


@rule()
def scores_are_listed_once(context: Context) -> Iterator[Diagnostic]:
    """OCM adds the weights (docs/decisions/scheduler.md#what-the-scores-do-not-say)."""
    seen: set[tuple[int, str, str | None]] = set()
    for item, path, score in context.ranked:
        scorer = context.scorers.get(score.scorer)
        dimension = score.dimension or (scorer.only_item if scorer is not None else None)
        key = (id(item), score.scorer, dimension)
        if key in seen:
            message = f"{score.scorer} is listed twice for the same dimension; the weights add up"
            hint = "keep one entry with the weight you mean"
            yield codes.DUPLICATE_COORDINATE.at(item.at(*path, "scorer"), message, hint)
        seen.add(key)


@rule(needs=("FleetRepository",))
def applications_live_with_argocd(context: Context) -> Iterator[Diagnostic]:
    """Argo CD looks in its own namespace (docs/contributing/behaviour.md#one-namespace)."""
    for item in context.declared.applications:
        namespace = item.value.metadata.namespace
        home = context.argocd_namespace
        if namespace is not None and namespace != home:
            message = f"the application is rendered into {home}, the Argo CD namespace, not into {namespace}"
            hint = f"remove namespace, or write {home}"
            yield codes.WRONG_NAMESPACE.at(item.at("metadata", "namespace"), message, hint)


@rule(needs=("FleetRepository",))
def destinations_are_no_namespaces_of_the_platform(context: Context) -> Iterator[Diagnostic]:
    """Who writes there controls the cluster (the hub, too), what Argo CD applies, or the agent's tokens."""
    for item in (*context.declared.applications, *context.declared.application_sets):
        place = _DESTINATION[item.document.kind]
        for path, name in texts_in(item.document.data["spec"], ("spec",)):
            owner = (
                context.settings.platform.owner_of(name) if path[-len(place) :] == place else None
            )
            if owner is not None and owner.on_spokes:
                message = f"{item.name} is deployed into {name}, a namespace of {owner.owner}: {owner.reason}"
                hint = "write a namespace of the application's own"
                yield codes.PLATFORM_DESTINATION.at(item.at(*path), message, hint)


_DESTINATION: Final[dict[str, Path]] = {
    "ApplicationSet": ("template", "spec", "destination", "namespace"),
    "ScoredApplication": ("spec", "application", "destinationNamespace"),
}
"""How the path of a destination's namespace ends. Generators of an ApplicationSet may have templates, too."""
