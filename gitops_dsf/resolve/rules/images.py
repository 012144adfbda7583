"""Checks the images of the agent, the receiver beside it, and the reconciler."""

import re
from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import RUNS_ON_HUB
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.resolve.context import Context

_DIGEST: Final = re.compile(r"[^@]+@sha256:[0-9a-f]{64}")
"""An image with a digest. Registries also know sha512, but hardly any serves it."""


def images_have_digests(context: Context) -> Iterator[Diagnostic]:
    """With spec.requireImageDigests, every image that is rendered must have a digest."""
    repository = context.declared.repository
    if repository is None or not repository.value.spec.require_image_digests:
        return
    spec = repository.value.spec
    images: list[tuple[tuple[str | int, ...], str]] = []
    if not context.is_upstream:
        images.append((("agent",), spec.agent.image))
        images += [
            (("agent", "rollout", index), entry.image)
            for index, entry in enumerate(spec.agent.rollout)
            if entry.image is not None
        ]
        if spec.agent.open_telemetry is not None:
            images.append((("agent", "openTelemetry"), spec.agent.open_telemetry.image))
    if any(item.value.spec.runs_on == RUNS_ON_HUB for item in context.declared.scorers):
        images.append((("hubScorer",), spec.hub_scorer.image))
    if spec.reconciler.enabled:
        images.append((("reconciler",), spec.reconciler.image))
    for section, image in images:
        if not _DIGEST.fullmatch(image):
            name, field = image.partition("@")[0], dotted((*section, "image"))
            yield codes.IMAGE_WITHOUT_DIGEST.at(
                repository.at("spec", *section, "image"),
                f"spec.requireImageDigests is true, but {field} is {image}, without a digest",
                f"write image: {name}@sha256:...; docker buildx imagetools inspect {name} prints the digest",
            )
