"""Checks annotations and labels against what the API server accepts.

A refused object would stop the sync of everything beside it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, FieldPath
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule

MAX_ANNOTATIONS_BYTES: Final = 250_000
"""Keys and values of an object's annotations together.

Kubernetes takes 262,144 (apimachinery, pkg/api/validation/objectmeta.go,
TotalAnnotationSizeLimitB); the rest is for ours and those of Argo CD.
"""
MAX_LABELS: Final = 1_000
"""Kubernetes has no limit, but every program that follows the object keeps them in memory."""


@rule()
def metadata_is_accepted(context: Context) -> Iterator[Diagnostic]:
    """Annotations and labels of every object, and of the templates in it."""
    declared = context.declared
    objects = (
        *declared.scorers,
        *declared.metric_sources,
        *declared.scoring_configs,
        *declared.clusters,
        *declared.cluster_sets,
        *declared.applications,
        *declared.scored_placements,
        *declared.placements,
        *declared.bindings,
        *declared.application_sets,
        *declared.maintenance,
    )
    for declared_object in objects:
        document = declared_object.document
        for path, metadata in _metadata(document.data):
            yield from _annotations(document, (*path, "annotations"), metadata.get("annotations"))
            yield from _labels(document, (*path, "labels"), metadata.get("labels"))


def _metadata(
    data: Any,  # noqa: ANN401 - plain data
    path: FieldPath = (),
) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """The metadata of an object, and of those in it, such as the template of an ApplicationSet."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key == "metadata" and isinstance(value, dict):
                yield (*path, key), value
            elif isinstance(value, (dict, list)):
                yield from _metadata(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _metadata(value, (*path, index))


def _annotations(document: Document, path: FieldPath, annotations: object) -> Iterator[Diagnostic]:
    if not isinstance(annotations, dict):
        return
    # Kubernetes counts bytes, not characters.
    size = sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items())
    if size > MAX_ANNOTATIONS_BYTES:
        yield codes.LARGE_ANNOTATIONS.at(
            document.key_at(path),
            f"{dotted(path)} has {size} bytes; Kubernetes allows at most {MAX_ANNOTATIONS_BYTES}",
            "keep long texts elsewhere, and write their address",
        )


def _labels(document: Document, path: FieldPath, labels: object) -> Iterator[Diagnostic]:
    if isinstance(labels, dict) and len(labels) > MAX_LABELS:
        yield codes.MANY_LABELS.at(
            document.key_at(path),
            f"{dotted(path)} has {len(labels):,} labels; at most {MAX_LABELS:,} are allowed",
            "write what no selector needs as annotations",
        )
