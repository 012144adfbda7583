"""Checks the images of the agent, the receiver beside it, and the reconciler."""

import re
from collections.abc import Iterator
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.published import REGISTRY
from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context

_DIGEST: Final = re.compile(r"[^@]+@sha256:[0-9a-f]{64}")
"""An image with a digest. Registries also know sha512, but hardly any serves it."""


def images_have_digests(context: Context) -> Iterator[Diagnostic]:
    """With spec.requireImageDigests, every image that is rendered must have a digest."""
    repository = context.repository
    if not repository.value.spec.require_image_digests:
        return
    for section, image, _ in _images(context):
        if not _DIGEST.fullmatch(image):
            name, field = image.partition("@")[0], dotted((*section, "image"))
            yield codes.IMAGE_WITHOUT_DIGEST.at(
                repository.at("spec", *section, "image"),
                f"spec.requireImageDigests is true, but {field} is {image}, without a digest",
                f"write image: {name}@sha256:...; docker buildx imagetools inspect {name} prints the digest",
            )


def images_are_set(context: Context) -> Iterator[Diagnostic]:
    """Our images must be named as long as no registry has them."""
    if REGISTRY is not None:
        return
    unset = {section: image for section, image, is_set in _images(context) if not is_set}
    if unset:
        fields = [dotted((*section, "image")) for section in unset]
        written = "; ".join(
            f"{field}: REGISTRY/{image}" for field, image in zip(fields, unset.values(), strict=True)
        )
        yield codes.UNSET_IMAGE.at(
            context.repository.at("spec", *next(iter(unset))),
            f"spec has no {' and no '.join(fields)}, and no registry has our images: no pod will start",
            f"build the images, push them to a registry of yours, and write {written}",
        )


def _images(context: Context) -> Iterator[tuple[Path, str, bool]]:
    """The images that are rendered: the section of the settings, the image, and whether people wrote it."""
    if context.is_upstream:
        return
    spec = context.repository.value.spec
    yield ("agent",), spec.agent.image, "image" in spec.agent.model_fields_set
    for index, entry in enumerate(spec.agent.rollout):
        if entry.image is not None:
            yield ("agent", "rollout", index), entry.image, True
    if spec.agent.open_telemetry is not None:
        yield ("agent", "openTelemetry"), spec.agent.open_telemetry.image, True
    runs_on_hub = any(item.value.spec.on_hub for item in context.declared.scorers)
    if runs_on_hub and spec.hub_scorer.image is not None:
        yield ("hubScorer",), spec.hub_scorer.image, True
    if spec.reconciler.enabled:
        yield ("reconciler",), spec.reconciler.image, "image" in spec.reconciler.model_fields_set
