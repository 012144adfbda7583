"""Checks the sources of applications and ApplicationSets, as Argo CD does when it reads them."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, Edit, Severity, codes
from gitops_dsf.repository.load import Document, FieldPath, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.application_sources import places_of, sources, sources_of_a_template
from gitops_dsf.resolve.application_templates import (
    ACTION,
    Template,
    template_paths,
    templates,
)
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.object_shapes import misfits
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.wording import did_you_mean, names_text

_KINDS_OF_SOURCE: Final = ("helm", "kustomize", "directory", "plugin")
_PASSED_ON: Final = ("syncPolicy", "ignoreDifferences", "info")
"""Fields of an application that become fields of the template's spec as they are written."""
_PASSED_ON_BESIDE: Final = ("preservedFields", "ignoreApplicationDifferences")
"""Fields of `applicationSet` that become fields of the ApplicationSet's spec."""
_DRIVE: Final = re.compile(r"^[A-Za-z]:/")
"""The beginning of a path on Windows, with slashes."""
_REF: Final = re.compile(r"[a-zA-Z0-9_-]+")


@rule()
def sources_are_complete(context: Context) -> Iterator[Diagnostic]:
    """Without these fields, Argo CD reports the Application's spec as invalid on every cluster.

    See util/argo/argo.go of 3.6.1, validateSourcePermissions.
    """
    for application in context.declared.applications:
        for source_path, _ in application.value.spec.application.placed_sources:
            template = Template(document=application.document, places=(source_path[:3],))
            yield from _complete(template, source_path[3:], is_one_of_many=bool(source_path[3:]))
    for application_set in context.declared.application_sets:
        for template in templates(application_set.document):
            yield from _complete_template(template)


@rule()
def paths_stay_inside(context: Context) -> Iterator[Diagnostic]:
    """Argo CD refuses absolute paths, and those that leave the repository.

    See util/app/path/path.go of 3.6.1.
    """
    for source in sources(context.declared):
        yield from _path(source.document, (*source.path, "path"))
    repository = context.declared.repository
    if repository is not None:
        # The rendered Applications have the path, too, and Argo CD refuses it there in the same
        # way.
        yield from _path(repository.document, ("spec", "git", "path"))


@rule()
def argocd_takes_the_fields(context: Context) -> Iterator[Diagnostic]:
    """The API server refuses a field of the wrong shape, and unknown ones have no effect."""
    for declared_application in context.declared.applications:
        application = declared_application.value.spec.application
        for source_path, source in application.placed_sources:
            for name in (*_KINDS_OF_SOURCE, "ref"):
                if getattr(source, name) is not None:
                    schema = fields.part("template", "spec", "source", name)
                    yield from misfits(declared_application.document, schema, *source_path, name)
        document = declared_application.document
        for name in _PASSED_ON:
            path: FieldPath = ("spec", "application", name)
            if value_at(document.data, path) is not None:
                yield from misfits(document, fields.part("template", "spec", name), *path)
        for name in _PASSED_ON_BESIDE:
            path = ("spec", "application", "applicationSet", name)
            if value_at(document.data, path) is not None:
                yield from misfits(document, fields.part(name), *path)


@rule()
def sources_say_one_thing(context: Context) -> Iterator[Diagnostic]:
    """Argo CD refuses what its CRD allows: several kinds of source in one, or one ref twice."""
    for application in context.declared.applications:
        yield from _unambiguous(application.document, places_of(application))
    for application_set in context.declared.application_sets:
        document = application_set.document
        for template in template_paths(document):
            yield from _unambiguous(document, sources_of_a_template(document, template))
            yield from _source_beside_sources(document, (*template, "spec"))


def _complete_template(template: Template) -> Iterator[Diagnostic]:
    """Checks that a template of an ApplicationSet has a source, and that it is complete."""
    # A hydrator stands in place of the source, and brings one of its own.
    is_hydrated = template.value("spec", "sourceHydrator")
    if is_hydrated or template.may_be_patched("source"):
        return
    if not isinstance(template.value("spec"), dict):
        return
    listed = template.value("spec", "sources")
    if isinstance(listed, list) and listed:
        for index in range(len(listed)):
            yield from _complete(template, ("spec", "sources", index), is_one_of_many=True)
    elif template.value("spec", "source"):
        yield from _complete(template, ("spec", "source"), is_one_of_many=False)
    else:
        yield codes.MISSING_FIELD.at(
            template.document.at(template.path_of("spec", "sources")),
            "the template has neither source nor sources: Argo CD refuses every Application of it",
            "add source, with repoURL and path",
        )


def _complete(
    template: Template, place: FieldPath, *, is_one_of_many: bool
) -> Iterator[Diagnostic]:
    path = template.path_of(*place)
    chart = template.value(*place, "chart")
    # Without a path, a source with a ref deploys nothing, and gives its files to the others.
    only_has_files = is_one_of_many and template.value(*place, "ref")
    if not (template.value(*place, "path") or chart or only_has_files):
        yield codes.MISSING_FIELD.at(
            template.document.at((*path, "path")),
            f"{dotted(path)} has neither path nor chart: Argo CD refuses the Application",
            "add path (. for the root of the repository), or chart",
        )
    elif chart and not template.value(*place, "targetRevision"):
        yield codes.MISSING_FIELD.at(
            template.document.at((*path, "targetRevision")),
            f"{dotted(path)}.targetRevision is missing: Argo CD wants the version of a chart",
            "add targetRevision (the version of the chart)",
        )


def _path(document: Document, place: FieldPath) -> Iterator[Diagnostic]:
    path = value_at(document.data, place)
    if not isinstance(path, str):
        return
    # Argo CD runs on Linux, where a backslash is a character of a name like any other.
    slashed = _with_slashes(path)
    relative = _DRIVE.sub("", slashed).lstrip("/")
    parts = posixpath.normpath(relative or ".").split("/")
    if slashed == path == relative and parts[0] != "..":
        return
    right = "/".join(part for part in parts if part != "..") or "."
    yield codes.SOURCE_PATH.at(
        document.at(place),
        f"{path} is not a path inside the repository: Argo CD refuses it",
        f"write path: {right}, relative to the root of the repository",
        # Where `..` leads out of the repository, the author may mean another repository.
        edits=() if ".." in slashed.split("/") else (Edit(place, value=right),),
    )


def _with_slashes(path: str) -> str:
    """A path with `/` for each backslash outside of actions: an action may have one in a text."""
    without_actions = ACTION.sub(lambda action: re.sub(r"[^{}]", "x", action[0]), path)
    return "".join(
        "/" if outside == "\\" else character
        for outside, character in zip(without_actions, path, strict=True)
    )


def _source_beside_sources(document: Document, spec: FieldPath) -> Iterator[Diagnostic]:
    source = value_at(document.data, (*spec, "source"))
    if source and value_at(document.data, (*spec, "sources")):
        yield codes.AMBIGUOUS_SOURCE.at(
            document.key_at((*spec, "source")),
            "source and sources: Argo CD takes sources and does not read source",
            "remove source, or sources",
            severity=Severity.WARNING,
        )


def _unambiguous(document: Document, paths: Sequence[FieldPath]) -> Iterator[Diagnostic]:
    """Checks the sources of one Application, which name each other by `ref`."""
    refs: set[str] = set()
    for path in paths:
        source = value_at(document.data, path)
        if not isinstance(source, dict):
            continue
        if source.get("path") and source.get("chart"):
            yield codes.AMBIGUOUS_SOURCE.at(
                document.key_at((*path, "path")),
                f"{dotted(path)} has path and chart: Argo CD takes the chart and does not read"
                " path",
                "remove path, or chart",
            )
        kinds = [name for name in _KINDS_OF_SOURCE if source.get(name) is not None]
        if len(kinds) > 1:
            yield codes.AMBIGUOUS_SOURCE.at(
                document.key_at((*path, kinds[1])),
                f"{dotted(path)} has {names_text(kinds)}: Argo CD refuses more than one of them",
                f"remove {names_text(kinds[1:])}",
            )
        ref = source.get("ref")
        # The result of a template may differ for each cluster, so it is compared with nothing.
        if isinstance(ref, str) and "{{" not in ref:
            yield from _ref(document, (*path, "ref"), ref, refs)
            refs.add(ref)
    for path in paths:
        if isinstance(path[-1], int):  # only items of `sources` can use files of each other
            yield from _value_files(document, path, refs)


def _ref(document: Document, path: FieldPath, ref: str, refs: set[str]) -> Iterator[Diagnostic]:
    if ref in refs:
        yield codes.AMBIGUOUS_SOURCE.at(
            document.at(path),
            f"another source has the ref {ref}: Argo CD refuses the Application",
            "choose another name",
        )
    elif ref and not _REF.fullmatch(ref):
        yield codes.PLACEMENT_SHAPE.at(
            document.at(path),
            f"{dotted(path)} must be letters, digits, '-' and '_': Argo CD refuses others",
            "choose another name",
        )


def _value_files(document: Document, source: FieldPath, refs: set[str]) -> Iterator[Diagnostic]:
    """Value files of another source: $REF/path."""
    files = value_at(document.data, (*source, "helm", "valueFiles"))
    for index, file in enumerate(files if isinstance(files, list) else ()):
        if not isinstance(file, str) or not file.startswith("$") or "{{" in file:
            continue
        ref, slash, _ = file[1:].partition("/")
        if slash and ref not in refs:
            hint = did_you_mean(ref, refs) or f"write ref: {ref} into the source with the file"
            position = document.at((*source, "helm", "valueFiles", index))
            yield codes.UNKNOWN_REFERENCE.at(position, f"no source has the ref {ref}", hint)
