"""Checks gitops-dsf.yaml: that it is there, the images that it names, and what it says about pods, as the
API server will. On managed clusters the refusal of a pod shows only in the status of an add-on.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dsf_wire import __version__
from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.published import REGISTRY
from gitops_dsf.repository.load import SETTINGS_FILE, Document, FieldPath
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.reconciler import ReconcilerResources
from gitops_dsf.repository.model.repository import Resources, placeholder_url
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.label_selectors import KEY_RULE, VALUE_RULE, label_key, label_value
from gitops_dsf.resolve.rollout import settings_with
from gitops_dsf.resolve.rules.registry import SETTINGS, rule

_DIGEST: Final = re.compile(r"[^@]+@sha256:[0-9a-f]{64}")
"""An image with a digest. Registries also know sha512, but hardly any serves it."""


@rule(needs=("FleetRepository",))
def settings_are_there(context: Context) -> Iterator[Diagnostic]:
    """gitops-dsf.yaml must contain one FleetRepository."""
    declared = context.declared
    if declared.repository is None and not any(
        item.code == codes.EMPTY.id for item in declared.diagnostics
    ):
        message = f"{SETTINGS_FILE} with a FleetRepository is missing"
        position = Position(file=SETTINGS_FILE)
        yield codes.SETTINGS.at(position, message, "gitops-dsf init DIR shows what it looks like")


@rule(needs=(SETTINGS,))
def the_repository_is_named(context: Context) -> Iterator[Diagnostic]:
    """The URL that `init` writes when it is given none leads nowhere."""
    repository = context.repository
    url = repository.value.spec.git.url
    if url == placeholder_url(repository.name):
        example = "which init wrote as an example: Argo CD finds no repository there"
        position, hint = repository.at("spec", "git", "url"), "write the URL that Argo CD clones"
        yield codes.PLACEHOLDER_URL.at(position, f"spec.git.url is {url}, {example}", hint)


@rule(needs=(SETTINGS,))
def images_have_digests(context: Context) -> Iterator[Diagnostic]:
    """With spec.requireImageDigests, every image that is rendered must have a digest."""
    repository = context.repository
    if not repository.value.spec.require_image_digests:
        return
    for section, image, _ in _images(context):
        if not _DIGEST.fullmatch(image):
            name, place = image.partition("@")[0], (*section, "image")
            message = f"spec.requireImageDigests is true, but {dotted(place)} is {image}, without a digest"
            hint = f"write image: {name}@sha256:...; docker buildx imagetools inspect {name} prints the digest"
            yield codes.IMAGE_WITHOUT_DIGEST.at(repository.at("spec", *place), message, hint)


@rule(needs=(SETTINGS,))
def images_are_set(context: Context) -> Iterator[Diagnostic]:
    """Our images must be named as long as no registry has them."""
    if REGISTRY is not None:
        return
    unset = {section: image for section, image, is_set in _images(context) if not is_set}
    if unset:
        fields = {dotted((*section, "image")): image for section, image in unset.items()}
        written = "; ".join(f"{field}: REGISTRY/{image}" for field, image in fields.items())
        message = f"spec has no {' and no '.join(fields)}, and no registry has our images: no pod will start"
        hint = f"build the images, push them to a registry of yours, and write {written}"
        yield codes.UNSET_IMAGE.at(context.repository.at("spec", *next(iter(unset))), message, hint)


_VERSION: Final = re.compile(
    r"(?:.*/)?gitops-dsf-[a-z-]+:v?(?P<version>[0-9]+(?:\.[0-9]+){2}[^@]*)(?:@.*)?"
)
"""An image of ours with a version. A tag such as `main`, or a digest alone, does not tell it."""


@rule(needs=(SETTINGS,))
def images_are_of_this_version(context: Context) -> Iterator[Diagnostic]:
    """An older agent does not know what a newer gitops-dsf renders.

    The entries of a rollout have another version on purpose.
    """
    for section, image, is_set in _images(context):
        found = _VERSION.fullmatch(image)
        if not is_set or found is None or "rollout" in section or found["version"] == __version__:
            continue
        field = dotted(("spec", *section, "image"))
        message = (
            f"{field} is version {found['version']}, and this gitops-dsf is {__version__}: what only one of"
            " them knows has no effect"
        )
        hint = "use gitops-dsf and images of one version"
        yield codes.IMAGE_VERSION.at(
            context.repository.at("spec", *section, "image"), message, hint
        )


def _images(context: Context) -> Iterator[tuple[FieldPath, str, bool]]:
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


@rule(needs=(SETTINGS,))
def pods_are_accepted(context: Context) -> Iterator[Diagnostic]:
    """As Kubernetes takes them; of an entry of the rollout what it says, resources as on its clusters."""
    document, spec = context.repository.document, context.repository.value.spec
    for name, settings in (
        ("agent", spec.agent),
        ("hubScorer", spec.hub_scorer),
        ("reconciler", spec.reconciler),
    ):
        yield from _nodes(document, ("spec", name), settings.node_selector)
        if "resources" in settings.model_fields_set:
            yield from _resources(document, ("spec", name), settings.resources)
    for index, entry in enumerate(spec.agent.rollout):
        path = ("spec", "agent", "rollout", index)
        yield from _nodes(document, path, entry.node_selector or {})
        if entry.resources is not None:
            yield from _resources(document, path, settings_with(spec.agent, (index,)).resources)


def _nodes(
    document: Document, path: FieldPath, selector: Mapping[str, str]
) -> Iterator[Diagnostic]:
    for key, value in selector.items():
        place = (*path, "nodeSelector", key)
        if not label_key(key):
            message = f"{key or 'an empty key'} is not a label key"
            yield codes.POD_PLACEMENT.at(document.key_at(place), message, KEY_RULE)
        if not label_value(value):
            yield codes.POD_PLACEMENT.at(
                document.at(place), f"{value} is not a label value", VALUE_RULE
            )


def _resources(
    document: Document, path: FieldPath, resources: Resources | ReconcilerResources
) -> Iterator[Diagnostic]:
    """A request above its limit."""
    both = sorted(resources.requests.keys() & resources.limits.keys())
    if not both:
        return
    from gitops_dsf.simulator.quantity import parse  # noqa: PLC0415 - slow, and rarely needed

    for name in both:
        request, limit = resources.requests[name], resources.limits[name]
        if parse(request).value > parse(limit).value:
            field = dotted((*path[1:], "resources"))
            message = f"{field}: the request of {request} {name} is above the limit of {limit}"
            hint = "write a larger limit, or a smaller request beside it"
            yield codes.POD_RESOURCES.at(
                document.at((*path, "resources", "limits", name)), message, hint
            )
